/* Pairs of tetrahedra of a patch that share a face: a matching of the graph of faces. */
#include "variants/patch/assembly.h"

#include <string.h>

enum { MOST = PATCH_MOST_ELEMENTS, TABLE = 4096 };

typedef struct graph {
    int n;
    int8_t corner[MOST][4];     /* opposite to the face with a neighbour, as the neighbour sees it */
    int16_t neighbour[MOST][4]; /* beyond the face opposite to a corner; -1 */
    int16_t partner[MOST];      /* corner opposite to the face with the partner; -1 */
    int8_t choices[MOST];       /* neighbours that are alone */
} graph;

/* Finds each face's other element by a hash table of faces, each stored by its first element. */
static void connect(graph *g, const uint16_t (*conn)[8])
{
    static const int face[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
    int table[TABLE];
    uint64_t key[MOST][4];
    memset(table, -1, sizeof table);
    memset(g->neighbour, -1, sizeof g->neighbour);
    for (int e = 0; e < g->n; e++)
        for (int a = 0; a < 4; a++) {
            uint64_t p = conn[e][face[a][0]], q = conn[e][face[a][1]], r = conn[e][face[a][2]], t;
            if (p > q) t = p, p = q, q = t;
            if (q > r) t = q, q = r, r = t;
            if (p > q) t = p, p = q, q = t;
            key[e][a] = p << 32 | q << 16 | r;
            int at = (int)(key[e][a] * UINT64_C(0x9e3779b97f4a7c15) >> 52);
            while (table[at] >= 0 && key[table[at] / 4][table[at] % 4] != key[e][a]) at = (at + 1) % TABLE;
            if (table[at] < 0) {
                table[at] = 4 * e + a;
                continue;
            }
            const int other = table[at] / 4, b = table[at] % 4;
            g->neighbour[e][a] = (int16_t)other, g->corner[e][a] = (int8_t)b;
            g->neighbour[other][b] = (int16_t)e, g->corner[other][b] = (int8_t)a;
        }
}

static int alone(const graph *g, int e) { return g->partner[e] < 0; }

static void join(graph *g, int e, int a)
{
    const int other = g->neighbour[e][a];
    g->partner[e] = (int16_t)a, g->partner[other] = g->corner[e][a];
}

/* Those with the fewest choices first, each with the neighbour that has the fewest. */
static void match_greedily(graph *g)
{
    int16_t stack[4][5 * MOST];
    int top[4] = {0};
    for (int e = g->n - 1; e >= 0; e--) {
        g->choices[e] = 0, g->partner[e] = -1;
        for (int a = 0; a < 4; a++) g->choices[e] = (int8_t)(g->choices[e] + (g->neighbour[e][a] >= 0));
        if (g->choices[e]) stack[g->choices[e] - 1][top[g->choices[e] - 1]++] = (int16_t)e;
    }
    for (int degree = 0; degree < 4;) {
        if (!top[degree]) {
            degree++;
            continue;
        }
        const int e = stack[degree][--top[degree]];
        if (!alone(g, e) || g->choices[e] != degree + 1) continue; /* it stands elsewhere, too */
        int best = -1;
        for (int a = 0; a < 4; a++) {
            const int other = g->neighbour[e][a];
            if (other >= 0 && alone(g, other) &&
                (best < 0 || g->choices[other] < g->choices[g->neighbour[e][best]]))
                best = a;
        }
        const int both[2] = {e, g->neighbour[e][best]};
        join(g, e, best);
        for (int i = 0; i < 2; i++)
            for (int a = 0; a < 4; a++) {
                const int other = g->neighbour[both[i]][a];
                if (other < 0 || !alone(g, other)) continue;
                const int left = --g->choices[other];
                if (!left) continue;
                stack[left - 1][top[left - 1]++] = (int16_t)other;
                if (left - 1 < degree) degree = left - 1;
            }
    }
}

/* An element that is alone takes a neighbour whose partner has another neighbour that is alone. */
static int augment(graph *g, int e)
{
    for (int a = 0; a < 4; a++) {
        const int taken = g->neighbour[e][a];
        if (taken < 0) continue;
        const int left = g->neighbour[taken][g->partner[taken]];
        for (int b = 0; b < 4; b++) {
            const int other = g->neighbour[left][b];
            if (other < 0 || other == e || !alone(g, other)) continue;
            join(g, e, a), join(g, left, b);
            return 1;
        }
    }
    return 0;
}

int patch_match(const uint16_t (*conn)[8], int n, patch_half (*pair)[2])
{
    graph g = {.n = n};
    int n_pair = 0;
    connect(&g, conn);
    match_greedily(&g);
    for (int e = 0; e < n; e++)
        if (alone(&g, e)) augment(&g, e);
    for (int e = 0; e < n; e++) {
        const int a = g.partner[e], other = a < 0 ? -1 : g.neighbour[e][a];
        if (other >= 0 && other < e) continue;
        pair[n_pair][0] = (patch_half){e, a < 0 ? 0 : a};
        pair[n_pair++][1] = (patch_half){other, a < 0 ? 0 : g.corner[e][a]};
    }
    return n_pair;
}
