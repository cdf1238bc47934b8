/* GMRES(m) with Givens rotations on the device, and CG. One scalar per iteration is copied to the host. */
#include "common/krylov/krylov.h"
#include "common/krylov/conjugate.h"
#include "common/krylov/hessenberg.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

const char *const fe_orthogonalization_names[FE_N_ORTHOGONALIZATION] = {"mgs", "cgs2", "dcgs2"};
const char *const fe_basis_names[FE_N_BASIS] = {"double", "single"};

fe_status fe_krylov_open(fe_device *device, fe_comm *comm, size_t n, size_t n_all, int restart,
                         int orthogonalization, int basis, fe_krylov *k)
{
    const size_t columns = restart ? (size_t)restart + 1 : 4;
    const int single = restart && basis == FE_BASIS_SINGLE;
    *k = (fe_krylov){.device = device,
                     .comm = comm,
                     .n = n,
                     .stride = (n_all + 7) / 8 * 8,
                     .restart = restart,
                     .orthogonalization = orthogonalization};
    k->basis = (fe_columns){.ld = k->stride, .single = single};
    FE_TRY(fe_device_allocate(device, columns * k->stride, single ? sizeof(float) : sizeof(double),
                              "Krylov basis", &k->basis.memory));
    if (single)
        FE_TRY(fe_device_allocate(device, 2 * k->stride, sizeof(double), "Krylov vector", (void **)&k->pair));
    FE_TRY(fe_device_allocate(device, k->stride, sizeof(double), "Krylov vector", (void **)&k->z));
    const int delayed = restart && orthogonalization == FE_ORTHOGONALIZATION_DCGS2;
    const size_t small = delayed   ? fe_delayed_size(restart)
                         : restart ? fe_hessenberg_size(restart)
                                   : 2 * FE_CG_SIZE;
    FE_TRY(fe_device_allocate(device, small, sizeof(double), "Hessenberg matrix", (void **)&k->small));
    return fe_device_allocate(device, delayed ? 2 * columns : columns, sizeof(double), "Hessenberg column",
                              (void **)&k->h);
}

/* Column j of the basis; and the vector in double precision that becomes it: of doubles the column itself. */
static fe_columns column(const fe_krylov *k, int j) { return fe_columns_from(k->basis, (size_t)j); }
static double *vector(const fe_krylov *k, int j)
{
    return k->pair ? k->pair + (size_t)(j % 2) * k->stride : column(k, j).memory;
}

/* x [n] summed over the ranks. */
static fe_status sum(fe_krylov *k, int n, double *x)
{
    FE_TRY(fe_comm_phase(k->comm, k->device, FE_PHASE_REDUCTION));
    FE_TRY(fe_comm_sum(k->comm, k->device, n, x));
    return k->device->ops->phase(k->device, FE_PHASE_ORTHOGONALIZATION);
}

/* out[j] = V_j · w over all ranks, of the columns from `first` on */
static fe_status dots(fe_krylov *k, int first, int columns, const double *w, double *out)
{
    FE_TRY(fe_krylov_steps_of(k->device)->dots(k->device, k->n, columns, column(k, first), w, out));
    return sum(k, columns, out);
}

static fe_status combine(fe_krylov *k, int first, int columns, double sign, const double *h, double *y)
{
    return fe_krylov_steps_of(k->device)->combine(k->device, k->n, columns, sign, column(k, first), h, y);
}

static fe_status dot(fe_krylov *k, const double *x, const double *y, double *out)
{
    FE_TRY(k->device->ops->vector.dot(k->device, k->n, x, y, out));
    return sum(k, 1, out);
}

static fe_status norm(fe_krylov *k, const double *x, double *out)
{
    FE_TRY(dot(k, x, x, out));
    return k->device->ops->vector.square_root(k->device, out);
}

static fe_status read_scalars(fe_krylov *k, int n, const double *x, double *host)
{
    return k->device->ops->memory.download(k->device, (size_t)n * sizeof *x, x, host);
}

static fe_status precondition_into(fe_krylov *k, const fe_operator *precondition, double *x, double *y)
{
    if (!precondition) return k->device->ops->vector.copy(k->device, k->n, x, y);
    FE_TRY(k->device->ops->phase(k->device, FE_PHASE_PRECONDITION));
    FE_TRY(precondition->apply(precondition->context, x, y));
    return k->device->ops->phase(k->device, FE_PHASE_ORTHOGONALIZATION);
}

