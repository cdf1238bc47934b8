/* The patches: recursive bisection of the elements' centres (Berger, Bokhari 1987), always across the longest
 * side and always to whole patches. Runs once, on the host. */
#include "common/backend/device.h"
#include "variants/patch/assembly.h"

#include <stdlib.h>
#include <string.h>

typedef struct draft {
    const fe_view *m;
    int kind, n_corner, n_elem_most;
    int *conn;      /* [n_corner][ld] */
    double *x;      /* [n_local][3] */
    int *valence;   /* [n_local] elements at a node */
    double *centre; /* [n_elem][3] */
    int *order;     /* [n_elem] patch after patch, interior elements first */
    int *start;     /* [n_patch + 1] in order */
    int *seen;      /* [n_local] 1 + last patch that met a node */
    int *count;     /* [n_local] elements of this patch at a node; then its number in the patch */
    int *node;      /* [PATCH_NODES] of the patch at hand */
    int n_node;
} draft;

static int ascending(const void *p, const void *q)
{
    const int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

static int node_of(const draft *k, int e, int corner) { return k->conn[(size_t)corner * k->m->ld + e]; }

static int longest_axis(const draft *k, const int *order, int n)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            const double x = k->centre[3 * (size_t)order[i] + c];
            if (x < low[c]) low[c] = x;
            if (x > high[c]) high[c] = x;
        }
    const double side[3] = {high[0] - low[0], high[1] - low[1], high[2] - low[2]};
    return side[2] >= side[1] && side[2] >= side[0] ? 2 : side[1] >= side[0] ? 1 : 0;
}

/* Hoare's selection: afterwards the first `left` elements of the order lie below all others along the axis.
 */
static void select_below(const draft *k, int *order, int n, int left, int axis)
{
    int low = 0, high = n - 1;
    while (low < high) {
        const double pivot = k->centre[3 * (size_t)order[(low + high) / 2] + axis];
        int i = low, j = high;
        while (i <= j) {
            while (k->centre[3 * (size_t)order[i] + axis] < pivot) i++;
            while (k->centre[3 * (size_t)order[j] + axis] > pivot) j--;
            if (i > j) break;
            const int swap = order[i];
            order[i++] = order[j], order[j--] = swap;
        }
        if (left <= j)
            high = j;
        else if (left >= i)
            low = i;
        else
            return;
    }
}

/* Halves the elements until each piece is one patch. The two halves are independent tasks of the team. */
static void bisect(const draft *k, int *order, int n)
{
    const int most = k->n_elem_most, n_patch = (n + most - 1) / most, left = n_patch / 2 * most;
    if (n_patch < 2) return;
    select_below(k, order, n, left, longest_axis(k, order, n));
#pragma omp task if (left > 10000)
    bisect(k, order, left);
#pragma omp task if (n - left > 10000)
    bisect(k, order + left, n - left);
}

static void order_elements(draft *k, int threads)
{
    const int n = k->m->n_elem, interior = k->m->n_elem_interior;
    for (int a = 0; a < k->n_corner; a++)
        for (int e = 0; e < n; e++)
            for (int i = 0; i < 3; i++)
                k->centre[3 * (size_t)e + i] += k->x[3 * (size_t)node_of(k, e, a) + i] / k->n_corner;
    for (int e = 0; e < n; e++) k->order[e] = e;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        bisect(k, k->order, interior);
        bisect(k, k->order + interior, n - interior);
    }
}

/* Collects the nodes of elements [first, end) of the order until there are too many elements or nodes:
 * returns where the patch ends, with its nodes in k->node and the elements at each in k->count. */
static int collect(draft *k, int patch, int first, int end)
{
    k->n_node = 0;
    for (int i = first; i < end && i < first + k->n_elem_most; i++) {
        int fresh = 0;
        for (int a = 0; a < k->n_corner; a++) fresh += k->seen[node_of(k, k->order[i], a)] != patch + 1;
        if (k->n_node + fresh > PATCH_NODES) return i;
        for (int a = 0; a < k->n_corner; a++) {
            const int n = node_of(k, k->order[i], a);
            if (k->seen[n] != patch + 1) k->seen[n] = patch + 1, k->count[n] = 0, k->node[k->n_node++] = n;
            k->count[n]++;
        }
    }
    return first + k->n_elem_most < end ? first + k->n_elem_most : end;
}

static int cut(draft *k, int n_patch, int first, int end, int *most)
{
    while (first < end) {
        first = k->start[n_patch + 1] = collect(k, n_patch, first, end);
        if (k->n_node > *most) *most = k->n_node;
        n_patch++;
    }
    return n_patch;
}

/* Inner nodes first, each kind ascending; count becomes the number in the patch. Returns how many are inner.
 */
static int number_nodes(draft *k)
{
    int inner = 0;
    for (int i = 0; i < k->n_node; i++) {
        const int n = k->node[i];
        if (k->count[n] < k->valence[n]) continue;
        k->node[i] = k->node[inner], k->node[inner++] = n;
    }
    qsort(k->node, (size_t)inner, sizeof *k->node, ascending);
    qsort(k->node + inner, (size_t)(k->n_node - inner), sizeof *k->node, ascending);
    for (int i = 0; i < k->n_node; i++) k->count[k->node[i]] = i;
    return inner;
}

