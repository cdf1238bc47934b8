/* The material of a problem, as its file and the benchmarks give it. */
#ifndef FE_MATERIAL_H
#define FE_MATERIAL_H

/* Isotropic elasticity and a von Mises yield surface with isotropic hardening. Over the equivalent plastic
 * strain p the yield stress is
 *   linear  sigma_y + H p
 *   Voce    sigma_y + H p + (sigma_inf - sigma_y) (1 - exp(-delta p)); delta > 0 selects it
 * E, sigma_y, H and sigma_inf are in the problem's unit of stress (N and mm give MPa). sigma_y is +infinity
 * where there is no plasticity. */
typedef struct fe_material {
    double E, nu, sigma_y, H, sigma_inf, delta;
} fe_material;

/* The materials of a mesh's elements: element e has material[of[e]]; `of` is NULL where there is one. A byte
 * has to hold their number. */
enum { FE_MOST_MATERIALS = 256 };
typedef struct fe_materials {
    int n;
    const fe_material *material; /* [n] */
    const unsigned char *of;     /* [n_elem] */
} fe_materials;

/* Voce: the largest (sigma_inf - sigma_y) delta over E. It bounds the iterations of the return
 * (fe_voce_increment). */
#define FE_VOCE_STEEPEST 100.0

/* Laws of hardening, a constant in the bodies that return stresses. */
enum { FE_LINEAR, FE_VOCE, FE_N_HARDENING };
/* linear, voce */
extern const char *const fe_hardening_names[FE_N_HARDENING];

#endif
