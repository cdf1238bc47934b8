/* The terms of contact, on each backend: gaps against central differences, forces against the energy,
 * tangents against forces, symmetry, action and reaction, and the sums around a preconditioner. */
#include "common/contact/contact.h"
#include "have/cuda.h"
#include "tests/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_NODE = 60, N = 3 * N_NODE };

/* Obstacles in general position, and how far surfaces of nodes around them are scattered. */
static fe_obstacle obstacle_of(int kind)
{
    fe_obstacle o = {.kind = kind, .at = {0.3, -0.2, 0.7}, .radius = 1.5, .moved = {0.1, 0.2, -0.15}};
    const double axis[3] = {0.48, -0.6, 0.64};
    if (kind != FE_SPHERE) memcpy(o.axis, axis, sizeof axis);
    return o;
}

static double gap_at(const fe_obstacle *o, const double x[3])
{
    static const double zero[3];
    double n[3], bend;
    return fe_obstacle_gap(o, x, zero, n, &bend);
}

/* An independent distance, for points outside: the plane by its equation, the others by a search for the
 * nearest point of the axis. */
static double plain_distance(const fe_obstacle *o, const double place[3])
{
    const double x[3] = {place[0] - o->moved[0], place[1] - o->moved[1], place[2] - o->moved[2]};
    double least = INFINITY;
    if (o->kind == FE_PLANE)
        return o->axis[0] * x[0] + o->axis[1] * x[1] + o->axis[2] * x[2] - o->axis[0] * o->at[0] -
               o->axis[1] * o->at[1] - o->axis[2] * o->at[2];
    for (int i = -20000; i <= 20000; i++) {
        const double t = o->kind == FE_SPHERE ? 0.0 : 5e-4 * i;
        double square = 0.0;
        for (int c = 0; c < 3; c++) square += pow(x[c] - o->at[c] - t * o->axis[c], 2);
        least = fmin(least, sqrt(square));
        if (o->kind == FE_SPHERE) break;
    }
    return least - o->radius;
}

/* At x + u, of whatever part each of the two is. */
static void gaps_are_distances(void **state)
{
    (void)state;
    random_state = 11;
    for (int k = 0; k < 40; k++) {
        const fe_obstacle o = obstacle_of(k % FE_N_OBSTACLE);
        const double h = 1e-6;
        double x[3], u[3], place[3], n[3], H[6], bend, length = 0.0;
        for (int c = 0; c < 3; c++) {
            place[c] = o.at[c] + o.moved[c] + 3 * uniform(), u[c] = 0.5 * uniform();
            x[c] = place[c] - u[c];
        }
        const double gap = fe_obstacle_gap(&o, x, u, n, &bend);
        /* the search is as fine as its step */
        if (!(fabs(gap - plain_distance(&o, place)) <= 1e-6)) fail_msg("obstacle %d: gap %g", o.kind, gap);
        if (!(fabs(gap - gap_at(&o, place)) <= 1e-14)) fail_msg("obstacle %d: gap %g", o.kind, gap);
        fe_obstacle_curvature(&o, n, bend, H);
        for (int i = 0; i < 3; i++) {
            double above[3], below[3], n_above[3], n_below[3];
            memcpy(above, u, sizeof above), memcpy(below, u, sizeof below);
            above[i] += h, below[i] -= h;
            const double slope = (fe_obstacle_gap(&o, x, above, n_above, &bend) -
                                  fe_obstacle_gap(&o, x, below, n_below, &bend)) /
                                 (2 * h);
            if (!(fabs(slope - n[i]) <= 1e-8))
                fail_msg("obstacle %d: n[%d] %g, not %g", o.kind, i, n[i], slope);
            for (int j = 0; j < 3; j++) {
                const double turn = (n_above[j] - n_below[j]) / (2 * h), stored = H[i == j       ? i
                                                                                    : i + j == 1 ? 3
                                                                                    : i + j == 3 ? 4
                                                                                                 : 5];
                if (!(fabs(turn - stored) <= 1e-7))
                    fail_msg("obstacle %d: curvature %d %d is %g, not %g", o.kind, i, j, stored, turn);
            }
            length += n[i] * n[i];
        }
        if (!(fabs(length - 1.0) <= 1e-14)) fail_msg("obstacle %d: |n|² is %.17g", o.kind, length);
    }
}

