/* Matrices of blocks of 16-bit numbers: their rounding, and every operation of a cycle against sums in double
 * precision, through the table of functions that the preconditioner sees. */
#include "common/krylov/conjugate.h"
#include "common/multigrid/block_matrix.h"
#include "tests/dense.h"

#include <stdlib.h>
#include <string.h>

/* A random matrix: host copies of what is on the device, and the entries that were given. */
typedef struct blocks {
    fe_device *d;
    fe_block_matrix M;
    int n_block, n_column, *first, *column;
    int16_t *value;
    double *entry;
} blocks;

static void *upload(fe_device *d, size_t count, size_t size, const void *host)
{
    void *memory;
    must(fe_device_upload(d, count, size, host, "test", &memory));
    return memory;
}

static void *room(size_t count, size_t size)
{
    void *memory;
    must(fe_allocate(count + 1, size, "test", &memory));
    return memory;
}

/* Rows of 0 to 40 blocks, whose sizes differ by twelve orders, as units make them; some blocks are empty. */
static blocks draw(fe_device *d, int n_row, int n_column, int rows, int columns)
{
    const int size = rows * columns, stride = FE_BLOCK_STRIDE(size);
    blocks b = {.d = d, .n_column = n_column, .M = {.n_row = n_row, .rows = rows, .columns = columns}};
    b.first = room((size_t)n_row + 1, sizeof *b.first);
    for (int i = 0; i < n_row; i++)
        b.first[i + 1] = b.first[i] + (i % 7 == 3 ? 0 : (int)(20.0 * (uniform() + 1.0)));
    b.n_block = b.first[n_row];
    b.column = room((size_t)b.n_block, sizeof *b.column);
    b.value = room((size_t)(b.n_block * stride), sizeof *b.value);
    b.entry = room((size_t)(b.n_block * size), sizeof *b.entry);
    for (int k = 0; k < b.n_block; k++) {
        const double unit = k % 11 == 5 ? 0.0 : pow(10.0, 6.0 * uniform());
        b.column[k] = (int)(0.5 * (uniform() + 1.0) * n_column);
        for (int c = 0; c < size; c++) b.entry[size * k + c] = unit * uniform();
        fe_round_block(size, b.entry + (size_t)(size * k), b.value + (size_t)(stride * k));
    }
    b.M.first = upload(d, (size_t)n_row + 1, sizeof *b.first, b.first);
    b.M.column = upload(d, (size_t)b.n_block, sizeof *b.column, b.column);
    b.M.value = upload(d, (size_t)(b.n_block * stride), sizeof *b.value, b.value);
    return b;
}

static void give_back(blocks *b)
{
    const void *memory[] = {b->M.first, b->M.column, b->M.value};
    for (int i = 0; i < 3; i++) b->d->ops->memory.release(b->d, (void *)memory[i]);
    free(b->first), free(b->column), free(b->value), free(b->entry);
}

/* What stands for entry c of block k. */
static double stored(const blocks *b, int k, int c)
{
    const int size = b->M.rows * b->M.columns;
    const int16_t *value = b->value + (size_t)(FE_BLOCK_STRIDE(size) * k);
    float scale;
    memcpy(&scale, value + size, sizeof scale);
    return (double)scale * value[c];
}

/* An entry is off by at most half the scale; the largest of a block is met to a float's rounding. */
static void test_rounding(void **state)
{
    const char *backend = dense_backend(state);
    dense_run *t = dense_open(backend, 1, 1, 0);
    blocks b = draw(t->device, 50, 30, 6, 6);
    for (int k = 0; k < b.n_block; k++) {
        double largest = 0.0, kept = 0.0, error = 0.0;
        for (int c = 0; c < 36; c++) {
            largest = fmax(largest, fabs(b.entry[36 * k + c])), kept = fmax(kept, fabs(stored(&b, k, c)));
            error = fmax(error, fabs(b.entry[36 * k + c] - stored(&b, k, c)));
        }
        assert_true(error <= 0.5001 * largest / 32767.0);
        assert_true(fabs(kept - largest) <= 1e-6 * largest);
    }
    give_back(&b);
    dense_close(t);
}

