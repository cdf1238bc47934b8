/* Fans of tetrahedra of a patch: up to three in a row that share faces, and so an edge. As few as can be
 * found cheaply: paths are laid greedily, then elements of short ones move to others. */
#include "variants/patch/assembly.h"

#include <string.h>

enum { MOST = PATCH_MOST_ELEMENTS, TABLE = 4096, LONGEST = PATCH_FAN, DEPTH = 4 };

typedef struct graph {
    int n;
    int8_t corner[MOST][4];     /* opposite to the face with a neighbour, as the neighbour sees it */
    int16_t neighbour[MOST][4]; /* beyond the face opposite to a corner; -1 */
    int8_t choices[MOST];       /* neighbours without a path */
    int16_t path[MOST];         /* of an element; -1 */
    int16_t member[MOST][LONGEST];
    int8_t size[MOST]; /* of a path */
} graph;

/* Swaps two nodes of a face that do not ascend; whether it did. */
static int ascend(uint64_t *p, uint64_t *q)
{
    const uint64_t t = *p;
    if (t <= *q) return 0;
    *p = *q, *q = t;
    return 1;
}

/* Finds each face's other element by a hash table of faces, each stored by its first element. What a damaged
 * mesh may hold, a third element at a face or two on the same side of it, has no neighbour there. */