/* --- lists on a device ------------------------------------------------------------------------------- */

/* Two lists that share half of their nodes, close to the surfaces of two obstacles: some inside, some not. */
typedef struct bed {
    fe_device *device;
    const fe_contact_operations *ops;
    fe_contact_list list[2];
    double x[N], u[N], multiplier[2][N_NODE];
    double *at, *in, *out, *room; /* device: [N], coordinates, vectors; [9 N_NODE] */
    uint8_t held[N], *held_there;
} bed;

static void to(const bed *b, size_t n, const double *host, double *there)
{
    must(b->device->ops->memory.upload(b->device, n * sizeof *host, host, there));
}
static void from(const bed *b, size_t n, const double *there, double *host)
{
    must(b->device->ops->memory.download(b->device, n * sizeof *host, there, host));
}

/* A node near the surface of an obstacle. */
static void place(const fe_obstacle *o, double x[3])
{
    static const double zero[3];
    double n[3], bend;
    for (int c = 0; c < 3; c++) x[c] = o->at[c] + 2 * uniform();
    const double gap = fe_obstacle_gap(o, x, zero, n, &bend), wanted = 0.02 * uniform();
    for (int c = 0; c < 3; c++) x[c] += (wanted - gap) * n[c];
}

static void open_list(bed *b, int which, int kind, int first, double stiffness)
{
    enum { LIST = N_NODE / 2 + N_NODE / 4 };
    int node[LIST];
    double area[LIST], young[LIST];
    const fe_obstacle o = obstacle_of(kind);
    for (int i = 0; i < LIST; i++) {
        node[i] = (first + 7 * i) % N_NODE;
        area[i] = 0.02 * (1.5 + uniform()), young[i] = 1000 * (1.5 + uniform());
        if (which == 0 || uniform() < 0.5) place(&o, b->x + 3 * node[i]);
    }
    const fe_contact_nodes nodes = {LIST, node, area, young};
    must(fe_contact_list_open(b->device, &nodes, b->at, stiffness, &b->list[which]));
    b->list[which].obstacle = o;
    for (int i = 0; i < LIST; i++) b->multiplier[which][i] = fmax(0.0, 5 * uniform());
    to(b, LIST, b->multiplier[which], b->list[which].multiplier);
}

/* Soft penalties: nodes deep inside an obstacle have pressures below FE_CONTACT_STIFFEST E, too. */
static const double soft = 0.01, stiff = 20.0;
static bed *bed_open(const char *backend, int kind, double stiffness)
{
    const fe_backend *ops;
    bed *b = calloc(1, sizeof *b);
    assert_non_null(b);
    random_state = 5 + (uint64_t)kind;
    must(fe_backend_find(backend, &ops));
    must(ops->open(0, 2, &b->device));
    b->ops = fe_contact_operations_of(b->device);
    double **vectors[] = {&b->at, &b->in, &b->out};
    for (int i = 0; i < 3; i++) must(fe_device_vector(b->device, N_NODE, "test", vectors[i]));
    must(fe_device_allocate(b->device, 9 * N_NODE, sizeof(double), "test", (void **)&b->room));
    for (int i = 0; i < N; i++) b->x[i] = uniform(), b->u[i] = 0.005 * uniform();
    open_list(b, 0, kind, 0, stiffness), open_list(b, 1, (kind + 1) % FE_N_OBSTACLE, 3, stiffness);
    to(b, N, b->x, b->at);
    for (int i = 0; i < N; i++) b->held[i] = uniform() > 0.6;
    must(fe_device_upload(b->device, N, 1, b->held, "test", (void **)&b->held_there));
    return b;
}

static void bed_close(bed *b)
{
    b->device->ops->close(b->device);
    free(b);
}

/* f = - forces of both obstacles at u. */
static void forces_at(bed *b, const double *u, double *f)
{
    to(b, N, u, b->in);
    must(b->device->ops->memory.zero(b->device, N * sizeof(double), b->out));
    for (int i = 0; i < 2; i++) must(b->ops->forces(b->device, &b->list[i], b->in, b->out));
    from(b, N, b->out, f);
}

static void linearize(bed *b)
{
    to(b, N, b->u, b->in);
    for (int i = 0; i < 2; i++) must(b->ops->linearize(b->device, &b->list[i], b->in, b->held_there));
}

