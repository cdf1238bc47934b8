/* Fans of tetrahedra of a patch. A fan is a path of up to three elements: each shares a face with the next,
 * and all share an edge. Few fans are wanted. A greedy pass forms paths; then elements of short paths move to
 * other paths. */
#include "variants/patch/assembly.h"

#include <string.h>

enum { MOST = PATCH_MOST_ELEMENTS, TABLE = 4096, LONGEST = PATCH_FAN, DEPTH = 4 };

typedef struct graph {
    int n;
    int8_t corner[MOST][4];     /* the neighbour's corner opposite to the common face */
    int16_t neighbour[MOST][4]; /* element across the face opposite to a corner; -1: none */
    int8_t choices[MOST];       /* number of neighbours without a path */
    int16_t path[MOST];         /* path of an element; -1: none */
    int16_t member[MOST][LONGEST];
    int8_t size[MOST];   /* elements of a path */
    int8_t failed[MOST]; /* 1 + depth of the longest search that found no place for an element */
} graph;

/* Sorts two nodes of a face. Returns 1 if it swapped them. */
static int ascend(uint64_t *p, uint64_t *q)
{
    const uint64_t t = *p;
    if (t <= *q) return 0;
    *p = *q, *q = t;
    return 1;
}

/* Finds the two elements of each face by a hash table of faces. A third element at a face, or two on the same
 * side of it, which damaged meshes may have, get no neighbour there. */
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

/* The longest path that contains the free element e; of equally long ones the path whose other elements have
 * the fewest choices. Returns its number of elements. */
static int best_path(const graph *g, int e, int path[LONGEST])
{
    int size = 1, fewest = 0;
    path[0] = e;
    for (int a = 0; a < 4; a++) {
        const int next = g->neighbour[e][a];
        if (!is_free(g, next)) continue;
        if (size == 1 || (size == 2 && g->choices[next] < fewest))
            path[0] = e, path[1] = next, size = 2, fewest = g->choices[next];
        for (int b = 0; b < 8; b++) { /* the third is a neighbour of the second or of the first */
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

/* Forms paths, starting from the elements with the fewest choices. Returns the number of paths. */
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
        if (!is_free(g, e) || g->choices[e] != choices)
            continue; /* outdated: the element is on another stack, too */
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

/* Finds a place for an element without a path: in a neighbouring path that has room, or instead of an end
 * element of a full one, for which a place is then found in the same way. An element for which there was none
 * is not tried again in a search that is no longer. Returns 1 if it succeeded. */
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
        for (int end = 0; end < LONGEST; end += 2) { /* the end element that leaves */
            const int stays = m[2 - end];
            if (m[end] == next || g->failed[m[end]] >= depth) continue;
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
    g->failed[e] = (int8_t)(depth + 1);
    return 0;
}

/* Moves elements of short paths to other paths where possible. */
static void settle_short(graph *g, int n_path)
{
    for (int i = 0; i < n_path; i++) {
        const int size = g->size[i], elem[2] = {g->member[i][0], g->member[i][1]};
        int left[2] = {0}, n = 0;
        if (size == LONGEST) continue;
        for (int j = 0; j < size; j++) g->path[elem[j]] = -1;
        for (int j = 0; j < size; j++) {
            memset(g->failed, 0, sizeof g->failed);
            if (!settle(g, elem[j], DEPTH)) left[n++] = elem[j];
        }
        set_path(g, i, n, left[0], left[1], -1);
    }
}

/* Turns a path so that, of its two end elements, the one with the lower number comes first. Returns that
 * element. */
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

/* Writes a path as a fan: its elements and its nodes r0 r1 r2 r3 p q, where p q is the common edge. In a path
 * of three, the second element has the nodes p q r1 r2; r2 is opposite to the first element and r1 to the
 * third. A shorter path begins with p q r0 r1 of its first element. */
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