/* A product with what is not finite is not finite either: CG and GMRES stop there. */
static void test_not_finite(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < 3; k++) {
        dense_run *t = dense_open(backend, 1, 1, 0);
        fe_device *d = t->device;
        const double bad[] = {NAN, INFINITY, 1e300};
        const int first[2] = {0, 1}, column = 0;
        double entry[36] = {1.0};
        float y[6] = {0}, x[6] = {1, 1, 1, 1, 1, 1};
        int16_t value[40];
        entry[10 + k] = bad[k];
        fe_round_block(36, entry, value);
        const fe_block_matrix M = {.n_row = 1,
                                   .rows = 6,
                                   .columns = 6,
                                   .first = upload(d, 2, sizeof *first, first),
                                   .column = upload(d, 1, sizeof column, &column),
                                   .value = upload(d, 40, sizeof *value, value)};
        float *from = upload(d, 6, sizeof *x, x), *to = upload(d, 6, sizeof *y, y);
        must(fe_block_ops_of(d)->product(d, &M, from, to));
        must(d->ops->memory.download(d, sizeof y, to, y));
        int finite = 1;
        for (int i = 0; i < 6; i++) finite = finite && isfinite(y[i]);
        assert_false(finite);
        void *memory[] = {(void *)M.first, (void *)M.column, (void *)M.value, from, to};
        for (int i = 0; i < 5; i++) d->ops->memory.release(d, memory[i]);
        dense_close(t);
    }
}

/* What M x must be, with the sum of the products' sizes. */
static void multiply(const blocks *b, const double *x, double *y, double *size)
{
    const int rows = b->M.rows, columns = b->M.columns;
    memset(y, 0, (size_t)(rows * b->M.n_row) * sizeof *y),
        memset(size, 0, (size_t)(rows * b->M.n_row) * sizeof *y);
    for (int i = 0; i < b->M.n_row; i++)
        for (int k = b->first[i]; k < b->first[i + 1]; k++)
            for (int c = 0; c < rows * columns; c++) {
                const double term = stored(b, k, c) * x[columns * b->column[k] + c % columns];
                y[rows * i + c / columns] += term, size[rows * i + c / columns] += fabs(term);
            }
}

/* Vectors of a check on the host, and of floats and doubles on the device; all hold the same numbers. */
typedef struct vector {
    size_t n;
    double *host, *wide;
    float *narrow;
} vector;
static vector open_vector(fe_device *d, int n)
{
    vector v = {.n = (size_t)n, .host = room((size_t)n, sizeof(double))};
    float *single = room((size_t)n, sizeof *single);
    for (int i = 0; i < n; i++) v.host[i] = single[i] = (float)uniform();
    v.narrow = upload(d, v.n + 1, sizeof *single, single);
    v.wide = upload(d, v.n + 1, sizeof *v.wide, v.host);
    free(single);
    return v;
}
static void close_vector(fe_device *d, vector *v)
{
    d->ops->memory.release(d, v->narrow), d->ops->memory.release(d, v->wide);
    free(v->host);
}

/* The device's vector, of floats or of doubles, is what it must be, to the rounding of sums of floats. */
static void assert_vector(fe_device *d, const vector *v, int wide, const double *right, const double *size)
{
    double *found = room(v->n, sizeof *found);
    float *single = room(v->n, sizeof *single);
    must(d->ops->memory.download(d, v->n * (wide ? sizeof *found : sizeof *single),
                                 wide ? (void *)v->wide : (void *)v->narrow,
                                 wide ? (void *)found : (void *)single));
    for (size_t i = 0; i < v->n; i++) {
        const double error = fabs((wide ? found[i] : (double)single[i]) - right[i]);
        if (!(error <= 2e-6 * (size[i] + 1.0)))
            fail_msg("entry %zu is off by %.2e of %.2e", i, error, size[i]);
    }
    free(found), free(single);
}

static void assert_same(fe_device *d, const vector *v, const vector *w)
{
    float *one = room(v->n, sizeof *one), *two = room(v->n, sizeof *two);
    must(d->ops->memory.download(d, v->n * sizeof *one, v->narrow, one));
    must(d->ops->memory.download(d, v->n * sizeof *two, w->narrow, two));
    assert_memory_equal(one, two, v->n * sizeof *one);
    free(one), free(two);
}

static void assert_clear(fe_device *d, const vector *v)
{
    float *found = room(v->n, sizeof *found), *zero = room(v->n, sizeof *zero);
    memset(zero, 0, v->n * sizeof *zero);
    must(d->ops->memory.download(d, v->n * sizeof *found, v->narrow, found));
    assert_memory_equal(found, zero, v->n * sizeof *zero);
    free(found), free(zero);
}

