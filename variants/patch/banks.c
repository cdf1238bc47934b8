/* Bank conflicts. Shared memory has as many banks as lanes read at a time: 16 of doubles, 32 of floats. Lanes
 * that read different rows of one bank wait for each other. Which row a node has, and in which order its
 * corner forces are added, is free, so both are chosen such that few lanes meet. A row is three numbers, and
 * three has no divisor in common with the number of banks: rows r and s meet where r = s modulo the number of
 * banks. In mixed precision values take the room of doubles, so 32 lanes need two rounds at least, which rows
 * of different banks need, too. */
#include "variants/patch/assembly.h"

#include <limits.h>
#include <string.h>

enum { MOST_BANKS = 32, MOST_GROUPS = 2 * PATCH_MOST_SLOTS / 16 * 8 };
enum { FULL = 1024 }; /* more lanes than can meet */

_Static_assert(2 * PATCH_ELEMENTS(FE_HEX27) <= MOST_GROUPS &&
                   PATCH_ELEMENTS(FE_TET10) / 16 * FE_CORNERS(FE_TET10) <= MOST_GROUPS,
               "reads of quadratic patches: two of a slot, and those of 16 slots");

int patch_banks(size_t scalar) { return (int)(128 / scalar); }

/* Nodes by the number of groups that read them, the most first. */
static void most_read_first(int n_node, const uint16_t *n_group, uint16_t *order)
{
    int place[MOST_GROUPS + 2] = {0};
    for (int i = 0; i < n_node; i++) place[MOST_GROUPS - n_group[i] + 1]++;
    for (int g = 0; g <= MOST_GROUPS; g++) place[g + 1] += place[g];
    for (int i = 0; i < n_node; i++) order[place[MOST_GROUPS - n_group[i]]++] = (uint16_t)i;
}

/* The bank of a node that n groups read: that with the fewest nodes of these groups, of those that have
 * places left; and of equal ones that with the most. Inlined with a constant number of banks. */
static inline __attribute__((always_inline)) int
best_bank(const uint8_t (*load)[MOST_BANKS], const uint16_t *group, int n, const int *left, int banks)
{
    uint16_t met[MOST_BANKS] = {0};
    for (int j = 0; j < n; j++)
        for (int r = 0; r < banks; r++) met[r] = (uint16_t)(met[r] + load[group[j]][r]);
    int least = INT_MAX; /* a bank's cost, and the bank in the last bits */
    for (int r = 0; r < banks; r++) {
        const int cost = (PATCH_MOST_NODES * (met[r] + FULL * !left[r] + 1) - left[r]) * MOST_BANKS + r;
        least = cost < least ? cost : least;
    }
    return least % MOST_BANKS;
}

void patch_find_places(int kind, int banks, int n_node, int n_slot, const uint16_t *conn, uint16_t *place)
{
    const patch_form form = patch_form_of(kind);
    const int reads = patch_reads(kind, banks), together = patch_slots_together(kind, banks);
    uint16_t group[PATCH_MOST_NODES][MOST_GROUPS], n_group[PATCH_MOST_NODES] = {0}, order[PATCH_MOST_NODES];
    uint8_t load[MOST_GROUPS][MOST_BANKS] = {{0}}; /* nodes of a group in each bank */
    int left[MOST_BANKS] = {0}, next[MOST_BANKS];  /* places of a bank */
    /* a group: lanes that read at the same time */
    for (int s = 0; s < n_slot; s++)
        for (int b = 0; b < form.nodes; b++) {
            const int node = conn[form.width * s + b],
                      g = s / together * reads + patch_read_of(kind, banks, b);
            if (n_group[node] == 0 || group[node][n_group[node] - 1] != g) {
                int seen = 0;
                for (int i = n_group[node] - 1; i >= 0 && group[node][i] >= s / together * reads; i--)
                    seen |= group[node][i] == g;
                if (!seen) group[node][n_group[node]++] = (uint16_t)g;
            }
        }
    most_read_first(n_node, n_group, order);
    for (int i = 0; i < n_node; i++) left[i % banks]++;
    for (int r = 0; r < banks; r++) next[r] = r;
    for (int i = 0; i < n_node; i++) {
        const int node = order[i];
        const int best = banks == 16 ? best_bank(load, group[node], n_group[node], left, 16)
                                     : best_bank(load, group[node], n_group[node], left, MOST_BANKS);
        left[best]--, place[node] = (uint16_t)next[best], next[best] += banks;
        for (int j = 0; j < n_group[node]; j++) load[group[node][j]][best]++;
    }
}

void patch_spread_corners(int kind, int banks, int n_node, const uint16_t *first, uint16_t *corner)
{
    const int row = patch_form_of(kind).row, lanes = patch_fanned(kind) ? 3 : 1;
    uint8_t load[MOST_BANKS][PATCH_MOST_CORNERS]; /* lanes of a group that read a bank at each step */
    int longest = PATCH_MOST_CORNERS;
    for (int i = 0, group = -1; i < n_node; i++) {
        uint16_t kept[PATCH_MOST_CORNERS];
        uint8_t taken[PATCH_MOST_CORNERS];
        uint16_t *list = corner + first[i];
        int n = 0;
        while (n < first[i + 1] - first[i] && list[n] != patch_form_of(kind).slots) n++;
        if (group != lanes * i / banks) {
            for (int r = 0; r < banks; r++) memset(load[r], 0, (size_t)longest);
            group = lanes * i / banks, longest = 0;
        }
        longest = n > longest ? n : longest;
        memset(taken, 0, (size_t)n);
        for (int j = 0; j < n; j++) {
            int least = INT_MAX, bank[3] = {0};
            for (int c = 0; c < lanes; c++) bank[c] = (list[j] + c * row) % (unsigned)banks;
            const uint8_t *one = load[bank[0]], *two = load[bank[1]], *three = load[bank[2]];
            for (int step = 0; step < n; step++) {
                const int met = one[step] + (lanes > 1 ? two[step] + three[step] : 0) + FULL * taken[step],
                          cost = met * PATCH_MOST_CORNERS + step;
                least = cost < least ? cost : least;
            }
            const int best = least % PATCH_MOST_CORNERS;
            taken[best] = 1, kept[best] = list[j];
            for (int c = 0; c < lanes; c++) load[bank[c]][best]++;
        }
        memcpy(list, kept, sizeof *kept * (size_t)n);
    }
}
