/* Aggregates on the device: the twin of aggregate.c. Pieces are those of the same bisection, with equal
 * coordinates in the order of nodes; small groups all join at once. */
#include "common/multigrid/aggregate.h"
#include "common/multigrid/setup_cuda.h"

#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

enum { THREADS = 256, WARP = 32 };

typedef struct groups {
    fe_scratch *s;
    fe_sparse A;               /* the graph */
    const double *x, *inverse; /* inverse [n][block][block]: NULL where nodes are alike in softness */
    int block;
    fe_cut cut;
    int n_order, *order; /* [n_order] nodes by pieces */
    int *place;          /* [n and ghosts] place in the order, -1: left out, as ghosts are */
    int *leader;         /* [n_order] the first place of the place's group, which names the group */
    int *size;           /* [n_order] nodes of a group at its leader, 0 elsewhere */
    int *weak;           /* [n_order] the group is to join another */
    int *into;           /* [n_order] the group that it joins, itself where none */
} groups;

/* --- bisection --------------------------------------------------------------------------------------- */

/* Bisection keeps three orders of the nodes, along each axis, [axis][n_order]: after every halving the same
 * places belong to a range in all of them. So the ends of a range are the sides of its box, and its halves
 * are parted in place, with their order kept. */

/* A double as an unsigned number of the same order. */
FE_BODY uint64_t ordered(double x)
{
    const uint64_t bits = (uint64_t)__double_as_longlong(x + 0.0); /* no negative zero */
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* The range [first, first + n) of a place after `level` halvings: whole pieces, except the last one. left:
 * places of its lower half, all where it is one piece. */
typedef struct range {
    int first, n, left;
} range;
FE_BODY range range_of(int n, int most, int first, int count) /* of pieces */
{
    const int begin = first * most, end = min(begin + count * most, n);
    const range r = {begin, end - begin, count > 1 ? count / 2 * most : end - begin};
    return r;
}
FE_BODY range range_at(int n, int most, int level, int place)
{
    const int piece = place / most;
    int first = 0, count = (n + most - 1) / most;
    for (int l = 0; l < level && count > 1; l++) {
        const int half = count / 2;
        if (piece < first + half)
            count = half;
        else
            first += half, count -= half;
    }
    return range_of(n, most, first, count);
}

__global__ void compact(int n, const int *first, const uint8_t *left_out, int *order)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n && !left_out[i]) order[first[i]] = i;
}

__global__ void count_kept(int n, const uint8_t *left_out, int *first)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) first[i + 1] = !left_out[i];
}

__global__ void axis_keys(int n, const int *order, const double *x, int axis, uint64_t *key, int *value)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) key[i] = ordered(x[3 * (size_t)order[i] + axis]), value[i] = order[i];
}

/* The longest side of a range, of whose nodes along each axis the first and the last are given. */
FE_BODY int longest_side(const double *x, const int first[3], const int last[3])
{
    double side[3];
    for (int c = 0; c < 3; c++) side[c] = x[3 * (size_t)last[c] + c] - x[3 * (size_t)first[c] + c];
    return side[2] >= side[1] && side[2] >= side[0] ? 2 : side[1] >= side[0] ? 1 : 0;
}

/* The lower half of each range along its longest side: those nodes are marked. order: the places' nodes as
 * they were last parted. */
__global__ void mark_lower(int n, int most, int level, const int *along, const double *x, uint8_t *lower,
                           int *order)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const range r = range_at(n, most, level, i);
    int first[3], last[3];
    for (int c = 0; c < 3; c++) {
        const int *const ends = along + (size_t)c * n + r.first;
        first[c] = ends[0], last[c] = ends[r.n - 1];
    }
    const int axis = longest_side(x, first, last);
    const int node = along[(size_t)axis * n + i];
    lower[node] = i - r.first < r.left;
    if (r.left < r.n) order[i] = node;
}

/* Whether the node of a place is of a lower half. */
struct lower_place {
    const int *along;
    const uint8_t *lower;
    __device__ int operator()(int k) const { return lower[along[k]]; }
};

/* before [3 n + 1]: nodes of lower halves before each place; its first number is zero. */
static fe_status count_lower(fe_scratch *s, int n, const int *along, const uint8_t *lower, int *before)
{
    const auto is_lower =
        thrust::make_transform_iterator(thrust::make_counting_iterator(0), lower_place{along, lower});
    const fe_scratch_mark mark = fe_scratch_now(s);
    cudaStream_t stream = fe_cuda_stream(s->d);
    size_t bytes = 0;
    void *temporary = NULL;
    CUDA_TRY(cub::DeviceScan::InclusiveSum(temporary, bytes, is_lower, before + 1, 3 * n, stream));
    FE_TRY(fe_scratch_bytes(s, bytes, &temporary));
    CUDA_TRY(cub::DeviceScan::InclusiveSum(temporary, bytes, is_lower, before + 1, 3 * n, stream));
    fe_scratch_return(s, mark);
    return FE_OK;
}

