/* dof_csr on the device: one entry of the vector per thread, the three of a node side by side; or, on
 * irregular meshes, one entry of a corner's force, which are then summed by rows. Of quadratic elements
 * neighbouring threads take an entry together, four of a Tet10 and a warp of a Hex27. */
#include "common/problem/kernels.h"
#include "common/problem/visits.h"
#include "variants/dof_csr/assembly.h"

enum { BLOCK_SIZE = 128, MOST_HEX8 = 1024, MOST_TET4 = 512 };
FE_BOTH int most_visits(int kind) { return fe_corners(kind) == 8 ? MOST_HEX8 : MOST_TET4; }

FE_BODY void entry_force(int kind, int op, const fe_view *m, int row, int axis, const fe_number *displacement,
                         fe_number *y)
{
    fe_number sum = 0.0f;
    fe_real own[2][3];
    const int from = dof_csr_turns(kind, op) ? axis : 0;
    dof_csr_read3(fe_coordinates(m), row, from, own[0]);
    dof_csr_read3(displacement, row, from, own[1]);
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        sum += dof_csr_force(kind, op, m, corner >> 3, corner & 7, axis, displacement, own);
    }
    y[3 * (size_t)row + axis] = sum;
}

/* Force along `axis` on corner 0 of a turned element. */
FE_BODY fe_real corner_force(int kind, int op, const fe_view *m, int corner, int axis,
                             const fe_number *displacement)
{
    const int e = corner >> 3, turn = corner & 7, from = dof_csr_turns(kind, op) ? axis : 0;
    const int node = m->conn[(size_t)turn * m->ld + e];
    fe_real own[2][3];
    dof_csr_read3(fe_coordinates(m), node, from, own[0]);
    dof_csr_read3(displacement, node, from, own[1]);
    return dof_csr_force(kind, op, m, e, turn, axis, displacement, own);
}

/* Rows of a group; three neighbouring threads compute the entries of a corner. */
FE_BODY void group_forces(int kind, int op, const fe_view *m, const fe_visits *v, int group,
                          const fe_number *displacement, fe_number *force, fe_number *y)
{
    const int most = most_visits(kind), row = v->first[group], last = v->first[group + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int from = 0; from < n; from += most) {
        const int part = n - from < most ? n - from : most;
#pragma unroll 1
        for (int i = threadIdx.x; i < 3 * part; i += BLOCK_SIZE) {
            const int at = start + from + i / 3, place = fe_visit_place(v->place[at]) + i % 3;
            force[place] = (fe_number)corner_force(kind, op, m, v->corner[at], i % 3, displacement);
        }
        __syncthreads();
        fe_sum_visits(m, row, last, from, most, force, y);
        if (n > most) __syncthreads();
    }
}

FE_BODY void entry_diagonal(int kind, const fe_view *m, int row, int axis, fe_number *d)
{
    fe_real sum[3] = {0.0f, 0.0f, 0.0f}, own[3];
    fe_read3(fe_coordinates(m), row, own);
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        fe_real block_row[3];
        dof_csr_block_row(kind, m, corner >> 3, corner & 7, axis, own, block_row);
        for (int i = 0; i < 3; i++) sum[i] += block_row[i];
    }
    for (int i = 0; i < 3; i++) d[9 * (size_t)row + 3 * axis + i] = sum[i];
}

/* The same of quadratic elements: entries that the lanes of a warp take together, number `at` of those below
 * 3 × last. */
FE_BODY void spread_forces(int kind, int op, const fe_view *m, int at, int last,
                           const fe_number *displacement, fe_number *y)
{
    const fe_spread s = fe_spread_open(kind);
    const fe_spread_row r = fe_spread_row_open(m, at / 3, last);
    const int axis = at % 3;
    fe_real sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < r.longest; k++) {
        const int corner = fe_spread_row_corner(m, &r, k);
        const fe_real force = dof_csr_spread_force(kind, op, m, &s, fe_code_element(kind, corner),
                                                   fe_code_corner(kind, corner), axis, displacement);
        sum += k < r.n ? force : 0.0f;
    }
    sum = fe_spread_sum(kind, sum);
    if (r.active && s.own == 0) y[3 * (size_t)r.row + axis] = sum;
}

/* Rows of a group; all threads of a warp take part as often. */
FE_BODY void spread_group_forces(int kind, int op, const fe_view *m, const fe_visits *v, int group,
                                 const fe_number *displacement, fe_number *force, fe_number *y)
{
    const fe_spread s = fe_spread_open(kind);
    const int most = most_visits(kind), row = v->first[group], last = v->first[group + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int from = 0; from < n; from += most) {
        const int part = 3 * (n - from < most ? n - from : most);
#pragma unroll 1
        for (int i = threadIdx.x / fe_spread_lanes(kind), round = 0; round < part;
             round += BLOCK_SIZE / fe_spread_lanes(kind)) {
            const int entry = min(i + round, part - 1), at = start + from + entry / 3, corner = v->corner[at];
            const fe_real own = fe_spread_sum(
                kind, dof_csr_spread_force(kind, op, m, &s, fe_code_element(kind, corner),
                                           fe_code_corner(kind, corner), entry % 3, displacement));
            if (i + round < part && s.own == 0)
                force[fe_visit_place(v->place[at]) + entry % 3] = (fe_number)own;
        }
        __syncthreads();
        fe_sum_visits(m, row, last, from, most, force, y);
        if (n > most) __syncthreads();
    }
}

