/* The curve of a run: one row of CSV for each accepted load step, and one for the undeformed body before
 * them. Fields are quoted as RFC 4180 has it where a name needs that. The file is whole after every row
 * (common/base/growing.h). */
#ifndef FE_CURVE_H
#define FE_CURVE_H

#include "common/base/growing.h"
#include "common/report/result.h"

typedef struct fe_curve {
    fe_growing file;
    int has_head;
} fe_curve;

/* Nothing is written yet, and an older file stays until then. */
fe_status fe_curve_open(fe_curve *c, const char *path);
/* After it was opened, for a run that goes on after load step `last`: takes over the rows up to that of the
 * file that is there, if there is one. FE_BAD_INPUT where its columns are others, or its rows end before. */
fe_status fe_curve_resume(fe_curve *c, const fe_result *r, int last);
/* Adds a row; step NULL: the undeformed body. On failure (disk full) the file stays as it was. */
fe_status fe_curve_write(fe_curve *c, const fe_result *r, const fe_step_result *step);
/* Accepts a zeroed object. */
void fe_curve_close(fe_curve *c);

#endif
