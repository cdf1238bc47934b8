/* The elastic matrix of a rank's nodes, assembled on the host from a copy of the view. */
#include "common/multigrid/elastic_rows.h"
#include "common/physics/stiffness.h"
#include "common/problem/loops.h"
#include "common/problem/rows.h"

#include <stdlib.h>
#include <string.h>

static fe_status copy(fe_device *d, size_t count, size_t size, const void *memory, void **host)
{
    FE_TRY(fe_allocate(count + 64 / size, size, "copy of the mesh", host)); /* lanes read beyond the end */
    return d->ops->memory.download(d, count * size, memory, *host);
}

static fe_status copy_view(const fe_problem *p, fe_view *v)
{
    fe_device *d = p->device;
    const fe_view *from = &p->view;
    const size_t n = (size_t)from->n_owned;
    *v = (fe_view){.n_owned = from->n_owned,
                   .n_local = from->n_local,
                   .n_elem = from->n_elem,
                   .ld = from->ld,
                   .material = from->material,
                   .elastic = 1};
    FE_TRY(copy(d, 3 * (size_t)v->n_local, sizeof *v->x, from->x, (void **)&v->x));
    FE_TRY(
        copy(d, (size_t)fe_corners(p->kind) * (size_t)v->ld, sizeof *v->conn, from->conn, (void **)&v->conn));
    FE_TRY(copy(d, n + 1, sizeof *v->corner_first, from->corner_first, (void **)&v->corner_first));
    FE_TRY(copy(d, (size_t)v->corner_first[n], sizeof *v->corner, from->corner, (void **)&v->corner));
    if (from->materials) {
        FE_TRY(copy(d, FE_MOST_MATERIALS, sizeof *v->materials, from->materials, (void **)&v->materials));
        FE_TRY(copy(d, (size_t)v->ld, 1, from->material_of, (void **)&v->material_of));
    }
    FE_ALLOCATE(v->trial.flags, v->ld, "copy of the mesh");
    v->committed = v->trial; /* no element has yielded */
    return FE_OK;
}

/* Columns of a row in any order, itself first; returns their number. `seen` [n_local] is clear. */
static int find_columns(const fe_view *m, int kind, int row, uint8_t *seen, int *column)
{
    int n = 0;
    column[n++] = row, seen[row] = 1;
    for (int at = m->corner_first[row]; at < m->corner_first[row + 1]; at++)
        for (int b = 0; b < fe_corners(kind); b++) {
            const int element = fe_code_element(kind, m->corner[at]),
                      node = m->conn[(size_t)b * (size_t)m->ld + (size_t)element];
            if (!seen[node]) column[n++] = node, seen[node] = 1;
        }
    for (int i = 0; i < n; i++) seen[column[i]] = 0;
    return n;
}

/* A thread's part of the rows: counts into first, or columns. seen [n_local], column as long as a row can be.
 */
static void find_rows(const fe_view *m, int kind, int part, int parts, int fill, uint8_t *seen, int *column,
                      fe_sparse *A)
{
    const int from = (int)((int64_t)A->n_row * part / parts),
              to = (int)((int64_t)A->n_row * (part + 1) / parts);
    for (int i = from; i < to; i++) {
        const int n = find_columns(m, kind, i, seen, column);
        if (!fill) {
            A->first[i + 1] = n;
            continue;
        }
        int *const row = A->column + A->first[i];
        memcpy(row, column, (size_t)n * sizeof *row);
        fe_sort_columns(row, n);
    }
}

static fe_status build_columns(const fe_view *m, int kind, int threads, fe_sparse *A)
{
    uint8_t *seen = NULL;
    int *column = NULL, most = 0;
    *A = (fe_sparse){.n_row = m->n_owned, .n_column = m->n_local, .rows = 3, .columns = 3};
    for (int i = 0; i < m->n_owned; i++) {
        const int valence = m->corner_first[i + 1] - m->corner_first[i];
        if (valence > most) most = valence;
    }
    const size_t longest = (size_t)fe_corners(kind) * (size_t)most + 1;
    FE_ALLOCATE(A->first, (size_t)A->n_row + 1, "multigrid matrix");
    FE_ALLOCATE(seen, (size_t)threads * (size_t)m->n_local + 1, "multigrid matrix");
    fe_status status =
        fe_allocate((size_t)threads * longest, sizeof *column, "multigrid matrix", (void **)&column);
    for (int fill = 0; fill < 2 && status == FE_OK; fill++) {
        if (fill) status = fe_sparse_open(A);
        const int parts = status == FE_OK ? threads : 0;
        FE_PARALLEL_FOR (t, 0, parts, 1, threads)
            find_rows(m, kind, t, parts, fill, seen + (size_t)t * (size_t)m->n_local,
                      column + (size_t)t * longest, A);
    }
    free(seen), free(column);
    return status;
}

/* Linear elements are turned so that the row's node is corner 0; quadratic ones are read as they are. */
FE_BODY fe_element load_at(int kind, const fe_view *m, const fe_corners_at *c, fe_index *corner,
                           fe_index node[], fe_real x[][3])
{
    const int turns = !fe_is_quadratic(kind);
    *corner = turns ? fe_no_turn() : c->corner;
    return fe_element_load(kind, m, c->e, turns ? c->corner : fe_no_turn(), node, x);
}

