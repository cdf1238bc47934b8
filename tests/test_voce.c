/* Voce's law of hardening: the exponential function, the return of single points against the oracle, whole
 * solves against a closed form, and Newton's method. Strategies meet the law in test_assembly. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/problem/share.h"
#include "oracle/oracle.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"
#include "tests/scene.h"

/* --- the exponential function ------------------------------------------------------------------------ */

enum { EXPONENT_LOWEST = -700 }; /* exp() stops falling here */

/* Exponents of all sizes, and around the places where the rounding to multiples of ln 2 changes. */
static double some_exponent(int t)
{
    if (t % 4 == 0) return EXPONENT_LOWEST * fabs(uniform());
    if (t % 4 == 1) return -pow(10, 6 * uniform() - 4);
    if (t % 4 == 2) return -fabs(uniform());
    return -(0.5 + t / 4 % 100) * M_LN2 * (1 + 1e-6 * uniform());
}

/* 1.5 ulp: 0.5 of the rounded result, the rest for the polynomial. An ulp of exp(a) is at least epsilon / 2
 * of it. */
static void exponential_is_exact(void **state)
{
    (void)state;
    fe_real a = fe_splat(0.0f), y;
    double worst = 0;
    for (int t = 0; t < 40000; t++) {
        for (int l = 0; l < FE_LANES; l++) a[l] = fmax(some_exponent(t + l), EXPONENT_LOWEST);
        y = fe_exp(a);
        for (int l = 0; l < FE_LANES; l++) {
            const long double exact = expl(a[l]);
            int power;
            frexpl(exact, &power);
            worst = fmax(worst, (double)(fabsl(y[l] - exact) / ldexpl(DBL_EPSILON, power - 1)));
        }
    }
    if (!(worst <= 1.5)) fail_msg("exp is off by %.2f ulp", worst);
    for (int l = 0; l < FE_LANES; l++) a[l] = l % 2 ? 100.0 * EXPONENT_LOWEST : 0;
    y = fe_exp(a);
    assert_true(y[0] == 1);
    assert_true(y[1] > 0 && y[1] < 2 * exp(EXPONENT_LOWEST));
}

/* --- single points ----------------------------------------------------------------------------------- */

/* A point before and after the return: strain and state give stress, the next state and the tangent (six
 * numbers each, as in common/physics/j2.h). */
typedef struct returned {
    double strain[6], state[6], stress[6], next[6], tangent[6];
} returned;

/* The return of FE_LANES points at a time. */
static void return_points(const fe_material *material, returned *point)
{
    const fe_j2 j2 = fe_j2_of(material);
    const fe_constants m = fe_constants_of(&j2);
    fe_real strain[6], state[6], stress[6], next[6], tangent[6];
    fe_return mapped;
    for (int i = 0; i < 6; i++)
        for (int l = 0; l < FE_LANES; l++) strain[i][l] = point[l].strain[i], state[i][l] = point[l].state[i];
    fe_return_map(FE_VOCE, &m, strain, state, stress, &mapped);
    fe_update_state(&mapped, state, next);
    fe_consistent_tangent(FE_VOCE, &m, &mapped, next[5], tangent);
    for (int i = 0; i < 6; i++)
        for (int l = 0; l < FE_LANES; l++)
            point[l].stress[i] = stress[i][l], point[l].next[i] = next[i][l],
            point[l].tangent[i] = tangent[i][l];
}

/* From a law that is nearly a line to the steepest that is allowed. */
static fe_material some_material(void)
{
    fe_material m = {.E = 2e5, .nu = 0.45 * fabs(uniform()), .sigma_y = 250};
    m.H = uniform() > 0 ? 2000 * fabs(uniform()) : 0;
    m.sigma_inf = m.sigma_y * (1 + pow(10, 1.5 * uniform() - 0.5));
    m.delta = FE_VOCE_STEEPEST * m.E / (m.sigma_inf - m.sigma_y) * pow(10, 2.5 * uniform() - 2.5);
    return m;
}

/* A point whose trial stress is `times` the yield stress, about. */
static returned some_point(const fe_material *m, double times)
{
    returned p = {.state = {0}};
    const double size = m->sigma_y / m->E;
    double s[6], square = 0;
    if (uniform() > -0.5) {
        for (int i = 0; i < 5; i++) p.state[i] = size * uniform();
        p.state[5] = pow(10, 1.5 * uniform() - 0.5) / m->delta;
    }
    for (int i = 0; i < 6; i++) s[i] = uniform();
    s[2] = -(s[0] + s[1]);
    for (int i = 0; i < 6; i++) square += (i < 3 ? 1 : 2) * s[i] * s[i];
    const double plastic[6] = {p.state[0], p.state[1], -(p.state[0] + p.state[1]),
                               p.state[2], p.state[3], p.state[4]};
    const double yield =
        m->sigma_y + m->H * p.state[5] - (m->sigma_inf - m->sigma_y) * expm1(-m->delta * p.state[5]);
    for (int i = 0; i < 6; i++)
        p.strain[i] = plastic[i] + times * yield * (1 + m->nu) / m->E * s[i] * sqrt(2 / (3 * square));
    const double volume = size * uniform();
    for (int i = 0; i < 3; i++) p.strain[i] += volume;
    return p;
}

