/* Meshes that benchmarks run on; see timed_mesh.h. */
#include "bench/timed_mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLENDER = 16 };

int bench_cube_cells(int kind, int n_dof)
{
    const int steps = bench_steps(kind), cells = (int)lround((cbrt(n_dof / 3.0) - 1.0) / steps);
    return cells < 2 ? 2 : cells;
}

/* Three numbers between x and nothing else. */
static int reads_cells(const char *word, int cells[3])
{
    int used = 0;
    return strspn(word, "0123456789x") == strlen(word) &&
           sscanf(word, "%6dx%6dx%6d%n", &cells[0], &cells[1], &cells[2], &used) == 3 && !word[used] &&
           cells[0] > 0 && cells[1] > 0 && cells[2] > 0;
}

static fe_status open_file(const char *word, int refine, fe_order order, bench_mesh *m)
{
    if (strlen(word) >= sizeof m->path) return fe_fail(FE_BAD_INPUT, "%s: too long a name", word);
    m->shape = BENCH_FILE;
    strcpy(m->path, word);
    m->refine = refine;
    FE_TRY(fe_mesh_read(word, 1, &m->file));
    for (int level = 0; level < refine; level++) FE_TRY(fe_mesh_refine(&m->file, 0));
    return order == FE_ORDER_AUTO ? FE_OK : fe_mesh_reorder(&m->file, order, 1);
}

fe_status bench_mesh_open(const char *word, int refine, fe_order order, bench_mesh *m)
{
    static const char *const words[] = {"box", "slender", "", "irregular"};
    *m = (bench_mesh){0};
    for (int i = 0; i < 4; i++)
        if (*words[i] && !strcmp(word, words[i])) {
            m->shape = (bench_shape)i;
            return FE_OK;
        }
    if (reads_cells(word, m->cells)) {
        m->shape = BENCH_CELLS;
        return FE_OK;
    }
    const fe_status status = open_file(word, refine, order, m);
    if (status != FE_OK) bench_mesh_close(m);
    return status;
}

void bench_mesh_close(bench_mesh *m)
{
    fe_mesh_close(&m->file);
    *m = (bench_mesh){0};
}

int bench_mesh_holds(const bench_mesh *m, int kind)
{
    return m->shape != BENCH_FILE || fe_plain_kind(kind) == m->file.kind;
}

void bench_mesh_cells(const bench_mesh *m, int kind, int n_dof, int cells[3])
{
    const int cube = bench_cube_cells(kind, n_dof),
              thin = (int)lround((cbrt(n_dof / (3.0 * SLENDER)) - 1.0) / bench_steps(kind));
    for (int i = 0; i < 3; i++)
        cells[i] = m->shape == BENCH_BOX       ? cube
                   : m->shape == BENCH_CELLS   ? m->cells[i]
                   : m->shape == BENCH_SLENDER ? (thin < 1 ? 1 : thin) * (i == 2 ? SLENDER : 1)
                                               : 0;
}

fe_status bench_mesh_size(const bench_mesh *m, int kind, int n_dof, int64_t *n_elem, int64_t *all_dof)
{
    int cells[3], nodes = m->file.n_node, elements = m->file.n_elem;
    bench_mesh_cells(m, kind, n_dof, cells);
    if (m->shape == BENCH_IRREGULAR)
        FE_TRY(fe_mesh_irregular_size(fe_plain_kind(kind), n_dof / 3, BENCH_SEED, &nodes, &elements));
    *n_elem = elements, *all_dof = 3 * (int64_t)nodes;
    if (cells[0]) bench_box_size(kind, cells, n_elem, all_dof);
    return FE_OK;
}

void bench_box_size(int kind, const int cells[3], int64_t *n_elem, int64_t *n_dof)
{
    *n_elem = fe_is_tet(kind) ? 6 : 1, *n_dof = 3;
    for (int i = 0; i < 3; i++) *n_elem *= cells[i], *n_dof *= bench_steps(kind) * cells[i] + 1;
}

fe_status bench_mesh_whole(const bench_mesh *m, int kind, int n_dof, fe_order order, fe_mesh *made,
                           const fe_mesh **whole)
{
    *whole = m->shape == BENCH_FILE ? &m->file : m->shape == BENCH_IRREGULAR ? made : NULL;
    if (*whole != made) return FE_OK;
    FE_TRY(fe_mesh_irregular(fe_plain_kind(kind), n_dof / 3, BENCH_SEED, made));
    return order == FE_ORDER_AUTO ? FE_OK : fe_mesh_reorder(made, order, 1);
}

void bench_mesh_name(const bench_mesh *m, int kind, int n_dof, size_t size, char *name)
{
    int cells[3];
    const char *file = strrchr(m->path, '/') ? strrchr(m->path, '/') + 1 : m->path;
    bench_mesh_cells(m, kind, n_dof, cells);
    if (m->shape == BENCH_BOX)
        snprintf(name, size, "box%d-distorted", cells[0]);
    else if (m->shape == BENCH_FILE)
        snprintf(name, size, m->refine ? "%.*s-refined%d" : "%.*s", (int)strcspn(file, "."), file, m->refine);
    else if (m->shape == BENCH_IRREGULAR)
        snprintf(name, size, "irregular");
    else
        snprintf(name, size, "box%dx%dx%d-distorted", cells[0], cells[1], cells[2]);
}
