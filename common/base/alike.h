/* Names that look the same on a screen and are not. */
#ifndef FE_ALIKE_H
#define FE_ALIKE_H

/* NULL where two names can be told apart by eye, or are the same. Otherwise what to say about `other`, with
 * the first difference by its code points: `; its "e" looks the same, but has U+0065 U+0301 instead of
 * U+00E9: ...`. Alike are composed and decomposed letters (Unicode's normal forms), invisible characters, all
 * kinds of blanks and dashes, Latin letters and those of other alphabets, bytes that are not UTF-8. Valid
 * until the next call. */
const char *fe_alike(const char *name, const char *other);

#endif
