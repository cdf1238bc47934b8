#include "common/mesh/bisect.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *p, const void *q)
{
    const int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

static int longest_axis(const double *centre, const int *order, int n)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            const double x = centre[3 * (size_t)order[i] + c];
            if (x < low[c]) low[c] = x;
            if (x > high[c]) high[c] = x;
        }
    const double side[3] = {high[0] - low[0], high[1] - low[1], high[2] - low[2]};
    return side[2] >= side[1] && side[2] >= side[0] ? 2 : side[1] >= side[0] ? 1 : 0;
}

/* Hoare's selection: afterwards the first `left` items of the order lie below all others along the axis. */
static void select_below(const double *centre, int *order, int n, int left, int axis)
{
    int low = 0, high = n - 1;
    while (low < high) {
        const double pivot = centre[3 * (size_t)order[(low + high) / 2] + axis];
        int i = low, j = high;
        while (i <= j) {
            while (centre[3 * (size_t)order[i] + axis] < pivot) i++;
            while (centre[3 * (size_t)order[j] + axis] > pivot) j--;
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

/* The two halves are independent tasks of the team. */
static void bisect(const double *centre, int *order, int n, int most)
{
    const int n_piece = (n + most - 1) / most, left = n_piece / 2 * most;
    if (n_piece < 2) {
        qsort(order, (size_t)n, sizeof *order, ascending);
        return;
    }
    select_below(centre, order, n, left, longest_axis(centre, order, n));
#pragma omp task if (left > 10000)
    bisect(centre, order, left, most);
#pragma omp task if (n - left > 10000)
    bisect(centre, order + left, n - left, most);
}

void fe_bisect(const double *centre, int *order, int n, int most, int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp single
    bisect(centre, order, n, most);
}