static void write_record(draft *k, const patch_plan *plan, int patch, char *record)
{
    const int first = k->start[patch], n_elem = k->start[patch + 1] - first, nc = k->n_corner,
              E = k->n_elem_most;
    int *elem = (int *)(record + plan->elem), *node = (int *)(record + plan->node);
    uint16_t *conn = (uint16_t *)(record + plan->conn), *start = (uint16_t *)(record + plan->first),
             *corner = (uint16_t *)(record + plan->corner);
    collect(k, patch, first, first + n_elem);
    *(patch_head *)record = (patch_head){.n_node = k->n_node, .n_inner = number_nodes(k), .n_elem = n_elem};
    memcpy(node, k->node, (size_t)k->n_node * sizeof *node);
    for (int i = 0; i < k->n_node; i++)
        memcpy((double *)(record + plan->x) + 3 * (size_t)i, k->x + 3 * (size_t)node[i], 3 * sizeof(double));
    memcpy(elem, k->order + first, (size_t)n_elem * sizeof *elem);
    qsort(elem, (size_t)n_elem, sizeof *elem, ascending); /* tangents and flags side by side in memory */
    for (int s = n_elem; s < E; s++) elem[s] = elem[n_elem - 1];
    for (int s = 0; s < E; s++)
        for (int a = 0; a < nc; a++) conn[s * nc + a] = (uint16_t)k->count[node_of(k, elem[s], a)];
    for (int i = 0; i < n_elem * nc; i++)
        start[conn[i] + 1]++; /* lengths, then starts of rows one further on */
    for (int i = k->n_node; i > 0; i--) start[i] = start[i - 1];
    for (int i = 1; i <= k->n_node; i++) start[i] = (uint16_t)(start[i] + start[i - 1]);
    for (int s = 0; s < n_elem; s++)
        for (int a = 0; a < nc; a++)
            corner[start[conn[s * nc + a] + 1]++] = (uint16_t)(3 * a * patch_row(k->kind) + s);
}

/* Offsets of a record's parts, 16 bytes apart so that they are copied in pieces of 16. */
static int place(int *at, size_t bytes)
{
    const int here = *at;
    *at += (int)((bytes + 15) / 16 * 16);
    return here;
}
static void lay_out(patch_plan *plan, int n_corner, int n_elem)
{
    const size_t n = (size_t)plan->most_nodes, corners = (size_t)n_corner * (size_t)n_elem;
    int at = 0;
    place(&at, sizeof(patch_head));
    plan->x = place(&at, 3 * n * sizeof(double));
    plan->node = place(&at, n * sizeof(int));
    plan->elem = place(&at, (size_t)n_elem * sizeof(int));
    plan->conn = place(&at, corners * sizeof(uint16_t));
    plan->first = place(&at, (n + 2) * sizeof(uint16_t));
    plan->corner = place(&at, corners * sizeof(uint16_t));
    plan->stride = at;
}

static fe_status write_records(draft *k, fe_device *d, patch_plan *plan)
{
    char *record = NULL;
    FE_ALLOCATE(record, (size_t)plan->n_patch * plan->stride, "patches");
    memset(k->seen, 0, (size_t)k->m->n_local * sizeof *k->seen);
    for (int i = 0; i < plan->n_patch; i++) write_record(k, plan, i, record + (size_t)i * plan->stride);
    const fe_status status = fe_device_upload(d, (size_t)plan->n_patch, (size_t)plan->stride, record,
                                              "patches", (void **)&plan->record);
    free(record);
    return status;
}

static fe_status build(draft *k, fe_device *d, patch_plan *plan)
{
    const fe_view *m = k->m;
    const size_t corners = (size_t)k->n_corner * m->ld;
    FE_ALLOCATE(k->conn, corners, "patches");
    FE_ALLOCATE(k->x, 3 * (size_t)m->n_local, "patches");
    FE_ALLOCATE(k->valence, m->n_local, "patches");
    FE_ALLOCATE(k->centre, 3 * (size_t)m->n_elem, "patches");
    FE_ALLOCATE(k->order, m->n_elem, "patches");
    FE_ALLOCATE(k->start, (size_t)m->n_elem + 1, "patches");
    FE_ALLOCATE(k->seen, m->n_local, "patches");
    FE_ALLOCATE(k->count, m->n_local, "patches");
    FE_ALLOCATE(k->node, PATCH_NODES, "patches");
    FE_TRY(d->ops->download(d, corners * sizeof *k->conn, m->conn, k->conn));
    FE_TRY(d->ops->download(d, 3 * (size_t)m->n_local * sizeof *k->x, m->x, k->x));
    order_elements(k, d->threads > 0 ? d->threads : fe_host_cores());
    for (int a = 0; a < k->n_corner; a++)
        for (int e = 0; e < m->n_elem; e++) k->valence[node_of(k, e, a)]++;
    plan->n_patch_interior = cut(k, 0, 0, m->n_elem_interior, &plan->most_nodes);
    plan->n_patch = cut(k, plan->n_patch_interior, m->n_elem_interior, m->n_elem, &plan->most_nodes);
    lay_out(plan, k->n_corner, k->n_elem_most);
    return write_records(k, d, plan);
}

fe_status patch_plan_open(fe_problem *p, patch_plan *plan)
{
    draft k = {.m = &p->view,
               .kind = p->kind,
               .n_corner = fe_corners(p->kind),
               .n_elem_most = patch_elements(p->kind)};
    const fe_status status = build(&k, p->device, plan);
    free(k.conn), free(k.x), free(k.valence), free(k.centre), free(k.order), free(k.start), free(k.seen),
        free(k.count), free(k.node);
    return status;
}
