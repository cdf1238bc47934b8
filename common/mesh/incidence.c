/* The elements at each node, by counting. Each of a few chunks of elements counts on its own, so that no two
 * threads write to the same place, and what a node has of one chunk stands before what it has of the next. */
#include "common/mesh/incidence.h"
#include "common/base/chunk.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHUNKS = 16, ENTRIES_PER_CHUNK = 1 << 16 }; /* a chunk takes an int for each node */

static int node_of(const fe_corners_of *of, int e, int c)
{
    return of->node[(size_t)e * of->elem_stride + (size_t)c * of->corner_stride];
}

static void count_chunk(const fe_corners_of *of, int first, int end, int *count)
{
    memset(count, 0, (size_t)of->n_node * sizeof *count);
    for (int e = first; e < end; e++)
        for (int c = 0; c < of->n_corner; c++) count[node_of(of, e, c)]++;
}

static void write_chunk(const fe_corners_of *of, int first, int end, int *place, int *entry)
{
    const int bits = of->code_bits;
    for (int e = first; e < end; e++)
        for (int c = 0; c < of->n_corner; c++) entry[place[node_of(of, e, c)]++] = bits ? (e << bits) + c : e;
}

/* Entries of nodes [first, end) in all chunks. */
static int count_part(const fe_corners_of *of, int first, int end, int chunks, const int *count)
{
    int n = 0;
    for (int t = 0; t < chunks; t++)
        for (int i = first; i < end; i++) n += count[(size_t)t * of->n_node + i];
    return n;
}

/* Counts of nodes [first, end) become places; those of the first of them begin at `at`. */
static void place_part(const fe_corners_of *of, int first, int end, int chunks, int at, int *count, int *row)
{
    for (int i = first; i < end; i++) {
        row[i] = at;
        for (int t = 0; t < chunks; t++) {
            int *here = &count[(size_t)t * of->n_node + i];
            const int n = *here;
            *here = at;
            at += n;
        }
    }
}

static void find_places(const fe_corners_of *of, int chunks, int *count, int *row)
{
    int at[MOST_CHUNKS + 1] = {0};
#pragma omp parallel for schedule(static, 1) num_threads(chunks) if (chunks > 1)
    for (int t = 0; t < chunks; t++)
        at[t + 1] = count_part(of, fe_chunk(of->n_node, t, chunks), fe_chunk(of->n_node, t + 1, chunks),
                               chunks, count);
    for (int t = 0; t < chunks; t++) at[t + 1] += at[t];
#pragma omp parallel for schedule(static, 1) num_threads(chunks) if (chunks > 1)
    for (int t = 0; t < chunks; t++)
        place_part(of, fe_chunk(of->n_node, t, chunks), fe_chunk(of->n_node, t + 1, chunks), chunks, at[t],
                   count, row);
    row[of->n_node] = at[chunks];
}

static int chunks_of(const fe_corners_of *of, int threads)
{
    const size_t useful = (size_t)of->n_elem * (size_t)of->n_corner / ENTRIES_PER_CHUNK + 1,
                 most = threads < MOST_CHUNKS ? (size_t)threads : MOST_CHUNKS;
    return (int)(useful < most ? useful : most);
}

fe_status fe_list_corners(const fe_corners_of *of, int threads, const char *what, int **first, int **entry)
{
    const int chunks = chunks_of(of, threads);
    int *count = NULL;
    *first = *entry = NULL;
    FE_RESERVE(count, (size_t)chunks * of->n_node, what);
    fe_status status = fe_reserve((size_t)of->n_node + 1, sizeof **first, what, (void **)first);
    if (status == FE_OK)
        status = fe_reserve((size_t)of->n_elem * of->n_corner, sizeof **entry, what, (void **)entry);
    if (status == FE_OK) {
#pragma omp parallel for schedule(static, 1) num_threads(chunks) if (chunks > 1)
        for (int t = 0; t < chunks; t++)
            count_chunk(of, fe_chunk(of->n_elem, t, chunks), fe_chunk(of->n_elem, t + 1, chunks),
                        count + (size_t)t * of->n_node);
        find_places(of, chunks, count, *first);
#pragma omp parallel for schedule(static, 1) num_threads(chunks) if (chunks > 1)
        for (int t = 0; t < chunks; t++)
            write_chunk(of, fe_chunk(of->n_elem, t, chunks), fe_chunk(of->n_elem, t + 1, chunks),
                        count + (size_t)t * of->n_node, *entry);
    } else {
        free(*first);
        *first = NULL;
    }
    free(count);
    return status;
}