/* Largest error of a point's stress, state and tangent, each over its own scale, which are those of rounding:
 * the trial stress, the strain, and the elastic tangent, where a change of the exponent by rounding counts as
 * what it does to H'. */
static double error_of(const fe_material *m, const returned *p)
{
    static const int place[5] = {0, 1, 3, 4, 5};
    const oracle_material material = {m->E, m->nu, m->sigma_y, m->H, m->sigma_inf, m->delta};
    const double *s = p->state;
    const oracle_state before = {{s[0], s[1], -s[0] - s[1], s[2], s[3], s[4]}, s[5]};
    const fe_j2 j2 = fe_j2_of(m);
    oracle_state after;
    double eps[6], sigma[6], C[6][6], D[6][6], own[6][6], strain = s[5], worst = 0;
    oracle_elasticity(&material, D);
    for (int i = 0; i < 6; i++) {
        eps[i] = (i < 3 ? 1 : 2) * p->strain[i];
        strain = fmax(strain, fmax(fabs(eps[i]), fabs(before.eps_p[i])));
    }
    oracle_return(&material, eps, &before, sigma, &after, C);
    expand_tangent(j2.bulk, j2.shear, p->tangent, own);
    const double exponent = 1 + m->delta * strain;
    for (int i = 0; i < 6; i++) worst = fmax(worst, fabs(p->stress[i] - sigma[i]) / (D[0][0] * strain));
    for (int i = 0; i < 5; i++) worst = fmax(worst, fabs(p->next[i] - after.eps_p[place[i]]) / strain);
    worst = fmax(worst, fabs(p->next[5] - after.alpha) / strain);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) worst = fmax(worst, fabs(own[i][j] - C[i][j]) / (D[0][0] * exponent));
    return isnan(worst) ? INFINITY : worst;
}

/* Elastic, just yielding, yielding and far beyond, in the lanes of one call. 10 roundings each. A point gives
 * the same bits whatever its neighbours do. */
static void points_follow_the_oracle(void **state)
{
    (void)state;
    int plastic = 0, elastic = 0;
    double worst = 0;
    random_state = 7;
    for (int t = 0; t < 2000; t++) {
        static const double times[] = {0.5, 1.01, 2, 5, 30, 1000};
        const fe_material m = some_material();
        returned p[FE_LANES], same[FE_LANES];
        for (int l = 0; l < FE_LANES; l++) p[l] = some_point(&m, times[(t + l) % 6]);
        return_points(&m, p);
        for (int l = 0; l < FE_LANES; l++) same[l] = p[t % FE_LANES];
        return_points(&m, same);
        assert_memory_equal(&same[0], &p[t % FE_LANES], sizeof *p);
        for (int l = 0; l < FE_LANES; l++) {
            worst = fmax(worst, error_of(&m, &p[l]));
            plastic += p[l].next[5] > p[l].state[5], elastic += p[l].next[5] == p[l].state[5];
        }
    }
    assert_true(elastic > 1000 && plastic > 3 * elastic);
    if (!(worst <= 10 * DBL_EPSILON)) fail_msg("%.2f epsilon", worst / DBL_EPSILON);
}

/* A law that gains nothing is linear: the kernels of linear hardening run. */
static void flat_law_is_linear(void **state)
{
    (void)state;
    const fe_material flat = {.E = 2e5, .nu = 0.3, .sigma_y = 250, .H = 10, .sigma_inf = 250, .delta = 5},
                      elastic = {.E = 2e5, .nu = 0.3, .sigma_y = INFINITY, .sigma_inf = 300, .delta = 5},
                      steep = {.E = 2e5, .nu = 0.3, .sigma_y = 250, .sigma_inf = 300, .delta = 5};
    const fe_j2 j2[3] = {fe_j2_of(&flat), fe_j2_of(&elastic), fe_j2_of(&steep)};
    assert_int_equal(fe_hardening_of(&j2[0]), FE_LINEAR);
    assert_int_equal(fe_hardening_of(&j2[1]), FE_LINEAR);
    assert_int_equal(fe_hardening_of(&j2[2]), FE_VOCE);
}

/* --- whole solves ------------------------------------------------------------------------------------ */

#define VOCE "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 500, \"sigma_inf\": 400, \"delta\": 300"

/* Equivalent plastic strain at which the yield stress of VOCE is sigma; 0 below yield. */
static double strain_at_yield_stress(double sigma)
{
    double low = 0, high = 1;
    if (sigma <= 250) return 0;
    for (int i = 0; i < 200; i++) {
        const double p = 0.5 * (low + high);
        *(250 + 500 * p - 150 * expm1(-300 * p) < sigma ? &low : &high) = p;
    }
    return low;
}

/* A bar under tension: the stress is the load, whatever the steps, and monotonic loading ends at
 * sigma = yield stress (p), strain = sigma / E + p and -nu sigma / E - p / 2 across. Unloading is elastic;
 * beyond the same stress in compression the bar yields again. Forces are balanced to 1e-9, the tangent is at
 * least E H' / (E + H') = E / 400. */