static fe_status apply_into(fe_krylov *k, const fe_operator *A, double *x, double *y)
{
    FE_TRY(A->apply(A->context, x, y));
    return k->device->ops->phase(k->device, FE_PHASE_ORTHOGONALIZATION);
}

/* Makes w orthogonal to the first `columns` of the basis; h receives the projections and |w|. */
static fe_status orthogonalize(fe_krylov *k, int columns, double *w, double *h)
{
    fe_device *d = k->device;
    if (k->orthogonalization == FE_ORTHOGONALIZATION_MGS) {
        for (int i = 0; i < columns; i++) {
            FE_TRY(dots(k, i, 1, w, h + i));
            FE_TRY(combine(k, i, 1, -1.0, h + i, w));
        }
    } else {
        FE_TRY(dots(k, 0, columns, w, h));
        FE_TRY(combine(k, 0, columns, -1.0, h, w));
        FE_TRY(dots(k, 0, columns, w, k->h));
        FE_TRY(combine(k, 0, columns, -1.0, k->h, w));
        FE_TRY(d->ops->vector.axpy(d, (size_t)columns, 1.0, k->h, h));
    }
    return norm(k, w, h + columns);
}

/* Column j of the Hessenberg matrix and j + 1 of the basis, from w = A v_j. */
static fe_status extend(fe_krylov *k, int j)
{
    fe_device *d = k->device;
    double *w = vector(k, j + 1), *h = fe_hessenberg_h(k->small, k->restart, j);
    FE_TRY(orthogonalize(k, j + 1, w, h));
    FE_TRY(fe_krylov_steps_of(d)->store(d, k->n, w, h + j + 1, column(k, j + 1), w));
    return fe_krylov_steps_of(d)->hessenberg_column(d, j, k->restart, k->small);
}

/* The same from u and w = A u: they become v_j and the next u. */
static fe_status extend_delayed(fe_krylov *k, int j)
{
    fe_device *d = k->device;
    double *u = vector(k, j), *w = vector(k, j + 1);
    FE_TRY(fe_krylov_steps_of(d)->dots_pair(d, k->n, j, k->basis, u, w, k->h));
    FE_TRY(sum(k, 2 * (j + 2), k->h));
    return fe_krylov_steps_of(d)->delayed_column(d, k->n, j, k->restart, k->small, k->basis, u, w, k->h);
}

/* Ends the last of j columns: the projections and the norm of its u are known now. */
static fe_status finish_delayed(fe_krylov *k, int j)
{
    fe_device *d = k->device;
    const double *u = vector(k, j);
    FE_TRY(fe_krylov_steps_of(d)->dots(d, k->n, j, k->basis, u, k->h));
    FE_TRY(d->ops->vector.dot(d, k->n, u, u, k->h + j));
    FE_TRY(sum(k, j + 1, k->h));
    return fe_krylov_steps_of(d)->delayed_finish(d, j, k->restart, k->small, k->h);
}

/* result->loss, of the first `columns`: their matrix of products minus the identity, a row at a time. Columns
 * of zeros, where the basis is complete, do not count. It uses z and h, and waits for each row. */
static fe_status measure_loss(fe_krylov *k, int columns, fe_krylov_result *result)
{
    fe_device *d = k->device;
    double *row = NULL, squares = 0.0;
    FE_ALLOCATE(row, columns, "loss of orthogonality");
    fe_status status = FE_OK;
    for (int i = 0; i < columns && status == FE_OK; i++) {
        status = fe_krylov_steps_of(d)->load(d, k->n, column(k, i), k->z);
        if (status == FE_OK) status = dots(k, 0, i + 1, k->z, k->h);
        if (status == FE_OK) status = read_scalars(k, i + 1, k->h, row);
        for (int j = 0; j < i; j++) squares += 2.0 * row[j] * row[j];
        if (row[i] != 0.0) squares += (row[i] - 1.0) * (row[i] - 1.0);
    }
    free(row);
    if (!(sqrt(squares) <= result->loss)) result->loss = sqrt(squares);
    return status;
}