static const int row_counts[] = {1, 2, 63, 2500,
                                 16400}; /* the fewer they are, the more threads each has on a device */
enum { N_ROW_COUNT = sizeof row_counts / sizeof *row_counts };

/* y = M x, b - M x and y + M x of 6 × 6 blocks, and a sweep. */
static void test_coarse(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < N_ROW_COUNT; k++) {
        dense_run *t = dense_open(backend, 1, 1, 0);
        fe_device *d = t->device;
        const fe_block_ops *ops = fe_block_ops_of(d);
        const int n = row_counts[k];
        const fe_sweep sweep = {0.25f, 0.75f};
        blocks A = draw(d, n, n, 6, 6);
        vector x = open_vector(d, 6 * n), b = open_vector(d, 6 * n), y = open_vector(d, 6 * n),
               direction = open_vector(d, 6 * n), inverse = open_vector(d, 36 * n);
        double *Ax = room((size_t)(6 * n), sizeof *Ax), *size = room((size_t)(6 * n), sizeof *size),
               *right = room((size_t)(6 * n), sizeof *right), *bound = room((size_t)(6 * n), sizeof *bound);
        multiply(&A, x.host, Ax, size);
        for (int i = 0; i < 6 * n; i++) right[i] = y.host[i] + Ax[i];
        must(ops->add_product(d, &A.M, x.narrow, y.narrow));
        assert_vector(d, &y, 0, right, size);
        must(ops->product(d, &A.M, x.narrow, y.narrow));
        assert_vector(d, &y, 0, Ax, size);
        for (int i = 0; i < 6 * n; i++) right[i] = b.host[i] - Ax[i];
        must(ops->residual(d, &A.M, b.narrow, x.narrow, y.narrow));
        assert_vector(d, &y, 0, right, size);
        for (int i = 0; i < 6 * n; i++) {
            Ax[i] = x.host[i] + 0.25 * direction.host[i], bound[i] = 0.0;
            for (int j = 0; j < 6; j++) {
                Ax[i] += 0.75 * inverse.host[6 * i + j] * right[i / 6 * 6 + j];
                bound[i] += size[i / 6 * 6 + j];
            }
        }
        must(ops->sweep(d, &A.M, inverse.narrow, sweep, b.narrow, x.narrow, direction.narrow, y.narrow));
        assert_vector(d, &y, 0, Ax, bound);
        free(Ax), free(size), free(right), free(bound);
        close_vector(d, &x), close_vector(d, &b), close_vector(d, &y);
        close_vector(d, &direction), close_vector(d, &inverse);
        give_back(&A);
        dense_close(t);
    }
}

/* Between the finest level and the next: R (b - A x) and x + P y. */
static void test_transfer(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < N_ROW_COUNT; k++) {
        dense_run *t = dense_open(backend, 1, 1, 0);
        fe_device *d = t->device;
        const fe_block_ops *ops = fe_block_ops_of(d);
        const int n = row_counts[k], fine = 900;
        blocks R = draw(d, n, fine, 6, 3), P = draw(d, n, fine, 3, 6);
        vector b = open_vector(d, 3 * fine), Ax = open_vector(d, 3 * fine), left = open_vector(d, 3 * fine),
               coarse = open_vector(d, 6 * n), again = open_vector(d, 6 * n), from = open_vector(d, 6 * fine),
               x = open_vector(d, 3 * n), clear = open_vector(d, 3 * n);
        double *right = room((size_t)(6 * n), sizeof *right), *size = room((size_t)(6 * n), sizeof *size);
        must(ops->fine_residual(d, fine, b.narrow, Ax.narrow, left.narrow));
        must(ops->fine_restrict(d, &R.M, left.narrow, NULL, NULL, coarse.narrow));
        for (int i = 0; i < 3 * fine; i++) left.host[i] = (float)(b.host[i] - Ax.host[i]);
        multiply(&R, left.host, right, size);
        assert_vector(d, &coarse, 0, right, size);
        must(ops->fine_restrict(d, &R.M, b.narrow, Ax.narrow, NULL, again.narrow));
        assert_vector(d, &again, 0, right, size);
        must(ops->fine_prolong(d, &P.M, from.narrow, x.narrow, clear.narrow));
        multiply(&P, from.host, right, size);
        for (int i = 0; i < 3 * n; i++) right[i] += x.host[i];
        assert_vector(d, &x, 0, right, size);
        assert_clear(d, &clear);
        free(right), free(size);
        vector *all[] = {&b, &Ax, &left, &coarse, &again, &from, &x, &clear};
        for (int i = 0; i < 8; i++) close_vector(d, all[i]);
        give_back(&R), give_back(&P);
        dense_close(t);
    }
}

