/* What this build is: for --version and for every result row. */
#ifndef FE_VERSION_H
#define FE_VERSION_H
#ifdef __cplusplus
extern "C" {
#endif
/* Commit, compiler, libraries and SIMD width, one per line: the text of --version. */
const char *fe_version_text(void);
const char *fe_commit(void);
/* Doubles in one host SIMD register as fe_real uses it. */
int fe_simd_lanes(void);
#ifdef __cplusplus
}
#endif
#endif
