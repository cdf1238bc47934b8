/* How blocks of the device share the corners of rows, where each thread computes a corner of one element.
 *
 * A block has a group of rows that follow each other. Its threads take the group's corners by element, not by
 * row: none waits for the longest row, and neighbours read the same elements. Their forces meet in shared
 * memory, where each row sums its own in the view's order, so the bits are the same every time. The host does
 * the same with lanes of a vector (common/problem/rows.h). */
#ifndef FE_VISITS_H
#define FE_VISITS_H

#include "common/variant.h"

typedef struct fe_visits {
    const int *first;        /* [n_group + 1] first row of each group */
    const int *corner;       /* the view's corners, sorted in each group; of a longer row in each `most` */
    const uint16_t *place;   /* where they were before, counted from the first of them */
    int n_interior, n_group; /* groups of interior rows, and with those of the border */
} fe_visits;

#ifdef __cplusplus
extern "C" {
#endif

/* Whether neighbouring rows are alike: at each place of the view's rows, which are in host memory, 32 of them
 * see their elements from few different corners, 2.4 in the mean over elements. Boxes of 1000 nodes and more
 * have 1.2 to 2.3, brackets and irregular meshes 2.7 to 5.7. */
int fe_rows_are_regular(const int *corner_first, const int *corner, int n_row);

/* Groups of at most `most` corners, below 65536; a longer row is one by itself. *v: NULL where rows are
 * regular, because a thread for each of them is faster there; those of quadratic elements never are. */
fe_status fe_visits_open(const fe_problem *p, int most, fe_visits **v);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
/* Numbers of a block's shared memory for forces on `most` corners, and where those on one begin. Some places
 * stay empty, so that rows are read from different banks. */
#define FE_VISIT_PLACES(most) (3 * (most) + (most) / 8)
FE_BODY int fe_visit_place(int corner) { return 3 * corner + corner / 8; }

/* y of a group's rows = sums of the forces on corners [from, from + most) of the group, in the view's order;
 * from the second part on, they are added. All threads of the block call it when the forces are there. */
FE_BODY void fe_sum_visits(const fe_view *m, int row, int last, int from, int most, const fe_number *force,
                           fe_number *y)
{
    const int start = m->corner_first[row] + from;
    for (int i = threadIdx.x; i < 3 * (last - row); i += blockDim.x) {
        const int r = row + i / 3, first = m->corner_first[r] - start, end = m->corner_first[r + 1] - start;
        fe_number sum = from > 0 ? y[3 * (size_t)row + i] : 0.0f;
        for (int k = first > 0 ? first : 0; k < end && k < most; k++) sum += force[fe_visit_place(k) + i % 3];
        y[3 * (size_t)row + i] = sum;
    }
}
#endif

/* First and one past last group of a part. */
static inline void fe_part_groups(const fe_visits *v, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : v->n_interior;
    *last = part == FE_INTERIOR ? v->n_interior : v->n_group;
}

#endif