/* A restriction with the first sweep of the level that it leads to, from the finest level and from a coarser
 * one; the restriction itself gives the same bits as without it. */
static void test_first_sweep(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < 2 * N_ROW_COUNT; k++) {
        dense_run *t = dense_open(backend, 1, 1, 0);
        fe_device *d = t->device;
        const fe_block_ops *ops = fe_block_ops_of(d);
        const int n = row_counts[k % N_ROW_COUNT], block = k < N_ROW_COUNT ? 3 : 6, finer = 900;
        blocks R = draw(d, n, finer, 6, block);
        vector r = open_vector(d, block * finer), coarse = open_vector(d, 6 * n),
               plain = open_vector(d, 6 * n), D = open_vector(d, 36 * n), direction = open_vector(d, 6 * n),
               x = open_vector(d, 6 * n);
        const fe_first_sweep first = {D.narrow, {0.0f, 0.75f}, direction.narrow, x.narrow};
        const size_t count = (size_t)(6 * n);
        double *b = room(count, sizeof *b), *size = room(count, sizeof *size),
               *right = room(count, sizeof *right), *bound = room(count, sizeof *bound);
        for (int i = 0; i < 2; i++) {
            const fe_first_sweep *const given = i ? &first : NULL;
            float *const to = i ? coarse.narrow : plain.narrow;
            if (block == 3)
                must(ops->fine_restrict(d, &R.M, r.narrow, NULL, given, to));
            else
                must(ops->coarse_restrict(d, &R.M, r.narrow, given, to));
        }
        multiply(&R, r.host, b, size);
        assert_vector(d, &coarse, 0, b, size);
        assert_same(d, &coarse, &plain);
        for (size_t i = 0; i < count; i++) {
            right[i] = bound[i] = 0.0;
            for (size_t j = 0; j < 6; j++)
                right[i] += 0.75 * D.host[6 * i + j] * b[i / 6 * 6 + j], bound[i] += size[i / 6 * 6 + j];
        }
        assert_vector(d, &direction, 0, right, bound);
        assert_same(d, &x, &direction);
        free(b), free(size), free(right), free(bound);
        vector *all[] = {&r, &coarse, &plain, &D, &direction, &x};
        for (int i = 0; i < 6; i++) close_vector(d, all[i]);
        give_back(&R);
        dense_close(t);
    }
}

/* From the finest level to the next one and back, with sweeps there. apart: the host waits after each step.
 */
typedef struct round_trip {
    blocks R, A, P;
    vector r, b, D, direction, x, y, left;
} round_trip;
static void go_round(fe_device *d, const round_trip *t, int apart, vector *fine)
{
    const fe_block_ops *ops = fe_block_ops_of(d);
    const fe_first_sweep first = {t->D.narrow, {0.0f, 0.75f}, t->direction.narrow, t->x.narrow};
    const fe_sweep sweep = {0.25f, 0.75f};
    must(d->ops->memory.zero(d, fine->n * sizeof(float), fine->narrow));
    for (int step = 0; step < 6; step++) {
        if (step == 0) must(ops->fine_restrict(d, &t->R.M, t->r.narrow, NULL, &first, t->b.narrow));
        if (step == 1)
            must(ops->sweep(d, &t->A.M, t->D.narrow, sweep, t->b.narrow, t->x.narrow, t->direction.narrow,
                            t->y.narrow));
        if (step == 2) must(ops->residual(d, &t->A.M, t->b.narrow, t->y.narrow, t->left.narrow));
        if (step == 3) must(ops->add_product(d, &t->A.M, t->left.narrow, t->y.narrow));
        if (step == 4)
            must(ops->sweep(d, &t->A.M, t->D.narrow, sweep, t->b.narrow, t->y.narrow, t->direction.narrow,
                            t->x.narrow));
        if (step == 5) must(ops->fine_prolong(d, &t->P.M, t->x.narrow, fine->narrow, NULL));
        if (apart) must(d->ops->wait(d));
    }
}

