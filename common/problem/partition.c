/* Node partitions and the numbering that they imply. */
#include "common/problem/share.h"

#include <stdlib.h>

#if FE_HAVE_METIS
#include <metis.h>

/* Nodal graph: nodes that share an element, without the node itself. */
static fe_status nodal_graph(const fe_mesh *mesh, idx_t **first, idx_t **adjacent)
{
    const int n_corner = fe_corners(mesh->kind);
    int *row = NULL, *elem = NULL, *seen = NULL;
    fe_status status = fe_mesh_node_elements(mesh, &row, &elem);
    if (status == FE_OK)
        status = fe_allocate((size_t)mesh->n_node, sizeof *seen, "nodal graph", (void **)&seen);
    if (status == FE_OK)
        status = fe_allocate((size_t)mesh->n_node + 1, sizeof **first, "nodal graph", (void **)first);
    /* First pass counts, second fills. */
    for (int pass = 0; pass < 2 && status == FE_OK; pass++) {
        size_t n = 0;
        for (int i = 0; i < mesh->n_node; i++) {
            (*first)[i] = (idx_t)n;
            for (int k = row[i]; k < row[i + 1]; k++)
                for (int c = 0; c < n_corner; c++) {
                    const int j = mesh->conn[(size_t)elem[k] * n_corner + c], mark = 2 * i + pass + 1;
                    if (j == i || seen[j] == mark) continue;
                    seen[j] = mark;
                    if (pass) (*adjacent)[n] = j;
                    n++;
                }
        }
        (*first)[mesh->n_node] = (idx_t)n;
        if (!pass) status = fe_allocate(n, sizeof **adjacent, "nodal graph", (void **)adjacent);
    }
    free(row), free(elem), free(seen);
    return status;
}

static fe_status metis_owners(const fe_mesh *mesh, int n_rank, int *owner)
{
    idx_t *first = NULL, *adjacent = NULL, *part = NULL, n = mesh->n_node, parts = n_rank, constraints = 1,
          cut;
    fe_status status = nodal_graph(mesh, &first, &adjacent);
    if (status == FE_OK) status = fe_allocate((size_t)n, sizeof *part, "partition", (void **)&part);
    if (status == FE_OK && METIS_PartGraphKway(&n, &constraints, first, adjacent, NULL, NULL, NULL, &parts,
                                               NULL, NULL, NULL, &cut, part) != METIS_OK)
        status = fe_fail(FE_FAILED, "METIS could not part %d nodes into %d", mesh->n_node, n_rank);
    for (int i = 0; i < mesh->n_node && status == FE_OK; i++) owner[i] = (int)part[i];
    free(first), free(adjacent), free(part);
    return status;
}
#else
static fe_status metis_owners(const fe_mesh *mesh, int n_rank, int *owner)
{
    (void)mesh, (void)n_rank, (void)owner;
    return fe_fail(FE_BAD_INPUT,
                   "--partition metis: this build has no METIS (libmetis-dev was not found by make)");
}
#endif

/* A node is interior where no element at it has a corner of another owner. */
static fe_status number_owned(const fe_mesh *mesh, fe_partition *p)
{
    const int n_corner = fe_corners(mesh->kind);
    uint8_t *border = NULL;
    FE_ALLOCATE(border, mesh->n_node, "partition");
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *node = mesh->conn + (size_t)e * n_corner;
        int mixed = 0;
        for (int c = 1; c < n_corner; c++) mixed |= p->owner[node[c]] != p->owner[node[0]];
        for (int c = 0; c < n_corner && mixed; c++) border[node[c]] = 1;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < mesh->n_node; i++)
            if (border[i] == pass) p->local[i] = p->n_owned[p->owner[i]]++;
        if (!pass)
            for (int r = 0; r < p->n_rank; r++) p->n_interior[r] = p->n_owned[r];
    }
    free(border);
    return FE_OK;
}

fe_status fe_partition_mesh(const fe_mesh *mesh, int n_rank, int method, fe_partition *p)
{
    *p = (fe_partition){.n_rank = n_rank};
    if (n_rank < 1 || n_rank > mesh->n_node)
        return fe_fail(FE_BAD_INPUT, "--ranks %d: %s has %d nodes", n_rank, mesh->path, mesh->n_node);
    FE_ALLOCATE(p->owner, mesh->n_node, "partition");
    FE_ALLOCATE(p->local, mesh->n_node, "partition");
    FE_ALLOCATE(p->n_owned, n_rank, "partition");
    FE_ALLOCATE(p->n_interior, n_rank, "partition");
    if (method == FE_PARTITION_METIS && n_rank > 1)
        FE_TRY(metis_owners(mesh, n_rank, p->owner));
    else
        for (int i = 0; i < mesh->n_node; i++) p->owner[i] = (int)((int64_t)i * n_rank / mesh->n_node);
    FE_TRY(number_owned(mesh, p));
    for (int r = 0; r < n_rank; r++)
        if (p->n_owned[r] == 0)
            return fe_fail(FE_BAD_INPUT, "--ranks %d: rank %d would own no node of %s", n_rank, r,
                           mesh->path);
    return FE_OK;
}

void fe_partition_close(fe_partition *p)
{
    free(p->owner), free(p->local), free(p->n_owned), free(p->n_interior);
    *p = (fe_partition){0};
}
