/* What the program `kernels` times: points, in groups that share a backend, an element and a mesh; their
 * set-up and their checks. C++: each file of that program includes this first, because flop_count.h replaces
 * common/physics/real.h, which is C. */
#ifndef BENCH_POINT_H
#define BENCH_POINT_H

#include "bench/flop_count.h"

#include "bench/cold.h"
#include "bench/conditions.h"
#include "bench/contact.h"
#include "bench/energy.h"
#include "bench/timed_mesh.h"
#include "bench/verify.h"
#include "common/backend/device.h"
#include "common/report/row.h"

#include <string>
#include <vector>

namespace bench
{

struct group;

/* One strategy on one of its group's workloads. */
struct entrant {
    const fe_variant *variant;
    const fe_assembly *assembly;
    int pieces; /* the workload that it is on */
    void *work = nullptr;
    double setup_seconds = 0.0, bytes = 0.0;
    bool full = false; /* not enough memory for its set-up */
};

/* One benchmark: an entrant's operation. */
struct point {
    group *of;
    size_t entrant;
    bench_operation operation;
    int contact;                  /* number of its share of nodes in contact, of box.contact */
    std::string said, name;       /* said: the operation, with the share of nodes in contact */
    const char *status = nullptr; /* nullptr until it was checked */
    std::string message;
    double error = 0.0;
    int deterministic = -1;         /* as measured; -1: unknown */
    int64_t batch = 0;              /* calls between two readings of the clock */
    double energy_seconds = 0.0;    /* length of a window of its energy; 0: none is measured */
    fe_row_energy energy = {};      /* of one call; 0: not measured */
    std::vector<fe_sample> samples; /* in their order; those with which a batch was looked for come first */
};

/* burst: short samples of all points in turns. sustained: one point without pause, seconds long. cold: single
 * calls behind data that fill the cache. */
enum condition { BURST, SUSTAINED, COLD };

/* In the order auto, strategies that want pieces have a workload of their own: the same mesh and state in
 * another order. All are resident at the same time. */
struct group {
    bench_box box;
    const bench_mesh *mesh;
    int asked_dof;
    int64_t n_elem, n_dof; /* exact */
    std::string mesh_name;
    bench_workload cases[2] = {};
    bool opened = false, ready = false;  /* tried, and done: the workloads are resident */
    const bench_energy *meter = nullptr; /* nullptr: energy is not measured */
    bench_conditions *around = nullptr;  /* of the backend, while anything is timed */
    bench_cold cold[2] = {};             /* of the workloads; opened with the first cold call */
    condition how = BURST;
    int slower = 0; /* of BURST: per cent more calls than are counted; a condition of its own in rows */
    double sustained = 0.0; /* seconds without pause */
    int process = 1;
    std::vector<entrant> entrants;
    std::vector<point> points;
    bench_workload &of(const entrant &e) { return cases[e.pieces]; }
    bench_workload &of(const point &p) { return of(entrants[p.entrant]); }
    const bench_workload &of(const point &p) const { return cases[entrants[p.entrant].pieces]; }
    ~group()
    {
        for (bench_workload &c : cases) bench_workload_close(&c);
    }
};

/* Opens the group's workloads and sets up all entrants; one whose memory does not suffice becomes `full`. */
fe_status open_workloads(group &g);
/* Checks the point's answer and whether its bits repeat, and sets its status. */
void check(group &g, point &p);
/* Once more when the point has been timed: the row has the larger one of both errors. */
void check_after(group &g, point &p);
/* A failure becomes the status of a point, and the sweep goes on. */
void record(point &p, fe_status status);

} // namespace bench
#endif