/* before: nodes of lower halves before each place */
__global__ void part(int n, int most, int level, const int *along, const int *before, int *parted)
{
    const int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= 3 * n) return;
    const int start = k / n * n;
    const range r = range_at(n, most, level, k - start);
    const int first = start + r.first, lower = before[k] - before[first];
    const bool is_lower = before[k + 1] > before[k];
    parted[first + (is_lower ? lower : r.left + (k - first - lower))] = along[k];
}

/* All further halvings of ranges of at most SMALL nodes: a block of threads has one, in shared memory. */
enum { SMALL = 1024, EACH = SMALL / THREADS };
__global__ void __launch_bounds__(THREADS)
    halve_small(int n, int most, int level, int depth, const int *along, const double *x, uint8_t *lower,
                int *order)
{
    typedef cub::BlockScan<int, THREADS> scan;
    __shared__ typename scan::TempStorage temporary;
    __shared__ int list[3][SMALL], before[SMALL];
    int piece = 0, count = (n + most - 1) / most;
    for (int l = level - 1; l >= 0; l--) { /* a bit of the block's number for each halving */
        const int half = count / 2, upper = blockIdx.x >> l & 1;
        if (count == 1 && upper) return;
        if (count == 1) continue;
        piece += upper ? half : 0, count = upper ? count - half : half;
    }
    const range all = range_of(n, most, piece, count);
    for (int t = threadIdx.x; t < 3 * all.n; t += THREADS)
        list[t / all.n][t % all.n] = along[(size_t)(t / all.n) * n + all.first + t % all.n];
    __syncthreads();
    for (; level < depth; level++) {
        range own[EACH]; /* of this thread's places, as places of the list */
        for (int e = 0; e < EACH; e++) {
            const int t = threadIdx.x * EACH + e;
            if (t >= all.n) continue;
            own[e] = range_at(n, most, level, all.first + t);
            own[e].first -= all.first;
            int first[3], last[3];
            for (int c = 0; c < 3; c++)
                first[c] = list[c][own[e].first], last[c] = list[c][own[e].first + own[e].n - 1];
            const int node = list[longest_side(x, first, last)][t];
            lower[node] = t - own[e].first < own[e].left;
            if (own[e].left < own[e].n) order[all.first + t] = node;
        }
        __syncthreads();
        for (int c = 0; c < 3; c++) {
            int node[EACH], is_lower[EACH], sum[EACH];
            for (int e = 0; e < EACH; e++) {
                const int t = threadIdx.x * EACH + e;
                node[e] = t < all.n ? list[c][t] : -1;
                is_lower[e] = t < all.n && lower[node[e]];
            }
            scan(temporary).ExclusiveSum(is_lower, sum);
            for (int e = 0; e < EACH; e++) before[threadIdx.x * EACH + e] = sum[e];
            __syncthreads();
            for (int e = 0; e < EACH; e++) {
                const int t = threadIdx.x * EACH + e;
                if (t >= all.n) continue;
                const int first = own[e].first, low = sum[e] - before[first];
                list[c][first + (is_lower[e] ? low : own[e].left + (t - first - low))] = node[e];
            }
            __syncthreads();
        }
    }
}

/* The largest number of halvings of any place. */
static int depth_of(int n, int most)
{
    int depth = 0;
    for (int n_piece = (n + most - 1) / most; n_piece > 1; depth++) n_piece -= n_piece / 2;
    return depth;
}

static fe_status sort_along(groups *g, int *along)
{
    for (int axis = 0; axis < 3; axis++) {
        const fe_scratch_mark mark = fe_scratch_now(g->s);
        uint64_t *key;
        int *value;
        FE_TRY(fe_scratch_take(g->s, (size_t)g->n_order, &key));
        FE_TRY(fe_scratch_take(g->s, (size_t)g->n_order, &value));
        FE_LAUNCH(g->s->d, g->n_order, THREADS, axis_keys, g->n_order, g->order, g->x, axis, key, value);
        FE_TRY(fe_scratch_sort(g->s, g->n_order, 64, &key, &value));
        CUDA_TRY(cudaMemcpyAsync(along + (size_t)axis * g->n_order, value, (size_t)g->n_order * sizeof *value,
                                 cudaMemcpyDeviceToDevice, fe_cuda_stream(g->s->d)));
        fe_scratch_return(g->s, mark);
    }
    return FE_OK;
}