/* Steps that a device may start early wait for what they read. */
static void test_round_trips(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < N_ROW_COUNT; k++) {
        dense_run *run = dense_open(backend, 1, 1, 0);
        fe_device *d = run->device;
        const int n = row_counts[k], finer = 900;
        round_trip t = {draw(d, n, finer, 6, 3),   draw(d, n, n, 6, 6),   draw(d, finer, n, 3, 6),
                        open_vector(d, 3 * finer), open_vector(d, 6 * n), open_vector(d, 36 * n),
                        open_vector(d, 6 * n),     open_vector(d, 6 * n), open_vector(d, 6 * n),
                        open_vector(d, 6 * n)};
        vector right = open_vector(d, 3 * finer), found = open_vector(d, 3 * finer);
        go_round(d, &t, 1, &right);
        for (int i = 0; i < 20; i++) {
            go_round(d, &t, 0, &found);
            assert_same(d, &found, &right);
        }
        vector *all[] = {&t.r, &t.b, &t.D, &t.direction, &t.x, &t.y, &t.left, &right, &found};
        for (int i = 0; i < 9; i++) close_vector(d, all[i]);
        give_back(&t.R), give_back(&t.A), give_back(&t.P);
        dense_close(run);
    }
}

/* Sweeps of the finest level: the first one; one more; and one that leaves x as doubles. */
static void test_fine_sweeps(void **state)
{
    const char *backend = dense_backend(state);
    for (int last = 0; last < 2; last++) {
        dense_run *t = dense_open(backend, 1, 1, 0);
        fe_device *d = t->device;
        const fe_block_ops *ops = fe_block_ops_of(d);
        enum { N = 1001 };
        static const int place[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}};
        const fe_sweep first = {0.0f, 0.5f}, sweep = {0.25f, 0.75f};
        vector exact = open_vector(d, 3 * N), b = open_vector(d, 3 * N), Ax = open_vector(d, 3 * N),
               direction = open_vector(d, 3 * N), x = open_vector(d, 3 * N), out = open_vector(d, 3 * N),
               D = open_vector(d, 6 * N);
        double *start = room(3 * N, sizeof *start), *right = room(3 * N, sizeof *right),
               *moved = room(3 * N, sizeof *moved), *size = room(3 * N, sizeof *size);
        for (int i = 0; i < 3 * N; i++) {
            const double *own = D.host + i / 3 * 6, *r = exact.host + i / 3 * 3,
                         *product = Ax.host + i / 3 * 3;
            start[i] = moved[i] = size[i] = 0.0;
            for (int c = 0; c < 3; c++) {
                const double entry = own[place[i % 3][c]];
                start[i] += 0.5 * entry * (double)(float)r[c];
                moved[i] += 0.75 * entry * (r[c] - product[c]);
                size[i] += fabs(entry) * (fabs(r[c]) + fabs(product[c]));
            }
            moved[i] += 0.25 * start[i];
            right[i] = start[i] + moved[i];
        }
        const fe_fine_start begin = {N, D.narrow, first, b.narrow, direction.narrow, x.narrow};
        must(ops->fine_start(d, &begin, exact.wide));
        assert_vector(d, &b, 0, exact.host, size);
        assert_vector(d, &direction, 0, start, size);
        assert_vector(d, &x, 0, start, size);
        must(ops->fine_sweep(d, N, D.narrow, sweep, b.narrow, Ax.narrow, direction.narrow, x.narrow,
                             Ax.narrow, last ? out.wide : NULL));
        assert_clear(d, &Ax);
        if (!last) assert_vector(d, &direction, 0, moved, size);
        assert_vector(d, last ? &out : &x, last, right, size);
        free(start), free(right), free(moved), free(size);
        vector *all[] = {&exact, &b, &Ax, &direction, &x, &out, &D};
        for (int i = 0; i < 7; i++) close_vector(d, all[i]);
        dense_close(t);
    }
}

/* r, u, w, p, s, x of conjugate gradients. */
enum { R, U, W, P, S, X, N_CG };

static void assert_scalar(double found, double right)
{
    if (!(fabs(found - right) <= 1e-12 * fabs(right))) fail_msg("%.17g instead of %.17g", found, right);
}