static void product_of(bed *b, const double *v, double *y)
{
    to(b, N, v, b->in);
    must(b->device->ops->memory.zero(b->device, N * sizeof(double), b->out));
    for (int i = 0; i < 2; i++) must(b->ops->product(b->device, &b->list[i], b->in, b->out));
    from(b, N, b->out, y);
}

static double dot(const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < N; i++) sum += a[i] * b[i];
    return sum;
}

/* The energy of all nodes, by its formula. */
static double energy_at(bed *b, const double *u)
{
    double sum = 0.0;
    for (int k = 0; k < 2; k++) {
        const fe_contact_list *l = &b->list[k];
        int node[N_NODE];
        double area[N_NODE], penalty[N_NODE];
        must(b->device->ops->memory.download(b->device, (size_t)l->n * sizeof *node, l->node, node));
        from(b, (size_t)l->n, l->area, area), from(b, (size_t)l->n, l->penalty, penalty);
        for (int i = 0; i < l->n; i++) {
            double x[3];
            for (int c = 0; c < 3; c++) x[c] = b->x[3 * node[i] + c] + u[3 * node[i] + c];
            const double p = fmax(0.0, b->multiplier[k][i] - penalty[i] * gap_at(&l->obstacle, x));
            sum += area[i] / (2 * penalty[i]) * p * p;
        }
    }
    return sum;
}

static void random_vector(double *v)
{
    for (int i = 0; i < N; i++) v[i] = uniform();
}

static const char *backend_of(void **state)
{
    const char *backend = *state;
    const fe_backend *ops;
    skip_if(fe_backend_find(backend, &ops) == FE_OK ? NULL : fe_message(), backend);
    return backend;
}

static void moved(const double *u, double h, const double *v, double *out)
{
    for (int i = 0; i < N; i++) out[i] = u[i] + h * v[i];
}

static void forces_are_the_energys_slope(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < FE_N_OBSTACLE; kind++) {
        bed *b = bed_open(backend, kind, soft);
        double f[N], v[N], there[N];
        forces_at(b, b->u, f);
        for (int k = 0; k < 10; k++) {
            const double h = 1e-8;
            random_vector(v);
            moved(b->u, h, v, there);
            const double above = energy_at(b, there);
            moved(b->u, -h, v, there);
            const double slope = (above - energy_at(b, there)) / (2 * h), expected = dot(f, v);
            if (!(fabs(slope - expected) <= 1e-6 * sqrt(dot(f, f)) * sqrt(dot(v, v))))
                fail_msg("%s, obstacle %d: slope %.9g, forces say %.9g", backend, kind, slope, expected);
        }
        bed_close(b);
    }
}

/* Nodes whose status changes within h are left out of the difference: they have none. */
static void tangents_are_differences_of_forces(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < FE_N_OBSTACLE; kind++) {
        bed *b = bed_open(backend, kind, soft);
        double v[N], w[N], y[N], z[N], above[N], below[N], there[N], D[9 * N_NODE], largest = 0.0,
                                                                                    worst = 0.0;
        const double h = 1e-7;
        linearize(b);
        random_vector(v), random_vector(w);
        product_of(b, v, y), product_of(b, w, z);
        if (!(fabs(dot(w, y) - dot(v, z)) <= 1e-12 * sqrt(dot(y, y)) * sqrt(dot(w, w))))
            fail_msg("%s, obstacle %d: not symmetric", backend, kind);
        moved(b->u, h, v, there), forces_at(b, there, above);
        moved(b->u, -h, v, there), forces_at(b, there, below);
        for (int i = 0; i < N; i++) {
            largest = fmax(largest, fabs(y[i]));
            worst = fmax(worst, fabs((above[i] - below[i]) / (2 * h) - y[i]));
        }
        if (!(largest > 0.1) || !(worst <= 1e-6 * largest))
            fail_msg("%s, obstacle %d: off by %g of %g", backend, kind, worst, largest);
        must(b->device->ops->memory.zero(b->device, sizeof D, b->room));
        for (int i = 0; i < 2; i++) must(b->ops->diagonal(b->device, &b->list[i], b->room));
        from(b, 9 * N_NODE, b->room, D);
        for (int n = 0; n < N_NODE; n++)
            for (int c = 0; c < 3; c++) {
                double sum = 0.0;
                for (int j = 0; j < 3; j++) sum += D[9 * n + 3 * c + j] * v[3 * n + j];
                if (!(fabs(sum - y[3 * n + c]) <= 1e-12 * largest))
                    fail_msg("%s, obstacle %d: the diagonal block of node %d", backend, kind, n);
            }
        bed_close(b);
    }
}