FE_BODY void spread_diagonal(int kind, const fe_view *m, int at, fe_number *d)
{
    const fe_spread s = fe_spread_open(kind);
    const fe_spread_row r = fe_spread_row_open(m, at / 3, m->n_owned);
    const int axis = at % 3;
    fe_real sum[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int k = 0; k < r.longest; k++) {
        const int corner = fe_spread_row_corner(m, &r, k);
        fe_real block[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, block_row[3];
        fe_spread_add_block(kind, m, &s, fe_code_element(kind, corner), fe_code_corner(kind, corner), block);
        dof_csr_row(axis, block, block_row);
        for (int c = 0; c < 3; c++) sum[c] += k < r.n ? block_row[c] : 0.0f;
    }
    for (int c = 0; c < 3; c++) {
        const fe_real all = fe_spread_sum(kind, sum[c]);
        if (r.active && s.own == c) d[9 * (size_t)r.row + 3 * axis + c] = all;
    }
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr_##operation##_##name(                              \
        fe_view m, int first, int n, const fe_number *displacement, fe_number *y)                            \
    {                                                                                                        \
        const unsigned i = fe_spread_item(KIND, BLOCK_SIZE);                                                 \
        if (fe_is_quadratic(KIND))                                                                           \
            spread_forces(KIND, OP, &m, 3 * first + i, first + n, displacement, y);                          \
        else if (i < 3 * (unsigned)n)                                                                        \
            entry_force(KIND, OP, &m, first + i / 3, i % 3, displacement, y);                                \
    }
/* A group's corners by element; a Hex27 has a warp for each entry, which waits for no other one. */
#define BY_ELEMENT(KIND, name, OP, operation)                                                                \
    __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr_by_element_##operation##_##name(                   \
        fe_view m, fe_visits v, int first, const fe_number *displacement, fe_number *y)                      \
    {                                                                                                        \
        __shared__ fe_number force[FE_VISIT_PLACES(FE_CORNERS(KIND) == 8 ? MOST_HEX8 : MOST_TET4)];          \
        if (KIND == FE_TET10)                                                                                \
            spread_group_forces(KIND, OP, &m, &v, first + blockIdx.x, displacement, force, y);               \
        else if (KIND != FE_HEX27)                                                                           \
            group_forces(KIND, OP, &m, &v, first + blockIdx.x, displacement, force, y);                      \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    FE_EACH_OPERATION(BY_ELEMENT, KIND, name)                                                                \
    __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr_diagonal_##name(fe_view m, fe_number *d)           \
    {                                                                                                        \
        const unsigned i = fe_spread_item(KIND, BLOCK_SIZE);                                                 \
        if (fe_is_quadratic(KIND))                                                                           \
            spread_diagonal(KIND, &m, i, d);                                                                 \
        else if (i < 3 * (unsigned)m.n_owned)                                                                \
            entry_diagonal(KIND, &m, i / 3, i % 3, d);                                                       \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef BY_ELEMENT
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const fe_visits *v = (const fe_visits *)work;
    int first, last;
    if (v) {
        fe_part_groups(v, part, &first, &last);
        FE_LAUNCH_OPERATION(p, op, (size_t)BLOCK_SIZE * (last - first), BLOCK_SIZE, dof_csr_by_element,
                            p->view, *v, first, displacement, y);
        return FE_OK;
    }
    fe_part_nodes(&p->view, part, &first, &last);
    const size_t entries = 3 * (size_t)(last - first) * fe_spread_lanes(p->kind);
    FE_LAUNCH_OPERATION(p, op, entries, BLOCK_SIZE, dof_csr, p->view, first, last - first, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    const size_t entries = 3 * (size_t)p->view.n_owned * fe_spread_lanes(p->kind);
    FE_LAUNCH_KIND(p, entries, BLOCK_SIZE, dof_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

/* *work: fe_visits, or NULL where a thread takes a row's entry. */
static fe_status setup(fe_problem *p, void **work)
{
    return p->kind == FE_HEX27 ? FE_OK : fe_visits_open(p, most_visits(p->kind), (fe_visits **)work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    (void)p;
    *work = in_double;
    return FE_OK;
}

FE_TABLE(dof_csr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_STORES | FE_INDEPENDENT)