/* An iteration of conjugate gradients that also makes the finest level's first sweep: in one call, with its
 * scalars in two blocks or in one, or with sums and update apart; of one chunk, and of more than all blocks
 * of threads have in one turn. */
enum { TOGETHER, APART, IN_PLACE, N_CALL };
static void check_cg(fe_device *d, int n, int call)
{
    const fe_block_ops *ops = fe_block_ops_of(d);
    const size_t count = 3 * (size_t)n;
    vector v[N_CG], b = open_vector(d, 3 * n), direction = open_vector(d, 3 * n), x = open_vector(d, 3 * n),
                    D = open_vector(d, 6 * n), alone[3];
    double from[FE_CG_SIZE] = {[FE_CG_SQUARE] = 1.0, [FE_CG_LAST_ALPHA] = 0.7}, to[FE_CG_SIZE], *scalars,
           gamma = 0.0, delta = 0.0, square = 0.0;
    uint8_t *held = room(count, 1);
    for (int k = 0; k < N_CG; k++) v[k] = open_vector(d, 3 * n);
    for (int k = 0; k < 3; k++) alone[k] = open_vector(d, 3 * n);
    for (size_t i = 0; i < count; i++) {
        held[i] = i % 7 == 3;
        v[U].host[i] = held[i] ? 0.0 : 2.0 * v[R].host[i];
        v[W].host[i] = held[i] ? 9.0 : 3.0 * v[R].host[i];
        gamma += v[R].host[i] * v[U].host[i], delta += v[W].host[i] * v[U].host[i];
    }
    must(d->ops->memory.upload(d, count * sizeof(double), v[U].host, v[U].wide));
    must(d->ops->memory.upload(d, count * sizeof(double), v[W].host, v[W].wide));
    from[FE_CG_LAST_GAMMA] = 2.0 * gamma;
    scalars = upload(d, 2 * FE_CG_SIZE, sizeof *scalars, (double[2 * FE_CG_SIZE]){0});
    must(d->ops->memory.upload(d, sizeof from, from, scalars));
    const fe_fine_start start = {n, D.narrow, {0.0f, 0.5f}, b.narrow, direction.narrow, x.narrow},
                        again = {
                            n, D.narrow, {0.0f, 0.5f}, alone[0].narrow, alone[1].narrow, alone[2].narrow};
    const fe_cg_vectors cg = {
        count, v[U].wide, v[W].wide, v[P].wide, v[S].wide, v[X].wide, v[R].wide, 1, upload(d, count, 1, held),
        &start};
    double *const first = scalars, *const second = call == IN_PLACE ? first : scalars + FE_CG_SIZE;
    if (call == APART) {
        must(fe_krylov_steps_of(d)->cg_sums(d, &cg, first));
        must(fe_krylov_steps_of(d)->cg_update(d, &cg, first, second));
    } else {
        must(fe_krylov_steps_of(d)->cg_step(d, &cg, first, second));
    }
    must(d->ops->memory.download(d, sizeof from, first, from));
    must(d->ops->memory.download(d, sizeof to, second, to));
    const double beta = 0.5, alpha = gamma / (delta - beta * gamma / 0.7);
    double *right[N_CG], *size = room(count, sizeof *size);
    for (int k = 0; k < N_CG; k++) right[k] = room(count, sizeof *right[k]);
    for (size_t i = 0; i < count; i++) {
        right[S][i] = (held[i] ? 0.0 : v[W].host[i]) + beta * v[S].host[i];
        right[P][i] = v[U].host[i] + beta * v[P].host[i];
        right[X][i] = v[X].host[i] + alpha * right[P][i];
        right[R][i] = v[R].host[i] - alpha * right[S][i];
        square += right[R][i] * right[R][i];
    }
    for (int k = P; k <= X; k++) assert_vector(d, &v[k], 1, right[k], size);
    assert_vector(d, &v[R], 1, right[R], size);
    assert_vector(d, &v[W], 1, right[W], size); /* clear */
    assert_scalar(from[FE_CG_GAMMA], gamma), assert_scalar(from[FE_CG_DELTA], delta);
    assert_scalar(to[FE_CG_SQUARE], square), assert_scalar(to[FE_CG_LAST_ALPHA], alpha);
    must(ops->fine_start(d, &again, v[R].wide)); /* test_fine_sweeps checks it */
    assert_vector(d, &b, 0, right[R], size);
    assert_same(d, &b, &alone[0]), assert_same(d, &direction, &alone[1]), assert_same(d, &x, &alone[2]);
    for (int k = 0; k < N_CG; k++) close_vector(d, &v[k]), free(right[k]);
    for (int k = 0; k < 3; k++) close_vector(d, &alone[k]);
    close_vector(d, &b), close_vector(d, &direction), close_vector(d, &x), close_vector(d, &D);
    d->ops->memory.release(d, scalars), d->ops->memory.release(d, (void *)cg.held);
    free(held), free(size);
}