static void connect(graph *g, const uint16_t (*conn)[8])
{
    static const int face[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
    int table[TABLE], side[MOST][4];
    uint64_t key[MOST][4];
    memset(table, -1, sizeof table);
    memset(g->neighbour, -1, sizeof g->neighbour);
    for (int e = 0; e < g->n; e++)
        for (int a = 0; a < 4; a++) {
            uint64_t p = conn[e][face[a][0]], q = conn[e][face[a][1]], r = conn[e][face[a][2]];
            side[e][a] = a % 2;
            side[e][a] ^= ascend(&p, &q);
            side[e][a] ^= ascend(&q, &r);
            side[e][a] ^= ascend(&p, &q);
            key[e][a] = p << 32 | q << 16 | r;
            int at = (int)(key[e][a] * UINT64_C(0x9e3779b97f4a7c15) >> 52);
            while (table[at] >= 0 && key[table[at] / 4][table[at] % 4] != key[e][a]) at = (at + 1) % TABLE;
            if (table[at] < 0) {
                table[at] = 4 * e + a;
                continue;
            }
            const int other = table[at] / 4, b = table[at] % 4;
            if (g->neighbour[other][b] >= 0 || side[other][b] == side[e][a]) continue;
            g->neighbour[e][a] = (int16_t)other, g->corner[e][a] = (int8_t)b;
            g->neighbour[other][b] = (int16_t)e, g->corner[other][b] = (int8_t)a;
        }
}

static int is_free(const graph *g, int e) { return e >= 0 && g->path[e] < 0; }

static void set_path(graph *g, int path, int size, int first, int second, int third)
{
    const int elem[LONGEST] = {first, second, third};
    g->size[path] = (int8_t)size;
    for (int i = 0; i < size; i++) g->member[path][i] = (int16_t)elem[i], g->path[elem[i]] = (int16_t)path;
}

/* The path of a free element whose others have the fewest choices: of three where there is one. */
static int best_path(const graph *g, int e, int path[LONGEST])
{
    int size = 1, fewest = 0;
    path[0] = e;
    for (int a = 0; a < 4; a++) {
        const int next = g->neighbour[e][a];
        if (!is_free(g, next)) continue;
        if (size == 1 || (size == 2 && g->choices[next] < fewest))
            path[0] = e, path[1] = next, size = 2, fewest = g->choices[next];
        for (int b = 0; b < 8; b++) { /* the third beyond the second, or on the other side of the first */
            const int third = g->neighbour[b < 4 ? next : e][b % 4];
            if (!is_free(g, third) || third == e || third == next) continue;
            const int sum = g->choices[next] + g->choices[third];
            if (size == 3 && sum >= fewest) continue;
            path[0] = b < 4 ? e : next, path[1] = b < 4 ? next : e, path[2] = third;
            size = 3, fewest = sum;
        }
    }
    return size;
}

/* Those with the fewest choices first. Returns the number of paths. */
static int lay_paths(graph *g)
{
    int16_t stack[5][MOST];
    int top[5] = {0}, n_path = 0;
    for (int e = g->n - 1; e >= 0; e--) {
        g->choices[e] = 0, g->path[e] = -1;
        for (int a = 0; a < 4; a++) g->choices[e] = (int8_t)(g->choices[e] + (g->neighbour[e][a] >= 0));
        stack[g->choices[e]][top[g->choices[e]]++] = (int16_t)e;
    }
    for (int choices = 0; choices < 5;) {
        if (!top[choices]) {
            choices++;
            continue;
        }
        const int e = stack[choices][--top[choices]];
        if (!is_free(g, e) || g->choices[e] != choices) continue; /* it stands elsewhere, too */
        int path[LONGEST] = {0};
        const int size = best_path(g, e, path);
        set_path(g, n_path++, size, path[0], path[1], path[2]);
        for (int i = 0; i < size; i++)
            for (int a = 0; a < 4; a++) {
                const int other = g->neighbour[path[i]][a];
                if (!is_free(g, other)) continue;
                const int left = --g->choices[other];
                stack[left][top[left]++] = (int16_t)other;
                if (left < choices) choices = left;
            }
    }
    return n_path;
}

/* Finds a place for an element that has none: in a path with room next to it, or in the place of the end of a
 * full one, for which a place is found in turn. */
static int settle(graph *g, int e, int depth)
{
    for (int a = 0; a < 4; a++) {
        const int next = g->neighbour[e][a];
        if (next < 0 || is_free(g, next)) continue;
        const int path = g->path[next], size = g->size[path], first = g->member[path][0],
                  second = g->member[path][1];
        if (size == LONGEST) continue;
        if (first == next)
            set_path(g, path, size + 1, e, first, second);
        else
            set_path(g, path, size + 1, first, second, e);
        return 1;
    }
    for (int a = 0; depth > 0 && a < 4; a++) {
        const int next = g->neighbour[e][a];
        if (next < 0 || is_free(g, next)) continue;
        const int path = g->path[next];
        const int m[LONGEST] = {g->member[path][0], g->member[path][1], g->member[path][2]};
        for (int end = 0; end < LONGEST; end += 2) { /* the one that leaves */
            const int stays = m[2 - end];
            if (m[end] == next) continue;
            if (next == m[1])
                set_path(g, path, LONGEST, e, m[1], stays);
            else
                set_path(g, path, LONGEST, e, next, m[1]);
            g->path[m[end]] = -1;
            if (settle(g, m[end], depth - 1)) return 1;
            g->path[e] = -1;
            set_path(g, path, LONGEST, m[0], m[1], m[2]);
        }
    }
    return 0;
}

/* Moves the elements of short paths to others, where that is possible. */
static void settle_short(graph *g, int n_path)
{
    for (int i = 0; i < n_path; i++) {
        const int size = g->size[i], elem[2] = {g->member[i][0], g->member[i][1]};
        int left[2] = {0}, n = 0;
        if (size == LONGEST) continue;
        for (int j = 0; j < size; j++) g->path[elem[j]] = -1;
        for (int j = 0; j < size; j++)
            if (!settle(g, elem[j], DEPTH)) left[n++] = elem[j];
        set_path(g, i, n, left[0], left[1], -1);
    }
}

/* Turns a path so that the end with the lower number is its first element, which is returned. */
static int turn_path(graph *g, int path)
{
    int16_t *m = g->member[path], *last = m + g->size[path] - 1, t = *m;
    if (*last < *m) *m = *last, *last = t;
    return *m;
}

static int corner_towards(const graph *g, int e, int other)
{
    int a = 0;
    while (g->neighbour[e][a] != other) a++;
    return a;
}

/* The elements and nodes of a path. Of three the second one's nodes are p q r1 r2 of the fan, where r2 is
 * opposite to the first and r1 to the third; shorter ones are seen from their first element, p q r0 r1. */
static void open_fan(const graph *g, const uint16_t (*conn)[8], int path, patch_fan *fan)
{
    const int n = g->size[path];
    const int16_t *m = g->member[path];
    enum { P = PATCH_FAN + 1, Q };
    *fan = (patch_fan){.elem = {m[0], n > 1 ? m[1] : -1, n > 2 ? m[2] : -1}};
    if (n < 3) {
        const int a =
            n > 1 ? corner_towards(g, m[0], m[1]) : 0; /* r0; even permutations keep the orientation */
        fan->node[0] = conn[m[0]][a], fan->node[1] = conn[m[0]][a ^ 1];
        fan->node[P] = conn[m[0]][a ^ 2], fan->node[Q] = conn[m[0]][a ^ 3];
        fan->node[2] = n > 1 ? conn[m[1]][g->corner[m[0]][a]] : fan->node[0];
        fan->node[3] = fan->node[1];
        return;
    }
    const int b = corner_towards(g, m[1], m[0]), a = corner_towards(g, m[1], m[2]);
    int rest[2], k = 0, odd = 0;
    for (int c = 0; c < 4; c++)
        if (c != a && c != b) rest[k++] = c;
    const int order[4] = {rest[0], rest[1], a, b};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) odd ^= order[j] > order[i];
    fan->node[0] = conn[m[0]][g->corner[m[1]][b]], fan->node[1] = conn[m[1]][a];
    fan->node[2] = conn[m[1]][b], fan->node[3] = conn[m[2]][g->corner[m[1]][a]];
    fan->node[P] = conn[m[1]][rest[odd]], fan->node[Q] = conn[m[1]][rest[!odd]];
}

int patch_fans(const uint16_t (*conn)[8], int n, patch_fan *fan)
{
    graph g = {.n = n};
    int n_fan = 0;
    connect(&g, conn);
    const int n_path = lay_paths(&g);
    settle_short(&g, n_path);
    for (int size = LONGEST; size > 0; size--)
        for (int e = 0; e < n; e++) {
            const int path = g.path[e];
            if (g.size[path] == size && turn_path(&g, path) == e) open_fan(&g, conn, path, &fan[n_fan++]);
        }
    return n_fan;
}