/* All ranges of one level at once. */
static fe_status halve(groups *g, int level, uint8_t *lower, int *before, int **along, int **parted)
{
    fe_device *d = g->s->d;
    const int n = g->n_order, most = g->cut.most;
    FE_LAUNCH(d, n, THREADS, mark_lower, n, most, level, *along, g->x, lower, g->order);
    FE_TRY(count_lower(g->s, n, *along, lower, before));
    FE_LAUNCH(d, 3 * (size_t)n, THREADS, part, n, most, level, *along, before, *parted);
    int *const swap = *along;
    *along = *parted, *parted = swap;
    return FE_OK;
}

static fe_status bisect(groups *g, const uint8_t *left_out)
{
    fe_scratch *s = g->s;
    const int n = g->A.n_row;
    int *first, *along, *parted, *before;
    uint8_t *lower;
    FE_TRY(fe_scratch_take(s, (size_t)n, &g->order));
    FE_TRY(fe_scratch_take(s, (size_t)g->A.n_column, &g->place));
    FE_TRY(fe_scratch_take(s, (size_t)n + 1, &first));
    FE_LAUNCH(s->d, n, THREADS, count_kept, n, left_out, first);
    FE_TRY(fe_scratch_starts(s, n, first, &g->n_order));
    FE_LAUNCH(s->d, n, THREADS, compact, n, first, left_out, g->order);
    if (g->n_order == 0) return FE_OK;
    const int depth = depth_of(g->n_order, g->cut.most);
    const fe_scratch_mark mark = fe_scratch_now(s);
    int **lists[] = {&along, &parted, &before};
    for (int i = 0; i < 3; i++) FE_TRY(fe_scratch_take(s, 3 * (size_t)g->n_order + 1, lists[i]));
    FE_TRY(fe_scratch_take(s, (size_t)n, &lower));
    if (depth > 0) FE_TRY(sort_along(g, along));
    FE_TRY(s->d->ops->memory.zero(s->d, sizeof *before, before));
    int level = 0;
    for (int n_piece = (g->n_order + g->cut.most - 1) / g->cut.most; n_piece * g->cut.most > SMALL; level++) {
        FE_TRY(halve(g, level, lower, before, &along, &parted));
        n_piece -= n_piece / 2;
    }
    if (level < depth)
        FE_LAUNCH(s->d, (size_t)THREADS << level, THREADS, halve_small, g->n_order, g->cut.most, level, depth,
                  along, g->x, lower, g->order);
    fe_scratch_return(s, mark);
    return FE_OK;
}

/* --- groups ------------------------------------------------------------------------------------------ */

__global__ void keep_places(int n, const int *order, int *place)
{
    const int k = blockIdx.x * THREADS + threadIdx.x;
    if (k < n) place[order[k]] = k;
}

/* Whether the nodes of a group, lanes `together` of a warp, lie within a thirtieth of their distance from a
 * line; lane 0's piece begins at place `first`. One thread looks. */
FE_BODY bool on_a_line(const groups *g, int first, unsigned together)
{
    const double *origin = g->x + 3 * (size_t)g->order[first + __ffs(together) - 1], *end = origin;
    for (unsigned rest = together; rest; rest &= rest - 1) {
        const double *p = g->x + 3 * (size_t)g->order[first + __ffs(rest) - 1];
        if (fe_square_distance(p, origin) > fe_square_distance(end, origin)) end = p;
    }
    const double length = fe_square_distance(end, origin);
    for (unsigned rest = together; rest; rest &= rest - 1) {
        const double *p = g->x + 3 * (size_t)g->order[first + __ffs(rest) - 1];
        if (fe_off_line(origin, end, length, p)) return false;
    }
    return true;
}

FE_BODY bool alike(const groups *g, int i, int j)
{
    return !g->inverse ||
           fe_alike_softness(fe_softness(g->block, g->inverse, i), fe_softness(g->block, g->inverse, j));
}

/* The connected groups of a piece: a warp per piece, a lane per node, which knows the lanes that it reaches.
 */
