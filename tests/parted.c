#include "tests/parted.h"

#include "have/metis.h"
#include "tests/common.h"

#include <stdlib.h>

static const int partitions[] = {FE_PARTITION_CONTIGUOUS, FE_PARTITION_BISECTION,
#if FE_HAVE_METIS
                                 FE_PARTITION_METIS
#endif
};
enum { N_PARTITION = sizeof partitions / sizeof *partitions };

static const int counts[] = {1, 2, 3, 4, 7};
enum { N_COUNT = sizeof counts / sizeof *counts };

parted parted_open(int kind, int n_rank, int method, fe_order order)
{
    parted p = {.n_rank = n_rank};
    const fe_box box = {.kind = kind, .cells = {6, 5, 4}, .length = {3, 2, 1}, .distort = 0.2, .seed = 11};
    must(fe_mesh_box(&box, &p.mesh));
    must(fe_mesh_reorder(&p.mesh, order, 3));
    must(fe_mesh_node_elements(&p.mesh, &p.first, &p.elem));
    must(fe_partition_mesh(&p.mesh, n_rank, method, &p.partition));
    for (int r = 0; r < n_rank; r++) must(fe_share_build(&p.mesh, &p.partition, NULL, r, &p.share[r]));
    return p;
}

void parted_close(parted *p)
{
    for (int r = 0; r < p->n_rank; r++) fe_share_close(&p->share[r]);
    fe_partition_close(&p->partition);
    free(p->first), free(p->elem);
    fe_mesh_close(&p->mesh);
}

void each_partition(void (*check)(const parted *))
{
    static const int kinds[] = {FE_TET4, FE_HEX8};
    static const fe_order orders[] = {FE_ORDER_RANDOM, FE_ORDER_BISECTION};
    for (int i = 0; i < 2 * 2 * N_COUNT * N_PARTITION; i++) {
        parted p = parted_open(kinds[i % 2], counts[i / 4 % N_COUNT], partitions[i / 4 / N_COUNT],
                               orders[i / 2 % 2]);
        check(&p);
        parted_close(&p);
    }
}
