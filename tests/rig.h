/* A strategy at work on a scene: one rank's problem on a device. What must not be read (ghosts by the
 * interior part, states of elements without FE_YIELDED, tangents before `material`) holds NaN. */
#ifndef RIG_H
#define RIG_H

#include "common/problem/apply.h"
#include "common/problem/share.h"
#include "common/variant.h"
#include "tests/scene.h"

enum { THREADS = 4 }; /* of the host backend */

typedef struct rig {
    const scene *scene;
    const fe_assembly *assembly;
    fe_device *device;
    fe_partition partition;
    fe_share share;
    fe_problem problem;
    void *work;
    double *in, *out, *landing; /* in and out on the device, landing on the host: [n_local][9] */
    int in_floats;              /* in and out hold floats, of a table in single precision */
} rig;

rig rig_open(const scene *s, const fe_assembly *assembly, const char *backend, int threads, int n_rank,
             int rank, int method);
/* The whole mesh on one rank. */
rig rig_whole(const scene *s, const fe_assembly *assembly, const char *backend, int threads);
void rig_close(rig *b);

/* y = forces(x), owned rows: the border part with all ghosts, the interior part with none. The interior comes
 * last if the strategy allows it. */
void rig_apply(rig *b, fe_forces forces, const double *x, double *y);
void rig_material(rig *b, fe_linearization mode, const double *u);
void rig_diagonal(rig *b, double *d);

/* The state that `material` left, on the host. */
typedef struct snapshot {
    double *committed, *trial, *tangent;
    uint8_t *committed_flags, *trial_flags;
    size_t n, ld;
} snapshot;

snapshot snapshot_take(const rig *b);
void snapshot_close(snapshot *k);
/* Which arrays differ in any bit: 1 the committed state, 2 the trial state, 4 the tangent. */
int snapshot_differs(const snapshot *a, const snapshot *b);

/* One test: a check of a strategy on a backend, over the scenes of an element kind. */
typedef struct setting {
    const fe_variant *variant;
    const fe_assembly *assembly;
    const char *backend, *why; /* why: set where the test cannot take place */
    int kind;
    int (*check)(const struct setting *t, const scene *s); /* returns the number of failures */
    char name[128];
} setting;

/* A translation and an infinitesimal rotation of a scene, and elastic |K| |x| of each, which a row without
 * force is measured against: the same for all strategies. */
void prepare_mechanics(scene *s);
/* Of a scene that is prepared: rigid motions, symmetry, differences, the yield surface, the patch test. */
int check_mechanics(const setting *t, const scene *s);

#endif