__global__ void __launch_bounds__(THREADS) split(groups g)
{
    const int piece = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP,
              first = piece * g.cut.most, left = g.n_order - first, n = left < g.cut.most ? left : g.cut.most;
    if (n <= 0) return;
    unsigned reached = 1u << lane;
    if (lane < n) {
        const int i = g.order[first + lane];
        for (int l = g.A.first[i]; l < g.A.first[i + 1]; l++) {
            const int other = g.place[g.A.column[l]] - first;
            if (other >= 0 && other < n && alike(&g, i, g.A.column[l])) reached |= 1u << other;
        }
    }
    for (bool more = true; more;) {
        unsigned next = reached;
        for (int other = 0; other < n; other++) {
            const unsigned theirs = __shfl_sync(0xffffffffu, reached, other);
            if (reached >> other & 1) next |= theirs;
        }
        more = __any_sync(0xffffffffu, next != reached);
        reached = next;
    }
    if (lane >= n) return;
    const int k = first + lane, leader = first + __ffs(reached) - 1;
    g.leader[k] = leader;
    g.size[k] = k == leader ? __popc(reached) : 0;
    g.weak[k] = k == leader && (g.size[k] < g.cut.least || (g.cut.flat && on_a_line(&g, first, reached)));
}

/* The group that a weak one joins: rather one of fewer than `most` nodes, then the one with more links, of
 * equals the first; but another weak one only if that comes before, so that no circle closes. */
enum { MOST_OTHERS = 64 };
__global__ void choose(groups g)
{
    const int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= g.n_order) return;
    g.into[k] = k;
    if (!g.weak[k]) return;
    int other[MOST_OTHERS], links[MOST_OTHERS], n = 0, best = -1;
    const int piece_end = (k / g.cut.most + 1) * g.cut.most,
              end = piece_end < g.n_order ? piece_end : g.n_order;
    for (int at = k; at < end; at++) {
        if (g.leader[at] != k) continue;
        const int i = g.order[at];
        for (int l = g.A.first[i]; l < g.A.first[i + 1]; l++) {
            const int place = g.place[g.A.column[l]], group = place < 0 ? k : g.leader[place];
            if (group == k || (g.weak[group] && group > k) || !alike(&g, i, g.A.column[l])) continue;
            int j = 0;
            while (j < n && other[j] != group) j++;
            if (j == n && n < MOST_OTHERS) other[n] = group, links[n++] = 0;
            if (j < n) links[j]++;
        }
    }
    for (int j = 0; j < n; j++) {
        if (best < 0) {
            best = j;
            continue;
        }
        const fe_candidate next = {g.size[other[j]] < g.cut.most, links[j], other[j]},
                           found = {g.size[other[best]] < g.cut.most, links[best], other[best]};
        if (fe_better_candidate(next, found)) best = j;
    }
    if (best >= 0) g.into[k] = other[best];
}

/* first [k + 1] = 1 where place k names a group that joins no other */
__global__ void count_groups(groups g, int *first)
{
    const int k = blockIdx.x * THREADS + threadIdx.x;
    if (k < g.n_order) first[k + 1] = g.leader[k] == k && g.into[k] == k;
}

__global__ void number(groups g, const int *first, int *of)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= g.A.n_row) return;
    int group = g.place[i] < 0 ? -1 : g.leader[g.place[i]];
    while (group >= 0 && g.into[group] != group) group = g.into[group];
    of[i] = group < 0 ? -1 : first[group];
}

fe_status fe_aggregate_cuda(fe_scratch *s, const fe_sparse *A, const double *x, const uint8_t *left_out,
                            const double *inverse, fe_cut cut, int *of, int *n_aggregate)
{
    fe_device *d = s->d;
    const int n = A->n_row;
    const fe_scratch_mark mark = fe_scratch_now(s);
    groups g = {s, *A, x, inverse, A->rows, cut};
    int *first;
    FE_TRY(bisect(&g, left_out));
    int **lists[] = {&g.leader, &g.size, &g.weak, &g.into};
    for (int i = 0; i < 4; i++) FE_TRY(fe_scratch_take(s, (size_t)g.n_order, lists[i]));
    FE_TRY(fe_scratch_take(s, (size_t)g.n_order + 1, &first));
    CUDA_TRY(cudaMemsetAsync(g.place, 0xff, (size_t)A->n_column * sizeof *g.place, fe_cuda_stream(d)));
    FE_LAUNCH(d, g.n_order, THREADS, keep_places, g.n_order, g.order, g.place);
    FE_LAUNCH(d, fe_grid(g.n_order, cut.most) * (size_t)WARP, THREADS, split, g);
    FE_LAUNCH(d, g.n_order, THREADS, choose, g);
    FE_LAUNCH(d, g.n_order, THREADS, count_groups, g, first);
    *n_aggregate = 0;
    if (g.n_order > 0) FE_TRY(fe_scratch_starts(s, g.n_order, first, n_aggregate));
    FE_LAUNCH(d, n, THREADS, number, g, first, of);
    fe_scratch_return(s, mark);
    return FE_OK;
}
