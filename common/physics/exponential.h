/* The exponential function in double precision, for all lanes at once: one polynomial for host and device. */
#ifndef FE_EXPONENTIAL_H
#define FE_EXPONENTIAL_H

#include "common/physics/real.h"

/* exp(a) for a <= 0 to within 1.5 ulp; below -700 that of -700, which vanishes beside 1.
 * exp(a) = 2^n exp(r) with n the integer next to a / ln 2, |r| <= ln 2 / 2, and exp(r) by its Taylor series
 * to r^13, whose remainder is below 5e-18. ln 2 has two parts, so that n times the first one is exact. Adding
 * `shift` rounds to an integer, which then stands in the lowest bits of the sum. */
FE_BODY fe_real fe_exp(fe_real a)
{
    const fe_scalar shift = 0x1.8p52f, per_ln2 = (fe_scalar)0x1.71547652b82fep0,
                    ln2 = (fe_scalar)0x1.62e42feep-1, ln2_rest = (fe_scalar)0x1.a39ef35793c76p-33;
    a = fe_max(a, fe_splat(-700.0f));
    const fe_real shifted = per_ln2 * a + shift, n = shifted - shift;
    const fe_real r = (a - ln2 * n) - ln2_rest * n;
    fe_real p = (fe_scalar)(1.0 / 479001600) + r * (fe_scalar)(1.0 / 6227020800);
    p = (fe_scalar)(1.0 / 3628800) + r * ((fe_scalar)(1.0 / 39916800) + r * p);
    p = (fe_scalar)(1.0 / 40320) + r * ((fe_scalar)(1.0 / 362880) + r * p);
    p = (fe_scalar)(1.0 / 720) + r * ((fe_scalar)(1.0 / 5040) + r * p);
    p = (fe_scalar)(1.0 / 24) + r * ((fe_scalar)(1.0 / 120) + r * p);
    p = 0.5f + r * ((fe_scalar)(1.0 / 6) + r * p);
    p = 1.0f + r * (1.0f + r * p);
    return p * fe_two_to(shifted);
}

#endif