/* The beginning of conjugate gradients, with the same first sweep. */
static void check_cg_begin(fe_device *d, int n)
{
    const size_t count = 3 * (size_t)n;
    vector given = open_vector(d, 3 * n), v[N_CG], first[3], alone[3], D = open_vector(d, 6 * n);
    double scalars[FE_CG_SIZE], *there = upload(d, FE_CG_SIZE, sizeof *there, (double[FE_CG_SIZE]){7.0, 7.0}),
                                *zero = room(count, sizeof *zero), *size = room(count, sizeof *size),
                                square = 0.0;
    for (int k = 0; k < N_CG; k++) v[k] = open_vector(d, 3 * n);
    for (int k = 0; k < 3; k++) first[k] = open_vector(d, 3 * n), alone[k] = open_vector(d, 3 * n);
    for (size_t i = 0; i < count; i++) square += given.host[i] * given.host[i];
    const fe_fine_start
        start = {n, D.narrow, {0.0f, 0.5f}, first[0].narrow, first[1].narrow, first[2].narrow},
        again = {n, D.narrow, {0.0f, 0.5f}, alone[0].narrow, alone[1].narrow, alone[2].narrow};
    for (int starts = 0; starts < 2; starts++) {
        const fe_cg_vectors cg = {.n = count,
                                  .u = v[U].wide,
                                  .w = v[W].wide,
                                  .p = v[P].wide,
                                  .s = v[S].wide,
                                  .x = v[X].wide,
                                  .r = v[R].wide,
                                  .start = starts ? &start : NULL};
        must(fe_krylov_steps_of(d)->cg_begin(d, &cg, given.wide, 0.25, there));
        must(d->ops->memory.download(d, sizeof scalars, there, scalars));
        assert_vector(d, &v[R], 1, given.host, size);
        assert_vector(d, &v[W], 1, zero, size), assert_vector(d, &v[X], 1, zero, size);
        assert_scalar(scalars[FE_CG_SQUARE], square);
        for (int i = 0; i < FE_CG_SIZE; i++)
            if (i != FE_CG_SQUARE) assert_true(scalars[i] == (i == FE_CG_SHARE ? 0.25 : 0.0));
    }
    must(fe_block_ops_of(d)->fine_start(d, &again, given.wide));
    for (int k = 0; k < 3; k++) assert_same(d, &first[k], &alone[k]);
    for (int k = 0; k < N_CG; k++) close_vector(d, &v[k]);
    for (int k = 0; k < 3; k++) close_vector(d, &first[k]), close_vector(d, &alone[k]);
    close_vector(d, &given), close_vector(d, &D);
    d->ops->memory.release(d, there);
    free(zero), free(size);
}

static void test_conjugate_gradients(void **state)
{
    const char *backend = dense_backend(state);
    for (int call = 0; call < N_CALL; call++) {
        dense_run *t = dense_open(backend, 1, 1, 0);
        check_cg(t->device, 1, call), check_cg(t->device, 1001, call), check_cg(t->device, 150001, call);
        dense_close(t);
    }
    dense_run *t = dense_open(backend, 1, 1, 0);
    check_cg_begin(t->device, 1), check_cg_begin(t->device, 1001), check_cg_begin(t->device, 150001);
    dense_close(t);
}

int main(int argc, char **argv)
{
    static const subject subjects[] = {
        {"rounding", test_rounding},       {"not finite", test_not_finite},
        {"coarse", test_coarse},           {"transfer", test_transfer},
        {"first sweep", test_first_sweep}, {"round trips", test_round_trips},
        {"fine sweeps", test_fine_sweeps}, {"conjugate gradients", test_conjugate_gradients},
    };
    return dense_main("block matrix", NULL, sizeof subjects / sizeof *subjects, subjects, argc, argv);
}