/* --- recordings -------------------------------------------------------------------------------------- */

/* Work that is repeated with the same vectors: iteration j of GMRES, or an iteration of CG with a block of
 * scalars. */
typedef struct piece {
    fe_krylov *k;
    const fe_operator *A, *precondition;
    double *x; /* CG */
    int j;
    const fe_krylov_result *so_far; /* NULL: nothing is known yet */
} piece;

typedef struct fe_recordings {
    int n; /* pieces of a version */
    struct {
        int times; /* number of times it was enqueued */
        void *recording;
        fe_traffic traffic; /* of a replay */
    } piece[];
} fe_recordings;

fe_status fe_krylov_record(fe_krylov *k, int on)
{
    const int n = k->restart ? k->restart : 2;
    fe_krylov_close(k);
    if (!on || !k->device->ops->recording.begin) return FE_OK;
    FE_TRY(fe_allocate(1,
                       sizeof *k->recordings + FE_MOST_VERSIONS * (size_t)n * sizeof k->recordings->piece[0],
                       "recordings", (void **)&k->recordings));
    k->recordings->n = n;
    return FE_OK;
}

void fe_krylov_close(fe_krylov *k)
{
    for (int i = 0; k->recordings && i < FE_MOST_VERSIONS * k->recordings->n; i++)
        k->device->ops->recording.forget(k->device, k->recordings->piece[i].recording);
    free(k->recordings);
    k->recordings = NULL;
}

static fe_traffic traffic_between(fe_traffic a, fe_traffic b)
{
    return (fe_traffic){b.bytes - a.bytes, b.exchanges - a.exchanges, b.sums - a.sums};
}
static void add_traffic(fe_traffic a, fe_traffic *sum)
{
    sum->bytes += a.bytes, sum->exchanges += a.exchanges, sum->sums += a.sums;
}

/* *traffic: what each replay sends. */
static fe_status record(fe_device *d, const piece *p, fe_status (*body)(const piece *), void **recording,
                        fe_traffic *traffic)
{
    char message[512];
    const fe_traffic before = p->k->comm->traffic;
    FE_TRY(d->ops->recording.begin(d));
    const fe_status status = body(p);
    *traffic = traffic_between(before, p->k->comm->traffic);
    p->k->comm->traffic = before;
    snprintf(message, sizeof message, "%s", fe_message()); /* the first cause */
    const fe_status ended = d->ops->recording.end(d, recording);
    return status != FE_OK ? fe_fail(status, "%s", message) : ended;
}

/* Enqueues piece `index`. The first time it is not recorded, because libraries set themselves up then. */
static fe_status enqueue(const piece *p, int index, fe_status (*body)(const piece *))
{
    fe_recordings *r = p->k->recordings;
    fe_device *d = p->k->device;
    if (p->A->poll && p->so_far) FE_TRY(p->A->poll(p->A->context, p->so_far));
    if (!r || !p->A->version) return body(p);
    const int i = (p->A->version - 1) * r->n + index;
    if (r->piece[i].times++ == 0) return body(p);
    if (!r->piece[i].recording) FE_TRY(record(d, p, body, &r->piece[i].recording, &r->piece[i].traffic));
    add_traffic(r->piece[i].traffic, &p->k->comm->traffic);
    FE_TRY(d->ops->phase(d, FE_PHASE_OTHER)); /* and the reads behind it: an event takes its time */
    return d->ops->recording.replay(d, r->piece[i].recording);
}

/* --- GMRES ------------------------------------------------------------------------------------------- */

static fe_status gmres_iteration(const piece *p)
{
    fe_krylov *k = p->k;
    double *v = vector(k, p->j), *z = p->precondition ? k->z : v;
    if (p->precondition) FE_TRY(precondition_into(k, p->precondition, v, z));
    FE_TRY(apply_into(k, p->A, z, vector(k, p->j + 1)));
    return k->orthogonalization == FE_ORTHOGONALIZATION_DCGS2 ? extend_delayed(k, p->j) : extend(k, p->j);
}

/* The residual norm after iteration j. With recordings it is that after j - 1: while the host waits for it,
 * the device already computes j. So one extra iteration is made at the end. */
