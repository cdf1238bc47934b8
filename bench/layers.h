/* The materials of a benchmark workload: a steel, or equally thick layers in y of several, or that of a part.
 */
#ifndef BENCH_LAYERS_H
#define BENCH_LAYERS_H

#include "bench/box_piece.h"
#include "common/physics/material.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A steel (MPa): the same up to yield, whatever the law of hardening. */
fe_material bench_material(int hardening);

enum { BENCH_MOST_LAYERS = 16 };

/* Stresses of layer i are those of bench_material times a factor, at most 4 and at least 1/4, so that all
 * have the same strain at yield and the fields of a workload (workload_fields.h) do what they do with one. */
typedef struct bench_layers {
    fe_materials all;
    fe_material material[BENCH_MOST_LAYERS];
    uint8_t *of; /* [n_elem] of the mesh */
} bench_layers;

/* The same layers in each piece of a box. The struct must not move while it is used. */
fe_status bench_layers_open(const bench_box *box, const fe_mesh *mesh, bench_layers *layers);
void bench_layers_close(bench_layers *layers);

#ifdef __cplusplus
}
#endif
#endif
