/* Formulas of x, y and z, by muParser. Its exceptions, and those of memory that runs out in it, end here. */
#ifndef FE_EXPRESSION_H
#define FE_EXPRESSION_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Characters of an expression at most: muParser's own buffers and stacks are not made for more. */
enum { FE_EXPRESSION_LENGTH = 1000 };

typedef struct fe_expression fe_expression;

/* FE_BAD_INPUT: it does not parse. Messages of these functions are made to stand right behind the text. */
fe_status fe_expression_open(const char *text, fe_expression **e);
/* The value at a point; NaN and infinity are values, too. FE_BAD_INPUT: it has none, several, or assigns to a
 * coordinate. */
fe_status fe_expression_value(fe_expression *e, const double x[3], double *value);
void fe_expression_close(fe_expression *e);

#ifdef __cplusplus
}
#endif
#endif
