/* Reading numbers from a file held in memory, text or binary, with messages that say where. */
#ifndef FE_SCAN_H
#define FE_SCAN_H

#include "common/base/fe.h"

/* A cursor over the bytes of one file. The byte after the last is 0. */
typedef struct fe_scan {
    const char *path;
    char *begin;
    const char *at, *end;
    const char *section; /* for messages, with its $ */
    const char *odd; /* where the first record of the section that is not one line breaks off; NULL: none */
    int binary;      /* numbers of `bytes` > 0 are binary */
} fe_scan;

/* The whole file, behind a UTF-8 byte order mark; FE_BAD_INPUT where it cannot be read or is empty. */
fe_status fe_scan_open(fe_scan *s, const char *path);
void fe_scan_close(fe_scan *s);

/* FE_BAD_INPUT with "path: $Section, line 12: ..." (or byte, in a binary file), for the place `at`. A number
 * too few or too many is noticed later than where it is, so the first record that is not one line is named,
 * too. */
fe_status fe_scan_refuse(const fe_scan *s, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records of a text are usually lines, but only the order of the words counts, as for Gmsh: begin skips white
 * space, end what ends the line. In a binary file neither does anything, except that a text in it (bytes is
 * 0) must end with its line. */
void fe_scan_begin(fe_scan *s, int bytes);
fe_status fe_scan_end(fe_scan *s, int bytes);
/* Goes behind the end of the line, whatever it holds. */
void fe_scan_line(fe_scan *s);

/* A whole number in [low, high]: `bytes` (4 or 8) in a binary file, a word of a text otherwise or where
 * bytes is 0. */
fe_status fe_scan_int(fe_scan *s, int bytes, int64_t low, int64_t high, const char *what, int64_t *value);

/* A number. Of a text, finite; a binary one is taken as it is. */
fe_status fe_scan_real(fe_scan *s, const char *what, double *value);

/* Skips n numbers; in a text, any words. */
fe_status fe_scan_skip_reals(fe_scan *s, int n, const char *what);

/* Refuses a count whose entries, of at least `bytes` each, cannot fit in the rest of the file. */
fe_status fe_scan_fits(const fe_scan *s, int64_t count, int64_t bytes, const char *what);

/* The word at the cursor, shortened to fit a message. */
typedef struct fe_word {
    char text[48];
} fe_word;
fe_word fe_scan_word(const fe_scan *s);
/* The same of the n bytes up to the end of the line, without blanks at the end. */
fe_word fe_scan_rest(const fe_scan *s, size_t *n);

#endif