/* What the body gets, the obstacles give; and pressures become multipliers. */
static void action_is_reaction(void **state)
{
    const char *backend = backend_of(state);
    bed *b = bed_open(backend, FE_SPHERE, soft);
    double f[N], again[N], sum[3] = {0}, reaction[3] = {0}, out[FE_N_CONTACT_OUT * N_NODE];
    int closed = 0, open = 0;
    forces_at(b, b->u, f);
    to(b, N, b->u, b->in);
    for (int k = 0; k < 2; k++) {
        const size_t n = (size_t)b->list[k].n;
        must(b->ops->measure(b->device, &b->list[k], b->in));
        from(b, FE_N_CONTACT_OUT * n, b->list[k].out, out);
        for (size_t i = 0; i < n; i++) {
            for (int c = 0; c < 3; c++) reaction[c] += out[(size_t)(FE_CONTACT_FORCE + c) * n + i];
            if (out[FE_CONTACT_CLOSED * n + i] == 1.0)
                closed++;
            else
                open++;
        }
        must(b->ops->augment(b->device, &b->list[k], b->in));
        from(b, n, b->list[k].multiplier, again);
        for (size_t i = 0; i < n; i++)
            if (again[i] != out[FE_CONTACT_PRESSURE * n + i])
                fail_msg("%s: a multiplier is no pressure", backend);
    }
    for (int i = 0; i < N; i++) sum[i % 3] += f[i];
    for (int c = 0; c < 3; c++)
        if (!(fabs(sum[c] + reaction[c]) <= 1e-12 * sqrt(dot(f, f))))
            fail_msg("%s: axis %d: %g and %g", backend, c, sum[c], reaction[c]);
    if (closed < 10 || open < 10) fail_msg("%s: %d nodes closed, %d open", backend, closed, open);
    bed_close(b);
}

/* z = what stands around the preconditioner M = diagonal matrix m, of r. */
static void precondition(bed *b, const double *m, const double *r, double *z)
{
    double s[N];
    to(b, N, r, b->out);
    for (int i = 0; i < 2; i++) must(b->ops->before(b->device, &b->list[i], b->out));
    from(b, N, b->out, s);
    for (int i = 0; i < N; i++) s[i] *= m[i];
    to(b, N, s, b->out);
    for (int i = 1; i >= 0; i--) must(b->ops->after(b->device, &b->list[i], b->out));
    from(b, N, b->out, z);
}

static void preconditioner_stays_symmetric_and_positive(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < FE_N_OBSTACLE; kind++) {
        bed *b = bed_open(backend, kind, stiff);
        double m[N], r[N], s[N], y[N], z[N];
        linearize(b);
        for (int k = 0; k < 20; k++) {
            for (int i = 0; i < N; i++) {
                m[i] = b->held[i] ? 0.0 : 1.5 + uniform();
                r[i] = b->held[i] ? 0.0 : uniform(), s[i] = b->held[i] ? 0.0 : uniform();
            }
            precondition(b, m, r, y), precondition(b, m, s, z);
            const double scale = sqrt(dot(r, r)) * sqrt(dot(z, z));
            if (!(fabs(dot(s, y) - dot(r, z)) <= 1e-12 * scale)) fail_msg("%s: not symmetric", backend);
            if (!(dot(r, y) > 0.0)) fail_msg("%s: not positive", backend);
            for (int i = 0; i < N; i++)
                if (b->held[i] && y[i] != 0.0) fail_msg("%s: moves a component that is held", backend);
        }
        bed_close(b);
    }
}

#define ON_EACH(test)                                                                                        \
    {#test " on host", test, NULL, NULL, "host"}, { #test " on cuda", test, NULL, NULL, "cuda" }
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_distances), ON_EACH(forces_are_the_energys_slope),
        ON_EACH(tangents_are_differences_of_forces), ON_EACH(action_is_reaction),
        ON_EACH(preconditioner_stays_symmetric_and_positive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