static void bar_follows_the_law(void **state)
{
    (void)state;
    static const double factors[] = {200, 260, 330, 390, 100, -395, -398};
    enum { N_STEP = sizeof factors / sizeof *factors };
    static const char *const meshes[] = {"box.msh", "tet.msh"};
    child_write_problem("bar.json", (problem){.material = VOCE,
                                              .supports = ROLLERS,
                                              .loads = PULL,
                                              .factors = "200, 260, 330, 390, 100, -395, -398"});
    for (int k = 0; k < 2; k++) {
        assert_int_equal(child_run("solve bar.json --mesh %s --threads 1 --result bar.r.json", meshes[k]), 0);
        json_t *root = result_load_checked("bar.r.json", "converged", N_STEP);
        const json_t *material = result_at(root, "material");
        double p = 0, along = 0, work = 0;
        assert_string_equal(json_string_value(result_at(material, "hardening")), "voce");
        assert_true(result_number(material, "sigma_inf") == 400 && result_number(material, "delta") == 300);
        for (size_t i = 0; i < N_STEP; i++) {
            const json_t *step = result_step(root, i);
            const double sigma = factors[i], now = fmax(p, strain_at_yield_stress(fabs(sigma)));
            const double bound = 1e-6 * (400 / 2e5 + now);
            along += copysign(now - p, sigma);
            work += fmax(fabs(sigma), 0) * (now - p); /* backward Euler: the stress at the end of the step */
            p = now;
            result_near("strain", result_probe(step, 0), sigma / 2e5 + along, bound);
            result_near("strain across", result_probe(step, 1), -0.3 * sigma / 2e5 - 0.5 * along, bound);
            result_near("peeq", result_number(step, "max_peeq"), p, bound);
            result_near("mises", result_number(step, "max_mises"), fabs(sigma), 1e-6 * 400);
            result_near("reaction", result_number(result_at(result_at(step, "reactions"), "x0"), "x"), -sigma,
                        1e-6 * 400);
        }
        result_near("plastic work", result_number(result_step(root, N_STEP - 1), "plastic_work"), work,
                    1e-5 * work);
        json_decref(root);
    }
}

/* Four points of a Tet4 do not know the law. */
static void four_points_are_refused(void **state)
{
    (void)state;
    child_write_problem("bar.json",
                        (problem){.material = VOCE, .supports = ROLLERS, .loads = PULL, .factors = "200"});
    child_must(2, "solve bar.json --mesh tet.msh --tet-points 4 --threads 1 --result four.json");
}

/* Near the solution of a clamped, bent cube each residual is the square of the one before times a factor,
 * which needs H' at the end of the step in the tangent. Exponents of 1.7 and more (2 in the limit) where the
 * residual is between 3e-3 and 1e-11 of the load. */
static void newton_is_quadratic(void **state)
{
    (void)state;
    child_write_problem("bent.json", (problem){.material = VOCE, .factors = "1, -2.2, 2.6"});
    child_must(0, "solve bent.json --threads 1 --krylov-tolerance 1e-13 --tolerance 1e-12 --result b.r.json");
    json_t *root = result_load_checked("b.r.json", "converged", 3);
    for (size_t i = 1; i < 3; i++) {
        const json_t *list = result_at(result_at(result_step(root, i), "newton"), "residuals");
        int seen = 0;
        for (size_t k = 2; k < json_array_size(list); k++) {
            double r[3];
            for (size_t j = 0; j < 3; j++) r[j] = json_number_value(json_array_get(list, k - 2 + j));
            if (r[1] > 3e-3 || r[2] < 1e-11) continue;
            seen++;
            if (log(r[2] / r[1]) > 1.7 * log(r[1] / r[0]))
                fail_msg("step %zu: residuals %.2e %.2e %.2e", i + 1, r[0], r[1], r[2]);
        }
        assert_true(seen > 0);
    }
    json_decref(root);
}

/* A run that ends in the third load step and is resumed is the run in one: yield stresses follow from states
 * that were read back. */
static void runs_resume(void **state)
{
    (void)state;
    child_write_problem("bent.json", (problem){.material = VOCE, .factors = "1, -2.2, 3.2, -2.6"});
    child_must(0, "solve bent.json --threads 1 --result whole.json");
    child_must(1, "solve bent.json --threads 1 --newton-iterations 4 --result part.json");
    json_decref(result_load_checked("part.json", "not_converged", 2));
    child_must(0, "solve bent.json --threads 1 --resume part.json");
    json_t *part = result_load_checked("part.json", "converged", 4),
           *whole = result_load_checked("whole.json", "converged", 4);
    result_assert_same(part, whole);
    json_decref(part), json_decref(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exponential_is_exact),
                                       cmocka_unit_test(points_follow_the_oracle),
                                       cmocka_unit_test(flat_law_is_linear),
                                       cmocka_unit_test(bar_follows_the_law),
                                       cmocka_unit_test(four_points_are_refused),
                                       cmocka_unit_test(newton_is_quadratic),
                                       cmocka_unit_test(runs_resume)};
    return cmocka_run_group_tests(tests, child_open, child_close);
}
