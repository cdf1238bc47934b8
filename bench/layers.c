/* Layers of materials; see layers.h. */
#include "bench/layers.h"

#include <math.h>
#include <stdlib.h>

fe_material bench_material(int hardening)
{
    fe_material m = {.E = 200e3, .nu = 0.3, .sigma_y = 250.0, .H = 2000.0};
    if (hardening == FE_VOCE) m.H = 500.0, m.sigma_inf = 450.0, m.delta = 20.0;
    return m;
}

/* From where to where the whole mesh reaches in y. */
static void height_of(const bench_box *box, const fe_mesh *mesh, double *low, double *high)
{
    int cells[3];
    *low = INFINITY, *high = -INFINITY;
    if (box->mesh) {
        for (int n = 0; n < mesh->n_node; n++) {
            *low = fmin(*low, mesh->x[3 * (size_t)n + 1]);
            *high = fmax(*high, mesh->x[3 * (size_t)n + 1]);
        }
    } else {
        bench_box_cells(box, cells);
        *low = 0.0, *high = cells[1] * bench_box_cell(box);
    }
}

/* 1 2 1/2 4 1/4 1 2 … */
static double factor_of(int layer)
{
    const int power = layer % 5;
    return ldexp(1.0, power % 2 ? (power + 1) / 2 : -power / 2);
}

fe_status bench_layers_open(const bench_box *box, const fe_mesh *mesh, bench_layers *l)
{
    const fe_material steel = box->part ? box->part->material : bench_material(box->hardening);
    const int nc = fe_corners(mesh->kind), n = box->materials > 1 ? box->materials : 1;
    double low, high;
    *l = (bench_layers){.all = {n, l->material, NULL}};
    for (int i = 0; i < n; i++) {
        const double factor = factor_of(i);
        l->material[i] = steel;
        l->material[i].E *= factor, l->material[i].sigma_y *= factor, l->material[i].H *= factor;
        l->material[i].sigma_inf *= factor;
    }
    FE_ALLOCATE(l->of, mesh->n_elem, "layers");
    l->all.of = l->of;
    if (n == 1) return FE_OK;
    height_of(box, mesh, &low, &high);
    for (int e = 0; e < mesh->n_elem; e++) {
        double y = 0.0;
        for (int c = 0; c < nc; c++) y += mesh->x[3 * (size_t)mesh->conn[(size_t)e * nc + c] + 1] / nc;
        const int layer = (int)(n * (y - low) / (high - low));
        l->of[e] = (uint8_t)(layer < 0 ? 0 : layer < n ? layer : n - 1);
    }
    return FE_OK;
}

void bench_layers_close(bench_layers *l)
{
    free(l->of);
    *l = (bench_layers){0};
}