static fe_status read_residual(fe_krylov *k, int j, const double *norm, fe_krylov_result *result)
{
    const fe_backend *ops = k->device->ops;
    if (k->recordings) {
        FE_TRY(ops->side.read_begin(k->device, j % 2, norm));
        if (j) FE_TRY(ops->side.read_end(k->device, (j - 1) % 2, &result->last));
    } else {
        FE_TRY(read_scalars(k, 1, norm, &result->last));
    }
    return FE_OK;
}

/* A cycle with a basis of floats cannot reduce its first residual further than this: what would come is
 * noise. */
static const double single_reach = 4.0 * FLT_EPSILON;

/* One cycle from the residual, in the vector of column 0 (unscaled, norm in g[0]); x += correction. */
static fe_status gmres_cycle(fe_krylov *k, const fe_operator *A, const fe_operator *precondition, double *x,
                             double target, int max_iterations, fe_krylov_result *result)
{
    fe_device *d = k->device;
    const int m = k->restart, delayed = k->orthogonalization == FE_ORTHOGONALIZATION_DCGS2;
    const double *g = fe_hessenberg_g(k->small, m), *norms = fe_hessenberg_norms(k->small, m);
    int j = 0;
    if (k->basis.single && target > 0.0) target = fmax(target, single_reach * result->last);
    FE_TRY(fe_krylov_steps_of(d)->store(d, k->n, vector(k, 0), g, k->basis, vector(k, 0)));
    while (j < m && result->iterations < max_iterations && result->last > target) {
        FE_TRY(enqueue(&(piece){k, A, precondition, NULL, j, result}, j, gmres_iteration));
        FE_TRY(read_residual(k, j, norms + j, result));
        result->iterations++, j++;
    }
    if (k->recordings) FE_TRY(d->ops->side.read_end(d, (j - 1) % 2, &result->last));
    FE_TRY(d->ops->phase(d, FE_PHASE_ORTHOGONALIZATION));
    result->not_finite = !isfinite(result->last);
    if (result->not_finite) return FE_OK;
    if (delayed) FE_TRY(finish_delayed(k, j));
    if (k->measures) FE_TRY(measure_loss(k, j, result));
    FE_TRY(fe_krylov_steps_of(d)->hessenberg_solve(d, j, m, k->small, k->h));
    double *correction = vector(k, j); /* the last column is no longer needed */
    FE_TRY(d->ops->memory.zero(d, k->n * sizeof(double), correction));
    FE_TRY(combine(k, 0, j, 1.0, k->h, correction));
    FE_TRY(precondition_into(k, precondition, correction, k->z));
    return d->ops->vector.axpy(d, k->n, 1.0, k->z, x);
}

const char *fe_krylov_reason(const fe_krylov_result *result)
{
    return result->converged    ? "converged"
           : result->not_finite ? "a number is not finite"
           : result->breakdown  ? "a direction has no positive curvature"
           : result->stagnated  ? "stagnated"
                                : "iteration limit";
}

/* Progress of a solve: the smallest residual so far, and the iteration that reached it. */
typedef struct progress {
    double least;
    int at;
    double before; /* the residual before the last iteration (CG) */
} progress;

/* GMRES's residual never grows within a cycle. If it does not fall by a thousandth in five cycles (and in a
 * hundred iterations), it is as small as rounding or the operator allow. */
static int gmres_stagnates(const fe_krylov *k, progress *p, const fe_krylov_result *result)
{
    if (result->iterations == 0 || result->last < 0.999 * p->least)
        *p = (progress){.least = result->last, .at = result->iterations};
    const int since = result->iterations - p->at;
    return since >= 5 * k->restart && since >= 100;
}

