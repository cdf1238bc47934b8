/* The input of gathers by lists, by component. */
#include "common/backend/cuda.h"
#include "variants/node_csr/lists.h"

enum { BLOCK_SIZE = 128 };

__global__ void __launch_bounds__(BLOCK_SIZE)
    node_csr_split(node_csr_lists w, int n_owned, const double *displacement)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * n_owned) w.displacement[i % 3 * w.n + i / 3] = displacement[i];
}

extern "C" fe_status node_csr_split_input(const fe_problem *p, const node_csr_lists *w,
                                          const double *displacement)
{
    const int n = p->view.n_owned;
    FE_LAUNCH(p->device, 3 * (size_t)n, BLOCK_SIZE, node_csr_split, *w, n, displacement);
    return FE_OK;
}
