/* Nodes in the middle of others, by a table of their parents. */
#include "common/mesh/middles.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

fe_status fe_middles_open(fe_middles *m, int n_node)
{
    *m = (fe_middles){.n_old = n_node};
    FE_ALLOCATE(m->first, n_node, "middle nodes");
    for (int i = 0; i < n_node; ++i) m->first[i] = -1;
    return FE_OK;
}

void fe_middles_close(fe_middles *m)
{
    free(m->first), free(m->next), free(m->parent);
    *m = (fe_middles){0};
}

static fe_status grow(fe_middles *m)
{
    const size_t capacity = m->capacity ? 2 * (size_t)m->capacity : 1024;
    if (capacity > INT_MAX) return fe_fail(FE_OUT_OF_MEMORY, "too many new nodes");
    int *next = realloc(m->next, capacity * sizeof *next);
    if (next) m->next = next;
    int(*parent)[8] = realloc(m->parent, capacity * sizeof *parent);
    if (parent) m->parent = parent;
    if (!next || !parent) return fe_fail(FE_OUT_OF_MEMORY, "no host memory for %zu new nodes", capacity);
    m->capacity = (int)capacity;
    return FE_OK;
}

void fe_middle_parents(int n, const int *node, int parent[8])
{
    for (int i = 0; i < 8; ++i) parent[i] = -1;
    for (int i = 0; i < n; ++i) {
        int k = i;
        for (; k > 0 && parent[k - 1] > node[i]; --k) parent[k] = parent[k - 1];
        parent[k] = node[i];
    }
}

int fe_middle_find(const fe_middles *m, const int parent[8])
{
    for (int k = m->first[parent[0]]; k >= 0; k = m->next[k])
        if (!memcmp(m->parent[k], parent, sizeof *m->parent)) return m->n_old + k;
    return -1;
}

fe_status fe_middle_make(fe_middles *m, int n, const int *node, int *number)
{
    int parent[8];
    fe_middle_parents(n, node, parent);
    *number = fe_middle_find(m, parent);
    if (*number >= 0) return FE_OK;
    if (m->n == m->capacity) FE_TRY(grow(m));
    memcpy(m->parent[m->n], parent, sizeof parent);
    m->next[m->n] = m->first[parent[0]];
    m->first[parent[0]] = m->n;
    *number = m->n_old + m->n++;
    return FE_OK;
}

fe_status fe_middle_nodes(fe_mesh *mesh, const fe_middles *m)
{
    const size_t n_old = (size_t)mesh->n_node, n = n_old + (size_t)m->n;
    double *x = NULL;
    int64_t *tag = NULL, last = 0;
    FE_ALLOCATE(x, 3 * n, "coordinates");
    memcpy(x, mesh->x, 3 * n_old * sizeof *x);
    free(mesh->x);
    mesh->x = x;
    FE_ALLOCATE(tag, n, "node tags");
    memcpy(tag, mesh->node_tag, n_old * sizeof *tag);
    free(mesh->node_tag);
    mesh->node_tag = tag;
    for (size_t i = 0; i < n_old; ++i)
        if (tag[i] > last) last = tag[i];
    for (size_t i = n_old; i < n; ++i) {
        const int *parent = m->parent[i - n_old];
        int n_parent = 0;
        while (n_parent < 8 && parent[n_parent] >= 0) ++n_parent;
        for (int p = 0; p < n_parent; ++p)
            for (int c = 0; c < 3; ++c) x[3 * i + c] += x[3 * (size_t)parent[p] + c] / n_parent;
        tag[i] = last + 1 + (int64_t)(i - n_old);
    }
    mesh->n_node = (int)n;
    return FE_OK;
}