fe_status fe_gmres(fe_krylov *k, const fe_operator *A, const fe_operator *precondition, double *b, double *x,
                   double tolerance, int max_iterations, fe_krylov_result *result)
{
    fe_device *d = k->device;
    double *g = fe_hessenberg_g(k->small, k->restart);
    double *residual = vector(k, 0);
    progress so_far = {0};
    *result = (fe_krylov_result){.loss = NAN};
    FE_TRY(d->ops->memory.zero(d, k->n * sizeof(double), x));
    FE_TRY(d->ops->vector.copy(d, k->n, b, residual));
    while (1) {
        FE_TRY(norm(k, residual, g));
        FE_TRY(read_scalars(k, 1, g, &result->last));
        if (result->iterations == 0) result->first = result->last;
        result->converged = result->last <= tolerance * result->first;
        result->not_finite = !isfinite(result->last);
        if (result->converged || result->not_finite || result->iterations >= max_iterations) return FE_OK;
        result->stagnated = gmres_stagnates(k, &so_far, result);
        if (result->stagnated) return FE_OK;
        FE_TRY(gmres_cycle(k, A, precondition, x, tolerance * result->first, max_iterations, result));
        if (result->not_finite) return FE_OK;
        /* residual anew: b - A x */
        FE_TRY(d->ops->vector.copy(d, k->n, x, k->z));
        FE_TRY(apply_into(k, A, k->z, residual));
        FE_TRY(d->ops->vector.scale(d, k->n, -1.0, residual));
        FE_TRY(d->ops->vector.axpy(d, k->n, 1.0, b, residual));
    }
}

/* --- conjugate gradients ----------------------------------------------------------------------------- */

/* CG's vectors; the caller adds x. */
static fe_cg_vectors cg_of(const fe_krylov *k)
{
    double *r = k->basis.memory;
    return (fe_cg_vectors){
        .n = k->n, .u = k->z, .r = r, .p = r + k->stride, .s = r + 2 * k->stride, .w = r + 3 * k->stride};
}

/* The block of scalars of iteration j (conjugate.h), which is also what it is recorded by. An iteration in
 * one step has the same block as the next. */
static int cg_block(const fe_krylov *k, int j) { return k->comm->size > 1 ? j % 2 : 0; }
static double *cg_scalars(const fe_krylov *k, int j) { return k->small + cg_block(k, j) * FE_CG_SIZE; }

/* Number j is the square of the residual after j iterations. Where a kernel leaves it in a landing, it is
 * expected before that kernel is enqueued; otherwise it is copied behind it, or by the one who reads it. */
static double *cg_landing(const fe_krylov *k)
{
    fe_device *d = k->device;
    return d->ops->side.landing && k->comm->size == 1 ? d->ops->side.landing(d) : NULL;
}
static void expect_square(fe_krylov *k, int j)
{
    if (cg_landing(k)) k->device->ops->side.expect(k->device, j % 2);
}
static fe_status send_square(fe_krylov *k, int j)
{
    fe_device *d = k->device;
    if (cg_landing(k) || !d->ops->side.read_begin) return FE_OK;
    return d->ops->side.read_begin(d, j % 2, cg_scalars(k, j) + FE_CG_SQUARE);
}
static fe_status read_square(fe_krylov *k, int j, double *square)
{
    fe_device *d = k->device;
    return d->ops->side.read_begin ? d->ops->side.read_end(d, j % 2, square)
                                   : read_scalars(k, 1, cg_scalars(k, j) + FE_CG_SQUARE, square);
}

/* The update clears w if the product adds to it, and makes the first step of the next preconditioner. Ranks
 * add up gamma and delta, and r·r. */
static fe_status cg_iteration(const piece *at)
{
    fe_krylov *k = at->k;
    fe_device *d = k->device;
    const fe_operator A = {.apply = at->A->add ? at->A->add : at->A->apply, .context = at->A->context};
    fe_operator M = at->precondition ? *at->precondition : (fe_operator){0};
    fe_cg_vectors v = cg_of(k);
    v.x = at->x, v.clear = at->A->add != NULL, v.held = v.clear ? at->A->held : NULL, v.start = M.start;
    v.landing = cg_landing(k);
    if (M.start) M.apply = M.rest;
    double *from = cg_scalars(k, at->j), *to = cg_scalars(k, at->j + 1);
    FE_TRY(precondition_into(k, at->precondition ? &M : NULL, v.r, k->z));
    FE_TRY(apply_into(k, &A, k->z, v.w));
    if (k->comm->size == 1) return fe_krylov_steps_of(d)->cg_step(d, &v, from, to);
    FE_TRY(fe_krylov_steps_of(d)->cg_sums(d, &v, from));
    FE_TRY(sum(k, 2, from + FE_CG_GAMMA));
    FE_TRY(fe_krylov_steps_of(d)->cg_update(d, &v, from, to));
    return sum(k, 1, to + FE_CG_SQUARE);
}

