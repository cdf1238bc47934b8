/* The cursor of the mesh reader: each read checks that the bytes are there. */
#include "common/mesh/scan.h"
#include "common/base/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fe_status fe_scan_open(fe_scan *s, const char *path)
{
    size_t size;
    *s = (fe_scan){.path = path, .section = "start"};
    FE_TRY(fe_file_read(path, &s->begin, &size));
    if (size == 0) return fe_fail(FE_BAD_INPUT, "%s: the file is empty", path);
    s->end = s->begin + size;
    return fe_file_text(path, s->begin, size, &s->at);
}

void fe_scan_close(fe_scan *s)
{
    free(s->begin);
    *s = (fe_scan){0};
}

static size_t line_of(const fe_scan *s, const char *at)
{
    size_t line = 1;
    for (const char *p = s->begin; p < at; ++p) line += *p == '\n';
    return line;
}

fe_status fe_scan_refuse(const fe_scan *s, const char *at, const char *format, ...)
{
    char text[512], odd[80] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (s->odd && s->odd < at && !s->binary)
        snprintf(odd, sizeof odd, "; line %zu is the first that does not hold one entry", line_of(s, s->odd));
    return fe_fail(FE_BAD_INPUT, "%s: %s, %s %zu: %s%s", s->path, s->section, s->binary ? "byte" : "line",
                   s->binary ? (size_t)(at - s->begin) : line_of(s, at), text, odd);
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

void fe_scan_begin(fe_scan *s, int bytes)
{
    if (s->binary && bytes) return;
    while (s->at < s->end && (is_blank(*s->at) || *s->at == '\n')) ++s->at;
}

static int ends_word(const fe_scan *s, const char *p) { return p == s->end || is_blank(*p) || *p == '\n'; }

static fe_word shown(const char *bytes, size_t n)
{
    fe_word word = {""};
    const size_t most = sizeof word.text - 1, kept = n > most ? most - 3 : n;
    for (size_t i = 0; i < kept; ++i) word.text[i] = bytes[i] >= ' ' && bytes[i] != 127 ? bytes[i] : '?';
    if (kept < n) memcpy(word.text + kept, "...", 4);
    return word;
}

fe_word fe_scan_word(const fe_scan *s)
{
    const char *p = s->at;
    while (!ends_word(s, p)) ++p;
    return shown(s->at, (size_t)(p - s->at));
}

fe_word fe_scan_rest(const fe_scan *s, size_t *n)
{
    const char *p = memchr(s->at, '\n', (size_t)(s->end - s->at));
    if (!p) p = s->end;
    while (p > s->at && is_blank(p[-1])) --p;
    *n = (size_t)(p - s->at);
    return shown(s->at, *n);
}

fe_status fe_scan_end(fe_scan *s, int bytes)
{
    if (s->binary && bytes) return FE_OK;
    while (s->at < s->end && is_blank(*s->at)) ++s->at;
    if (s->at == s->end) return FE_OK;
    if (*s->at == '\n')
        ++s->at;
    else if (s->binary)
        return fe_scan_refuse(s, s->at, "\"%s\" where the line should end", fe_scan_word(s).text);
    else if (!s->odd)
        s->odd = s->at;
    return FE_OK;
}

void fe_scan_line(fe_scan *s)
{
    const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
    s->at = newline ? newline + 1 : s->end;
}

/* Moves to a word of a text; refuses the end of the section or of the file. */
static fe_status find_word(fe_scan *s, const char *what)
{
    for (; s->at < s->end && (is_blank(*s->at) || *s->at == '\n'); ++s->at)
        if (*s->at == '\n' && !s->odd) s->odd = s->at;
    if (s->at == s->end) return fe_scan_refuse(s, s->at, "the file ends where %s should be", what);
    if (*s->at == '$')
        return fe_scan_refuse(s, s->at, "%s where %s should be: fewer entries than announced",
                              fe_scan_word(s).text, what);
    return FE_OK;
}

static fe_status take_bytes(fe_scan *s, void *value, size_t bytes, const char *what)
{
    if ((size_t)(s->end - s->at) < bytes)
        return fe_scan_refuse(s, s->at, "the file ends where %s should be", what);
    memcpy(value, s->at, bytes);
    s->at += bytes;
    return FE_OK;
}

static fe_status text_int(fe_scan *s, const char *what, int64_t *value)
{
    FE_TRY(find_word(s, what));
    const char *p = s->at;
    const int negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    int64_t v = 0;
    int overflow = 0;
    const char *const digits = p;
    for (; *p >= '0' && *p <= '9'; ++p)
        overflow |= __builtin_mul_overflow(v, 10, &v) | __builtin_add_overflow(v, *p - '0', &v);
    if (p == digits || !ends_word(s, p) || overflow)
        return fe_scan_refuse(s, s->at, "\"%s\" where %s should be: not a whole number%s",
                              fe_scan_word(s).text, what, overflow ? " of 64 bits" : "");
    s->at = p;
    *value = negative ? -v : v;
    return FE_OK;
}

fe_status fe_scan_int(fe_scan *s, int bytes, int64_t low, int64_t high, const char *what, int64_t *value)
{
    const char *const start = s->at;
    if (!s->binary || bytes == 0) {
        FE_TRY(text_int(s, what, value));
    } else if (bytes == 4) {
        int32_t v = 0;
        FE_TRY(take_bytes(s, &v, sizeof v, what));
        *value = v;
    } else {
        FE_TRY(take_bytes(s, value, sizeof *value, what));
    }
    if (*value < low || *value > high)
        return fe_scan_refuse(s, start, "%s is %lld, outside %lld..%lld", what, (long long)*value,
                              (long long)low, (long long)high);
    return FE_OK;
}

/* Digits of a decimal number that fit in 53 bits, times a power of ten that is exact in a double: one
 * correctly rounded operation (Clinger 1990). Anything else is left to strtod. */
static int simple_real(const char **text, double *value)
{
    static const double power[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = *text;
    const int negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    uint64_t digits = 0;
    int n_digit = 0, n_fraction = 0;
    for (; *p >= '0' && *p <= '9' && n_digit < 18; ++p, ++n_digit)
        digits = 10 * digits + (uint64_t)(*p - '0');
    if (*p == '.')
        for (++p; *p >= '0' && *p <= '9' && n_digit < 18; ++p, ++n_digit, ++n_fraction)
            digits = 10 * digits + (uint64_t)(*p - '0');
    if (n_digit == 0 || n_digit == 18 || *p == 'e' || *p == 'E' || digits >> 53) return 0;
    *value = (double)digits / power[n_fraction];
    if (negative) *value = -*value;
    *text = p;
    return 1;
}

static fe_status text_real(fe_scan *s, const char *what, double *value)
{
    FE_TRY(find_word(s, what));
    const char *p = s->at;
    if (simple_real(&p, value) && ends_word(s, p)) {
        s->at = p;
        return FE_OK;
    }
    /* strtod also takes nan, inf and hexadecimal, which no writer means */
    const size_t n_plain = strspn(s->at, "+-.0123456789eE");
    char *after;
    *value = strtod(s->at, &after);
    if (after == s->at || after != s->at + n_plain || !ends_word(s, after) || !isfinite(*value))
        return fe_scan_refuse(s, s->at, "\"%s\" where %s should be: not a finite number",
                              fe_scan_word(s).text, what);
    s->at = after;
    return FE_OK;
}

fe_status fe_scan_real(fe_scan *s, const char *what, double *value)
{
    return s->binary ? take_bytes(s, value, sizeof *value, what) : text_real(s, what, value);
}

fe_status fe_scan_skip_reals(fe_scan *s, int n, const char *what)
{
    double unused;
    for (int i = 0; i < n; ++i) {
        if (s->binary)
            FE_TRY(take_bytes(s, &unused, sizeof unused, what));
        else
            FE_TRY(find_word(s, what));
        while (!s->binary && !ends_word(s, s->at)) ++s->at;
    }
    return FE_OK;
}

fe_status fe_scan_fits(const fe_scan *s, int64_t count, int64_t bytes, const char *what)
{
    const int64_t left = s->end - s->at;
    if (count > left / bytes)
        return fe_scan_refuse(s, s->at, "%lld %s are announced, but only %lld bytes follow", (long long)count,
                              what, (long long)left);
    return FE_OK;
}
