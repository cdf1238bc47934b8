/* Compares names letter by letter: what stands for one letter may be several code points. */
#include "common/base/alike.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { END = 0, BLANK = 1, DASH = 2, NOT_UTF8 = 0x110000 }; /* kinds of letters, beside code points */

/* A letter with its marks, n bytes at `at`. */
typedef struct letter {
    const char *at;
    size_t n;
    int base, n_mark;
} letter;

/* The code point at p, or NOT_UTF8 + the byte if it begins none, and its bytes. */
static int code_point(const char *p, size_t *n)
{
    const unsigned char *u = (const unsigned char *)p;
    const int length = *u < 0x80 ? 1 : *u < 0xc2 ? 0 : *u < 0xe0 ? 2 : *u < 0xf0 ? 3 : *u < 0xf5 ? 4 : 0;
    int value = length == 1 ? *u : *u & (0xff >> (length + 1));
    *n = 1;
    for (int i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80) return NOT_UTF8 + *u;
        value = value << 6 | (u[i] & 0x3f);
    }
    if (!length) return NOT_UTF8 + *u;
    *n = (size_t)length;
    return value;
}

static int is_in(int c, int low, int high) { return c >= low && c <= high; }
static int is_mark(int c)
{
    return is_in(c, 0x300, 0x36f) || is_in(c, 0x1ab0, 0x1aff) || is_in(c, 0x1dc0, 0x1dff) ||
           is_in(c, 0x20d0, 0x20ff) || is_in(c, 0xfe20, 0xfe2f);
}
static int is_invisible(int c)
{
    return c == 0xad || is_in(c, 0x200b, 0x200f) || is_in(c, 0x202a, 0x202e) || is_in(c, 0x2060, 0x2064) ||
           is_in(c, 0xfe00, 0xfe0f) || c == 0xfeff;
}
static int is_blank(int c)
{
    return c == ' ' || is_in(c, '\t', '\r') || c == 0xa0 || is_in(c, 0x2000, 0x200a) || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}
static int is_dash(int c) { return c == '-' || is_in(c, 0x2010, 0x2015) || c == 0x2212; }
/* Greek and Cyrillic letters, and wide forms: some look like Latin ones. */
static int is_double(int c) { return is_in(c, 0x370, 0x52f) || is_in(c, 0xff01, 0xff5e); }

/* The letter at p, with marks and invisible characters around it; blanks count as one, and not at the end. */
static letter letter_at(const char *p)
{
    letter l = {.at = p};
    size_t n;
    for (int c; *p; p += n) {
        c = code_point(p, &n);
        if (is_invisible(c)) continue;
        if (is_mark(c) && l.base > DASH) {
            l.n_mark++;
            continue;
        }
        if (is_blank(c) && (l.base == END || l.base == BLANK)) {
            l.base = BLANK;
            continue;
        }
        if (l.base) break;
        l.base = is_dash(c) ? DASH : c;
    }
    l.n = (size_t)(p - l.at);
    if (l.base == BLANK && !*p) l.base = END;
    return l;
}

static int looks_alike(const letter *a, const letter *b)
{
    if (a->base == b->base) return a->n_mark == b->n_mark || a->base <= DASH;
    if (a->base <= DASH || b->base <= DASH) return 0;
    if (!a->n_mark != !b->n_mark) return (a->n_mark ? b->base : a->base) >= 0xc0; /* one is composed */
    const int c = a->base >= NOT_UTF8 ? b->base : b->base >= NOT_UTF8 ? a->base : 0;
    return c ? c >= 0x80 && c < NOT_UTF8 : is_double(a->base) || is_double(b->base);
}

/* "U+0065 U+0301" */
static void spell(const letter *l, char text[64])
{
    size_t used = 0, n;
    strcpy(text, "nothing");
    for (const char *p = l->at; p < l->at + l->n && used < 48; p += n) {
        const int c = code_point(p, &n);
        used +=
            (size_t)snprintf(text + used, 64 - used, c < NOT_UTF8 ? "%sU+%04X" : "%sbyte %02X (not UTF-8)",
                             used ? " " : "", c < NOT_UTF8 ? c : c - NOT_UTF8);
    }
}

const char *fe_alike(const char *name, const char *other)
{
    static _Thread_local char text[512];
    char here[64], there[64];
    text[0] = 0;
    for (const char *p = name, *q = other;;) {
        const letter a = letter_at(p), b = letter_at(q);
        if (!looks_alike(&a, &b)) return NULL;
        if (!text[0] && (a.n != b.n || memcmp(p, q, a.n))) {
            spell(&a, here);
            spell(&b, there);
            snprintf(text, sizeof text, "; its \"%.200s\" looks the same, but has %s instead of %s%s", other,
                     there, here,
                     a.n_mark != b.n_mark ? ": Unicode writes this letter in one piece (NFC) or two (NFD)"
                                          : "");
        }
        if (a.base == END) return text[0] ? text : NULL;
        p += a.n;
        q += b.n;
    }
}