/* CG's residual may grow for many iterations before it falls. If the smallest residual was reached in n
 * iterations, CG stagnates when n + 5000 more have not improved it. */
static void cg_note(double square, double target, progress *p, fe_krylov_result *result)
{
    result->iterations++;
    result->breakdown = square < 0.0;
    result->not_finite = !isfinite(square);
    if (result->breakdown || result->not_finite) return;
    p->before = result->last, result->last = sqrt(square);
    result->converged = square <= target;
    if (result->last < p->least) p->least = result->last, p->at = result->iterations;
    result->stagnated = !result->converged && result->iterations >= 2 * p->at + 5000;
}

static int cg_ended(const fe_krylov_result *r)
{
    return r->converged || r->breakdown || r->stagnated || r->not_finite;
}

/* Whether the residual after the next iteration is above the target for sure, or nearly so, if it goes on to
 * fall as it did in the last one. */
static int cg_is_far(double target, const progress *p, const fe_krylov_result *result)
{
    const double rate = result->iterations ? result->last / p->before : 0.1;
    return result->last * fmin(rate, 1.0) > 3.0 * sqrt(target);
}

static fe_status cg_begin(fe_krylov *k, const fe_operator *precondition, double *b, double *x,
                          double tolerance)
{
    fe_cg_vectors v = cg_of(k);
    double *const scalars = cg_scalars(k, 0);
    v.x = x, v.start = precondition ? precondition->start : NULL, v.landing = cg_landing(k);
    expect_square(k, 0);
    FE_TRY(fe_krylov_steps_of(k->device)->cg_begin(k->device, &v, b, tolerance * tolerance, scalars));
    if (k->comm->size > 1) FE_TRY(sum(k, 1, scalars + FE_CG_SQUARE));
    return send_square(k, 0);
}

/* The next iteration. */
static fe_status cg_enqueue(piece *next)
{
    expect_square(next->k, next->j + 1);
    FE_TRY(enqueue(next, cg_block(next->k, next->j), cg_iteration));
    next->j++;
    return send_square(next->k, next->j);
}

/* What is known before any iteration. */
static void cg_note_first(double square, fe_krylov_result *result)
{
    result->first = result->last = sqrt(square);
    result->converged = square == 0.0;
    result->not_finite = !isfinite(result->first);
}

static fe_status cg_iterate(piece *next, double tolerance, int max_iterations, fe_krylov_result *result)
{
    fe_krylov *k = next->k;
    const int ahead = k->device->ops->side.read_begin != NULL;
    double square;
    if (ahead && max_iterations > 0) FE_TRY(cg_enqueue(next));
    FE_TRY(read_square(k, 0, &square));
    cg_note_first(square, result);
    next->so_far = result;
    if (next->j > 0 && next->A->poll && !cg_ended(result)) FE_TRY(next->A->poll(next->A->context, result));
    const double target = tolerance * tolerance * square;
    progress so_far = {.least = result->first};
    while (result->iterations < max_iterations && !cg_ended(result)) {
        const int known = result->iterations,
                  most = known + 1 + (ahead && cg_is_far(target, &so_far, result));
        while (next->j < most && next->j < max_iterations) FE_TRY(cg_enqueue(next));
        FE_TRY(read_square(k, known + 1, &square));
        cg_note(square, target, &so_far, result);
    }
    /* the square of an iteration too many lands before another solve expects its own */
    return cg_landing(k) && next->j > result->iterations ? read_square(k, next->j, &square) : FE_OK;
}

/* Where the backend can, the host enqueues an iteration before it has read the residual of the one ahead, if
 * that is far from the target: an iteration too many would change no vector (unless CG stagnates), but take
 * its time. */
fe_status fe_cg(fe_krylov *k, const fe_operator *A, const fe_operator *precondition, double *b, double *x,
                double tolerance, int max_iterations, fe_krylov_result *result)
{
    piece next = {k, A, precondition, x, 0, NULL};
    *result = (fe_krylov_result){.loss = NAN};
    FE_TRY(cg_begin(k, precondition, b, x, tolerance));
    return cg_iterate(&next, tolerance, max_iterations, result);
}
