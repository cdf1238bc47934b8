/* How warps share the corners of rows. */
#include "common/problem/visits.h"
#include "common/backend/device.h"
#include "common/base/sort.h"

#include <omp.h>
#include <stdlib.h>

enum { WARP = 32 };

typedef struct draft {
    const int *first; /* the view's */
    int *corner;      /* the view's, which are sorted */
    int *group;       /* [n_group + 1] first row of each */
    uint16_t *place;
    int n_interior, n_group, most, kind;
} draft;

/* As many rows of a part for each group as it can have. */
static void divide_rows(const fe_view *m, fe_part part, draft *k)
{
    int row, last;
    fe_part_nodes(m, part, &row, &last);
    while (row < last) {
        const int start = row++;
        while (row < last && k->first[row + 1] - k->first[start] <= k->most) row++;
        k->group[++k->n_group] = row;
    }
}

/* Where a corner comes among those of its group: 16 elements, whose numbers share cache lines, after each
 * other, and of these the ones that are seen from the same corner, because the points of a Hex8 turn with it.
 * Quadratic elements do not turn: one after the other.
 */
static uint64_t key_of(int kind, int corner)
{
    const uint64_t e = (unsigned)corner >> 3, turn = corner & 7;
    return fe_is_quadratic(kind) ? (unsigned)corner : (e >> 4) << 7 | turn << 4 | (e & 15);
}
static int corner_of(int kind, uint64_t key)
{
    return fe_is_quadratic(kind) ? (int)key : (int)((key >> 7 << 4 | (key & 15)) << 3 | (key >> 4 & 7));
}

static void sort_corners(draft *k, int start, int n, uint64_t *word)
{
    for (int i = 0; i < n; i++) word[i] = key_of(k->kind, k->corner[start + i]) << 16 | (unsigned)i;
    qsort(word, (size_t)n, sizeof *word, fe_compare_words);
    for (int i = 0; i < n; i++) {
        k->place[start + i] = (uint16_t)word[i];
        k->corner[start + i] = corner_of(k->kind, word[i] >> 16);
    }
}

static fe_status sort_groups(draft *k, int threads)
{
    uint64_t *word = NULL;
    FE_RESERVE(word, (size_t)threads * k->most, "lists of corners");
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int g = 0; g < k->n_group; g++) {
        const int end = k->first[k->group[g + 1]];
        for (int at = k->first[k->group[g]]; at < end; at += k->most)
            sort_corners(k, at, end - at < k->most ? end - at : k->most,
                         word + (size_t)omp_get_thread_num() * k->most);
    }
    free(word);
    return FE_OK;
}

/* From how many corners rows [first, first + WARP) see their elements at place i of each; *n rows have one.
 */
static int corners_seen(const int *corner_first, const int *corner, int first, int i, int *n)
{
    unsigned seen = 0;
    *n = 0;
    for (int row = first; row < first + WARP; row++)
        if (corner_first[row] + i < corner_first[row + 1])
            seen |= 1u << (corner[corner_first[row] + i] & 7), ++*n;
    return __builtin_popcount(seen);
}

int fe_rows_are_regular(const int *corner_first, const int *corner, int n_row)
{
    static const double regular = 2.4;
    int64_t sum = 0, visits = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, visits)
    for (int first = 0; first <= n_row - WARP; first += WARP)
        for (int i = 0, n = 1; n > 0; i++) {
            const int seen = corners_seen(corner_first, corner, first, i, &n);
            sum += (int64_t)seen * n, visits += n;
        }
    return (double)sum <= regular * (double)visits;
}

static fe_status build(draft *k, const fe_problem *p, const int *corner, fe_visits *v)
{
    const fe_view *m = &p->view;
    fe_device *d = p->device;
    const size_t n = (size_t)k->first[m->n_owned];
    FE_RESERVE(k->corner, n, "lists of corners");
#pragma omp parallel for schedule(static) num_threads(fe_device_host_threads(d))
    for (size_t i = 0; i < n; i++) k->corner[i] = corner[i];
    FE_RESERVE(k->place, n, "lists of corners");
    FE_ALLOCATE(k->group, m->n_owned + 1, "lists of corners");
    divide_rows(m, FE_INTERIOR, k);
    k->n_interior = k->n_group;
    divide_rows(m, FE_BORDER, k);
    FE_TRY(sort_groups(k, fe_device_host_threads(d)));
    v->n_interior = k->n_interior, v->n_group = k->n_group;
    const size_t groups = (size_t)k->n_group + 1;
    FE_TRY(fe_device_upload(d, groups, sizeof *k->group, k->group, "lists of corners", (void **)&v->first));
    FE_TRY(fe_device_upload(d, n, sizeof *k->corner, k->corner, "lists of corners", (void **)&v->corner));
    FE_TRY(fe_device_upload(d, n, sizeof *k->place, k->place, "lists of corners", (void **)&v->place));
    return d->ops->wait(d);
}

fe_status fe_visits_open(const fe_problem *p, int most, fe_visits **v)
{
    fe_host_mesh mesh;
    *v = NULL;
    FE_TRY(fe_problem_host_mesh(p, &mesh));
    if (!fe_is_quadratic(p->kind) && fe_rows_are_regular(mesh.corner_first, mesh.corner, p->view.n_owned))
        return FE_OK;
    FE_TRY(fe_device_keep(p->device, sizeof **v, "lists of corners", (void **)v));
    draft k = {.most = most, .kind = p->kind, .first = mesh.corner_first};
    const fe_status status = build(&k, p, mesh.corner, *v);
    free(k.corner), free(k.group), free(k.place);
    return status;
}
