#include "tests/row.h"

fe_row some_row(void)
{
    double x[9] = {5e-3, 1e-3, 9e-3, 2e-3, 8e-3, 3e-3, 7e-3, 4e-3, 6e-3};
    return (fe_row){.machine = "m",
                    .backend = "host",
                    .device = "d",
                    .ranks = 1,
                    .threads = 2,
                    .variant = "v",
                    .element = "tet4",
                    .mesh = "box",
                    .order = "rcm",
                    .plastic = 0.25,
                    .plastic_pattern = "scattered",
                    .n_elem = 10,
                    .n_dof = 1000,
                    .operation = "jacvec",
                    .calls = 7,
                    .seconds = fe_statistics_of(9, x),
                    .bytes_moved = 5e6,
                    .flop = 1e7,
                    .ceiling_seconds = 1e-3,
                    .bytes = 4000,
                    .bytes_work = 100,
                    .setup_seconds = 0.5,
                    .plastic_measured = 0.24,
                    .error = 1e-15,
                    .deterministic = 1,
                    .energy = {23.4567, 22.5, 24.25, 23.75, 698.5, 71.25},
                    .status = "ok"};
}