/* place [n_local]: where a row has a column, of the row that was marked last. */
FE_BODY void assemble_rows(int kind, const fe_view *m, int first, int last, int *place, fe_sparse *A)
{
    const int end = m->corner_first[last];
    int marked = -1;
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_index node[FE_MOST_CORNERS], corner;
        fe_real x[FE_MOST_CORNERS][3], K[FE_MOST_CORNERS][9];
        const fe_element e = load_at(kind, m, &c, &corner, node, x);
        for (int i = 0; i < 9 * fe_corners(kind); i++) K[i / 9][i % 9] = fe_splat(0.0);
        FE_UNROLL_LARGE_FOR (int k = 0; k < fe_planes(kind); k++)
            fe_add_stiffness(kind, m, e, corner, k, x, 0, fe_corners(kind), K);
        for (int l = 0; l < c.active; l++) {
            const int i = c.row.lane[l];
            for (int k = A->first[i]; i != marked && k < A->first[i + 1]; k++) place[A->column[k]] = k;
            marked = i;
            for (int b = 0; b < fe_corners(kind); b++) {
                double *block = A->value + 9 * (size_t)place[node[b].lane[l]];
                for (int j = 0; j < 9; j++) block[j] += K[b][j][l];
            }
        }
    }
}

/* A thread's part of the rows. */
FE_BODY void assemble_part(int kind, const fe_view *m, int part, int parts, int *place, fe_sparse *A)
{
    const int last = (int)((int64_t)A->n_row * (part + 1) / parts);
    for (int i = (int)((int64_t)A->n_row * part / parts); i < last; i += FE_ROW_BLOCK) {
        const int end = fe_row_block_end(i, last);
        memset(fe_sparse_block(A, A->first[i]), 0,
               9 * sizeof *A->value * (size_t)(A->first[end] - A->first[i]));
        assemble_rows(kind, m, i, end, place, A);
    }
}

static fe_status assemble(int kind, const fe_view *m, int threads, fe_sparse *A)
{
    int *place = NULL; /* [threads][n_local] */
    FE_ALLOCATE(place, (size_t)threads * (size_t)m->n_local + 1, "multigrid matrix");
#define ASSEMBLE(KIND)                                                                                       \
    FE_PARALLEL_FOR (t, 0, threads, 1, threads)                                                              \
    assemble_part(KIND, m, t, threads, place + (size_t)t * (size_t)m->n_local, A)
    FE_FOR_KIND(kind, ASSEMBLE);
#undef ASSEMBLE
    free(place);
    return FE_OK;
}

/* Rows and columns of supports become zero. */
static void constrain(const uint8_t *fixed, int threads, fe_sparse *A)
{
    FE_PARALLEL_FOR (i, 0, A->n_row, 1, threads)
        for (int k = A->first[i]; k < A->first[i + 1]; k++) {
            const int j = A->column[k];
            double *block = fe_sparse_block(A, k);
            for (int c = 0; c < 9; c++)
                if (fixed[3 * (size_t)i + (size_t)(c / 3)] ||
                    (j < A->n_row && fixed[3 * (size_t)j + (size_t)(c % 3)]))
                    block[c] = 0.0;
        }
}

static fe_status read_supports(const fe_problem *p, int n_fixed, const int *at, fe_elastic_rows *e)
{
    int *host = NULL;
    FE_ALLOCATE(e->fixed, 3 * (size_t)p->view.n_local, "supports");
    FE_ALLOCATE(host, n_fixed, "supports");
    const fe_status status =
        p->device->ops->memory.download(p->device, (size_t)n_fixed * sizeof *host, at, host);
    for (int i = 0; i < n_fixed && status == FE_OK; i++) e->fixed[host[i]] = 1;
    free(host);
    return status;
}

fe_status fe_elastic_rows_open(const fe_problem *p, int n_fixed, const int *at, int threads,
                               fe_elastic_rows *e)
{
    FE_TRY(copy_view(p, &e->view));
    FE_TRY(read_supports(p, n_fixed, at, e));
    FE_TRY(build_columns(&e->view, p->kind, threads, &e->A));
    FE_TRY(assemble(p->kind, &e->view, threads, &e->A));
    constrain(e->fixed, threads, &e->A);
    return FE_OK;
}

void fe_elastic_rows_close(fe_elastic_rows *e)
{
    const fe_view *v = &e->view;
    free((void *)v->x), free((void *)v->conn), free((void *)v->corner_first), free((void *)v->corner);
    free((void *)v->materials), free((void *)v->material_of), free(v->trial.flags);
    fe_sparse_close(&e->A);
    free(e->fixed);
    *e = (fe_elastic_rows){0};
}

FE_BODY void add_normals(int kind, const fe_view *m, int i, double normal[4])
{
    const int end = m->corner_first[i + 1];
    for (int at = m->corner_first[i], row = i; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_index node[FE_MOST_CORNERS], corner;
        fe_real x[FE_MOST_CORNERS][3], g[3] = {fe_splat(0.0), fe_splat(0.0), fe_splat(0.0)};
        const fe_element e = load_at(kind, m, &c, &corner, node, x);
        fe_add_volume_gradient(kind, e, corner, x, g);
        for (int l = 0; l < c.active; l++)
            for (int j = 0; j < 3; j++) normal[j] += g[j][l], normal[3] += fabs(g[j][l]);
    }
}

int fe_on_surface(const fe_view *host, int kind, int i)
{
    double normal[4] = {0};
#define ADD(KIND) add_normals(KIND, host, i, normal)
    FE_FOR_KIND(kind, ADD);
#undef ADD
    return fabs(normal[0]) + fabs(normal[1]) + fabs(normal[2]) > 1e-3 * normal[3];
}
