/* In what precision a source file computes: FE_PRECISION, a constant of its compilation. The Makefile
 * compiles files that use FE_PRECISE or FE_TABLE once for each precision.
 *
 *            arithmetic (fe_scalar)   vectors, and sums into them (fe_number)   stored tangents
 *   double   double                   double                                    double
 *   mixed    float                    double                                    float
 *   single   float                    float                                     float
 *
 * States of points are doubles in each, and the material update is that of double precision. Single and mixed
 * precision have the element kinds Tet4 and Hex8; of Tet10 and Hex27 single precision has elastic
 * products, for multigrid. */
#ifndef FE_PRECISION_H
#define FE_PRECISION_H

#define FE_DOUBLE 0
#define FE_MIXED 1
#define FE_SINGLE 2
#define FE_N_PRECISION 3
#ifndef FE_PRECISION
#define FE_PRECISION FE_DOUBLE
#endif

/* FE_PRECISE(name): a name that several files share, with the precision of this one behind it. */
#if FE_PRECISION == FE_DOUBLE
typedef double fe_scalar, fe_number;
#define FE_PRECISE(name) name
#elif FE_PRECISION == FE_MIXED
typedef float fe_scalar;
typedef double fe_number;
#define FE_PRECISE(name) name##_mixed
#else
typedef float fe_scalar, fe_number;
#define FE_PRECISE(name) name##_single
#endif

#endif
