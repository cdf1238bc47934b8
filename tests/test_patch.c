/* Records of patches: what a thread block of `patch` reads. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/mesh/bisect.h"
#include "common/problem/share.h"
#include "tests/common.h"
#include "tests/scene.h"
#include "variants/patch/plan.h"

static const fe_material some_material = {.E = 1.0, .nu = 0.3, .sigma_y = 1.0, .H = 1.0};

/* Like patch_ordered on a GPU, whose multiprocessors are given. */
static patch_plan plan_on(patch_processor processor, const fe_mesh *mesh, const fe_share *share,
                          int precision, int threads, fe_device **d)
{
    fe_problem p;
    patch_plan plan = {.ordered = 1, .x_row = 3, .group = 1, .processor = processor};
    must(fe_backend_host.open(0, threads, d));
    must(fe_problem_open(mesh, share, mesh->kind, &some_material, *d, &p));
    must(patch_plan_open(&p, precision, &plan));
    return plan;
}
static patch_plan plan_of(const fe_mesh *mesh, const fe_share *share, int precision, int threads,
                          fe_device **d)
{
    return plan_on((patch_processor){0}, mesh, share, precision, threads, d);
}

/* One patch of a plan, and where its parts are. */
typedef struct record {
    const patch_head *head;
    const int *node, *elem;
    const uint16_t *place, *conn, *first, *corner;
    const char *x;
} record;
static record record_of(const patch_plan *plan, int patch)
{
    const char *at = plan->record + (size_t)patch * plan->stride;
    return (record){.head = (const patch_head *)at,
                    .node = (const int *)(at + plan->node),
                    .elem = (const int *)(at + plan->elem),
                    .place = (const uint16_t *)(at + plan->place),
                    .conn = (const uint16_t *)(at + plan->conn),
                    .first = (const uint16_t *)(at + plan->first),
                    .corner = (const uint16_t *)(at + plan->corner),
                    .x = at + plan->x};
}

/* Each node of a patch has a row of its own with its coordinates. */
static void check_places(const record *r, const fe_mesh *mesh, const fe_share *share, size_t scalar,
                         int *node_at)
{
    for (int i = 0; i < r->head->n_node; i++) node_at[i] = -1;
    for (int i = 0; i < r->head->n_node; i++) {
        const int row = r->place[i];
        assert_true(row < r->head->n_node && node_at[row] < 0);
        node_at[row] = i;
        const double *x = mesh->x + 3 * (size_t)share->node[patch_node(r->node[i])],
                     *x0 = mesh->x + 3 * (size_t)share->node[patch_node(r->node[0])];
        for (int c = 0; c < 3; c++)
            if (scalar == sizeof *x)
                assert_true(((const double *)r->x)[3 * row + c] == x[c]);
            else
                assert_true(((const float *)r->x)[3 * row + c] == (float)(x[c] - x0[c]));
    }
}

/* The corners of a patch's elements by its record are those of the mesh. Marks the nodes that slots have. */
static void check_elements(const record *r, int kind, const fe_mesh *mesh, const fe_share *share,
                           const int *node_at, uint8_t *seen, uint8_t (*has)[FE_MOST_CORNERS])
{
    const patch_form form = patch_form_of(kind);
    int n_elem = 0;
    for (int s = 0; s < r->head->n_slot; s++)
        for (int i = 0; i < form.together; i++) {
            const int elem = r->elem[form.together * s + i];
            if (elem < 0) continue;
            const int *nodes = mesh->conn + (size_t)fe_corners(kind) * share->elem[elem];
            assert_true(!seen[elem]);
            seen[elem] = 1, n_elem++;
            for (int b = 0; b < fe_corners(kind); b++) {
                const int at = patch_corner(kind, i, b),
                          local = r->node[node_at[r->conn[form.width * s + at]]];
                int corners = 0;
                has[s][at] = 1;
                for (int a = 0; a < fe_corners(kind); a++)
                    corners += share->node[patch_node(local)] == nodes[a];
                assert_int_equal(corners, 1);
            }
        }
    assert_int_equal(n_elem, r->head->n_elem);
}

/* The list of a node is the corners at which slots have it, each once, and then places of zeros. */
static void check_lists(const record *r, int kind, uint8_t (*has)[FE_MOST_CORNERS])
{
    const patch_form form = patch_form_of(kind);
    int n_corner = 0, n_had = 0;
    for (int i = 0; i < r->head->n_node; i++) {
        assert_int_equal(r->first[i] % PATCH_TOGETHER, 0);
        for (int k = r->first[i], filled = 0; k < r->first[i + 1]; k++) {
            const int s = r->corner[k] % form.row, a = r->corner[k] / (3 * form.row);
            filled |= r->corner[k] == form.slots;
            if (filled) {
                assert_int_equal(r->corner[k], form.slots);
                continue;
            }
            assert_int_equal(r->corner[k] % (3 * form.row), s);
            assert_true(s < r->head->n_slot && a < form.nodes && has[s][a] == 1);
            assert_int_equal(r->conn[form.width * s + a], r->place[i]);
            has[s][a] = 2, n_corner++;
        }
    }
    for (int s = 0; s < r->head->n_slot; s++)
        for (int a = 0; a < form.nodes; a++) n_had += has[s][a] != 0;
    assert_int_equal(n_corner, n_had);
}

/* A mesh of one rank: a distorted box, or an irregular mesh. */
typedef struct single {
    fe_mesh mesh;
    fe_partition partition;
    fe_share share;
} single;
static void single_open_share(single *s)
{
    must(fe_mesh_reorder(&s->mesh, FE_ORDER_BISECTION, 3));
    must(fe_partition_mesh(&s->mesh, 1, FE_PARTITION_CONTIGUOUS, &s->partition));
    must(fe_share_build(&s->mesh, &s->partition, NULL, 0, &s->share));
}
/* Cells of a box: of quadratic elements half as many along an axis. */
static fe_mesh box_of(int kind, const int cells[3], const double length[3])
{
    const int half = fe_is_quadratic(kind) ? 2 : 1;
    return make_box(kind, (const int[]){cells[0] / half, cells[1] / half, cells[2] / half}, length, 0.2, 3);
}
static single single_open(int kind, int irregular)
{
    single s;
    if (irregular)
        must(fe_mesh_irregular(kind, 4000, 5, &s.mesh));
    else
        s.mesh = box_of(kind, (const int[]){23, 17, 13}, (const double[]){2, 1.4, 1.3});
    single_open_share(&s);
    return s;
}
static void single_close(single *s)
{
    fe_share_close(&s->share);
    fe_partition_close(&s->partition);
    fe_mesh_close(&s->mesh);
}

static const int kinds[] = {FE_HEX8, FE_TET4,
#if FE_QUADRATIC
                            FE_HEX27, FE_TET10
#endif
};
enum { N_KIND = sizeof kinds / sizeof *kinds };

/* All elements, in doubles and floats, in a box and in an irregular mesh. */
static void each_plan(void (*check)(const patch_plan *, const single *, size_t scalar))
{
    for (int k = 0; k < 4 * N_KIND; k++) {
        const int floats = k / N_KIND % 2;
        single m = single_open(kinds[k % N_KIND], k / (2 * N_KIND));
        fe_device *d;
        const patch_plan plan = plan_of(&m.mesh, &m.share, floats ? FE_SINGLE : FE_DOUBLE, 3, &d);
        check(&plan, &m, floats ? sizeof(float) : sizeof(double));
        d->ops->close(d);
        single_close(&m);
    }
}

static void check_records(const patch_plan *plan, const single *m, size_t scalar)
{
    uint8_t *seen = zeros((size_t)m->share.n_elem, 1);
    for (int i = 0; i < plan->n_patch; i++) {
        const record r = record_of(plan, i);
        int node_at[PATCH_MOST_NODES];
        uint8_t has[PATCH_MOST_ELEMENTS][FE_MOST_CORNERS] = {{0}};
        check_places(&r, &m->mesh, &m->share, scalar, node_at);
        check_elements(&r, m->mesh.kind, &m->mesh, &m->share, node_at, seen, has);
        check_lists(&r, m->mesh.kind, has);
    }
    for (int e = 0; e < m->share.n_elem; e++) assert_true(seen[e]);
    free(seen);
}
static void records_hold_their_elements(void **state)
{
    (void)state;
    each_plan(check_records);
}

/* A ball of 360 Tet4 at a centre: its surface is that of a box of 2 x 6 x 6 cells, drawn to a sphere, every
 * second node further out. Each face of a cell has three Tet4 around an edge, two of them at the centre. */
enum { BALL_NODES = 123, BALL_ELEMENTS = 360 };
typedef struct ball {
    double x[3 * BALL_NODES];
    int conn[4 * BALL_ELEMENTS];
} ball;
static int ball_node(const int *cells, const int at[3])
{
    int n = 1;
    for (int i = 0; i <= cells[0]; i++)
        for (int j = 0; j <= cells[1]; j++)
            for (int k = 0; k <= cells[2]; k++) {
                if (i == at[0] && j == at[1] && k == at[2]) return n;
                n += i == 0 || i == cells[0] || j == 0 || j == cells[1] || k == 0 || k == cells[2];
            }
    return -1;
}
static void open_ball(ball *b)
{
    static const int cells[3] = {2, 6, 6};
    int n = 0;
    memset(b, 0, sizeof *b);
    for (int f = 0; f < 6; f++)
        for (int i = 0; i < cells[(f / 2 + 1) % 3]; i++)
            for (int j = 0; j < cells[(f / 2 + 2) % 3]; j++) {
                int q[4], outer[4];
                for (int m = 0; m < 4; m++) {
                    int at[3];
                    at[f / 2] = f % 2 * cells[f / 2];
                    at[(f / 2 + 1) % 3] = i + (m == 1 || m == 2), at[(f / 2 + 2) % 3] = j + (m >= 2);
                    q[m] = ball_node(cells, at), outer[m] = (at[0] + at[1] + at[2]) % 2;
                    double p[3], length = 0;
                    for (int c = 0; c < 3; c++) p[c] = 2.0 * at[c] / cells[c] - 1, length += p[c] * p[c];
                    for (int c = 0; c < 3; c++)
                        b->x[3 * q[m] + c] = p[c] * (1 + 0.12 * outer[m]) / sqrt(length);
                }
                const int in = outer[0]; /* the diagonal that lies further in begins here */
                const int low[2] = {q[in], q[in + 2]}, high[2] = {q[1 - in], q[3 - in]};
                const int elem[3][4] = {{0, low[0], low[1], high[0]},
                                        {0, low[0], low[1], high[1]},
                                        {low[0], low[1], high[0], high[1]}};
                memcpy(b->conn + 4 * n, elem, sizeof elem), n += 3;
            }
    for (int e = 0; e < n; e++) { /* positive volumes */
        int *node = b->conn + 4 * e;
        double a[3][3];
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++) a[k][c] = b->x[3 * node[k + 1] + c] - b->x[3 * node[0] + c];
        const double volume = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
                              a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
                              a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
        const int kept = node[2];
        if (volume < 0) node[2] = node[3], node[3] = kept;
    }
    assert_int_equal(n, BALL_ELEMENTS);
}

/* Corners of the centre in fans of the ball's elements, if these are few enough for one patch. */
static int corners_of_centre(const ball *b)
{
    uint16_t conn[BALL_ELEMENTS][8];
    patch_fan fan[BALL_ELEMENTS];
    for (int e = 0; e < BALL_ELEMENTS; e++)
        for (int a = 0; a < 4; a++) conn[e][a] = (uint16_t)b->conn[4 * e + a];
    const int n = patch_fans((const uint16_t(*)[8])conn, BALL_ELEMENTS, fan);
    int corners = 0;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < PATCH_FAN_NODES; a++)
            corners += fan[i].node[a] == 0 && (a < 2 || a > PATCH_FAN || fan[i].elem[a - 1] >= 0);
    return n <= PATCH_MOST_SLOTS ? corners : 0;
}

/* A closed fan has a node twice, so a node can have more corners than there are slots. */
static void closed_fans_meet_at_a_node(void **state)
{
    (void)state;
    ball b;
    int most = 0;
    open_ball(&b);
    random_state = 1;
    for (int turn = 0; turn < 20000 && most <= PATCH_MOST_SLOTS; turn++) {
        for (int e = BALL_ELEMENTS - 1; e > 0; e--) {
            const int other = (int)((uniform() + 1) / 2 * (e + 1));
            for (int a = 0; a < 4; a++) {
                const int kept = b.conn[4 * e + a];
                b.conn[4 * e + a] = b.conn[4 * other + a], b.conn[4 * other + a] = kept;
            }
        }
        most = corners_of_centre(&b);
    }
    assert_true(most > PATCH_MOST_SLOTS);
    single m = {
        .mesh = {.kind = FE_TET4, .n_node = BALL_NODES, .n_elem = BALL_ELEMENTS, .x = b.x, .conn = b.conn}};
    must(fe_partition_mesh(&m.mesh, 1, FE_PARTITION_CONTIGUOUS, &m.partition));
    must(fe_share_build(&m.mesh, &m.partition, NULL, 0, &m.share));
    fe_device *d;
    const patch_plan plan = plan_of(&m.mesh, &m.share, FE_DOUBLE, 1, &d);
    assert_int_equal(plan.n_patch, 1);
    check_records(&plan, &m, sizeof(double));
    d->ops->close(d);
    fe_share_close(&m.share);
    fe_partition_close(&m.partition);
}

/* Rounds of shared memory in which lanes read these rows of three numbers, one component: a bank serves one
 * row a round, to all lanes that read it. */
static int rounds_of(const int *row, int n, int banks)
{
    int most = 0;
    for (int i = 0; i < n; i++) {
        int rows = 0;
        for (int j = 0; j < n; j++) {
            int first = 1;
            for (int k = 0; k < j; k++) first &= row[k] != row[j];
            rows += first && (row[j] - row[i]) % banks == 0;
        }
        most = rows > most ? rows : most;
    }
    return most;
}

/* Mean rounds of a read of corners by all patches, where nodes are in the rows chosen and where in rows in
 * the nodes' order; and rounds of the sums beside those that take all banks. */
static void count_rounds(const patch_plan *plan, int kind, int banks, double *chosen, double *plain,
                         double *sums)
{
    const patch_form form = patch_form_of(kind);
    const int together = patch_slots_together(kind, banks), lanes = patch_fanned(kind) ? 3 : 1;
    long reads = 0, here = 0, before = 0, forces = 0, summed = 0;
    for (int i = 0; i < plan->n_patch; i++) {
        const record r = record_of(plan, i);
        int node_at[PATCH_MOST_NODES];
        for (int k = 0; k < r.head->n_node; k++) node_at[r.place[k]] = k;
        for (int s = 0; s < r.head->n_slot; s += together)
            for (int read = 0; read < patch_reads(kind, banks); read++, reads++) {
                int row[32], node[32], n = 0;
                for (int slot = s; slot < s + together && slot < r.head->n_slot; slot++)
                    for (int a = 0; a < form.nodes; a++) {
                        if (patch_read_of(kind, banks, a) != read) continue;
                        assert_true(n < banks);
                        row[n] = r.conn[form.width * slot + a], node[n] = node_at[row[n]], n++;
                    }
                here += rounds_of(row, n, banks), before += rounds_of(node, n, banks);
            }
        for (int t = 0; t < lanes * r.head->n_node; t += banks)
            for (int k = 0, more = 1; more; k++) {
                int at[32], n = 0;
                for (int l = t; l < t + banks && l < lanes * r.head->n_node; l++)
                    if (r.first[l / lanes] + k < r.first[l / lanes + 1])
                        at[n++] = r.corner[r.first[l / lanes] + k] + l % lanes * form.row;
                more = n > 0;
                forces += n, summed += rounds_of(at, n, banks);
            }
    }
    *chosen = (double)here / (double)reads, *plain = (double)before / (double)reads;
    *sums = (double)summed * banks / (double)forces;
}

/* Without a choice of rows the reads of a Hex8 take 1.5 to 1.8 rounds, those of a fan and of a Tet10 2.1
 * to 2.5, of a Hex27 2.6, without one of the order of nodes and corners sums take 2.2 to 3.3. */
static void check_rounds(const patch_plan *plan, const single *m, size_t scalar)
{
    const int kind = m->mesh.kind;
    double chosen, plain, sums;
    count_rounds(plan, kind, (int)(128 / scalar), &chosen, &plain, &sums);
    const double most = kind == FE_TET4         ? 1.7
                        : fe_is_quadratic(kind) ? 1.35
                                                : 1.2,
                 most_sums = scalar == 8 ? (kind == FE_TET10 ? 2.7 : 2.15) : (kind == FE_TET10 ? 3.6 : 2.45);
    if (chosen > most || chosen > 0.75 * plain || sums > most_sums)
        fail_msg("%s: %.2f rounds, %.2f by node, sums %.2f", fe_kind_name(kind), chosen, plain, sums);
}
static void lanes_meet_few_conflicts(void **state)
{
    (void)state;
    each_plan(check_rounds);
}

static void require_same_plan(const patch_plan *a, const patch_plan *b)
{
    assert_int_equal(a->n_patch, b->n_patch);
    assert_int_equal(a->n_patch_interior, b->n_patch_interior);
    assert_int_equal(a->stride, b->stride);
    assert_int_equal(a->n_border, b->n_border);
    assert_memory_equal(a->record, b->record, (size_t)a->n_patch * a->stride);
    assert_memory_equal(a->border, b->border, (size_t)a->n_border * sizeof *a->border);
    assert_memory_equal(a->partial_first, b->partial_first, ((size_t)a->n_border + 1) * sizeof(int));
    assert_memory_equal(a->partial_row, b->partial_row, (size_t)a->partial_first[a->n_border] * sizeof(int));
}

/* Two patches of a border node add to the output, each later one has a row of its own, and the second pass
 * adds the rows of a node in the patches' order, each once. */
static void check_rows(const patch_plan *plan, int n_local)
{
    int *patches = zeros((size_t)n_local, sizeof *patches), n_row = 0, most = 0;
    int *node_of_row = zeros((size_t)n_local * 8, sizeof *node_of_row);
    for (int i = 0; i < plan->n_patch; i++) {
        int n;
        const int *node = patch_nodes_of(plan, plan->record, i, &n);
        const patch_head *head = (const patch_head *)(plan->record + (size_t)i * plan->stride);
        assert_int_equal(head->first_row, n_row);
        for (int j = 0; j < n; j++) {
            const int at = patch_node(node[j]), earlier = patches[at]++;
            if (node[j] >= 0) assert_true(j < head->n_added && earlier == 0), patches[at] = INT_MIN / 2;
            assert_true(earlier >= 0); /* a node inside one patch has no other */
            assert_int_equal(j < head->n_added, earlier < 2);
            assert_true(n_row < 8 * n_local);
            if (j >= head->n_added) node_of_row[n_row++] = at;
            most = patches[at] > most ? patches[at] : most;
        }
    }
    assert_true(most > 4);
    for (int i = 0; i < plan->n_border; i++) {
        const int first = plan->partial_first[i], last = plan->partial_first[i + 1];
        assert_int_equal(last - first, patches[plan->border[i]] - 2);
        for (int k = first; k < last; k++) {
            assert_int_equal(node_of_row[plan->partial_row[k]], plan->border[i]);
            assert_true(k == first || plan->partial_row[k - 1] < plan->partial_row[k]);
        }
        assert_true(i == 0 || plan->border[i - 1] < plan->border[i]);
    }
    assert_int_equal(plan->partial_first[plan->n_border], n_row);
    free(patches), free(node_of_row);
}

/* One part is followed by the second pass, and no patch comes after it. */
static void check_passes(const patch_plan *plan)
{
    int passes = 0, patches = 0;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        int first, last;
        patch_range(plan, (fe_part)part, &first, &last);
        patches += last - first;
        if (patch_adds_rows(plan, first, last)) passes++, assert_int_equal(patches, plan->n_patch);
    }
    assert_int_equal(passes, plan->ordered);
}

/* The same patches with any number of threads; those of a mesh in pieces are its pieces, unless one is cut.
 */
static void plans_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * N_KIND; k++) {
        const int kind = kinds[k % N_KIND], most = fe_piece_elements(kind), in_pieces = k < N_KIND;
        fe_mesh mesh = box_of(kind, (const int[]){19, 14, 12}, (const double[]){2, 1.4, 1.3});
        fe_partition partition;
        fe_share share;
        fe_device *device[2];
        must(fe_mesh_reorder(&mesh, in_pieces ? FE_ORDER_BISECTION : FE_ORDER_RANDOM, 3));
        must(fe_partition_mesh(&mesh, 2, FE_PARTITION_CONTIGUOUS, &partition));
        must(fe_share_build(&mesh, &partition, NULL, 1, &share));
        const patch_plan one = plan_of(&mesh, &share, FE_DOUBLE, 1, &device[0]);
        for (int threads = 2; threads < 8; threads += 3) {
            const patch_plan other = plan_of(&mesh, &share, FE_DOUBLE, threads, &device[1]);
            require_same_plan(&one, &other);
            device[1]->ops->close(device[1]);
        }
        check_rows(&one, share.n_local);
        check_passes(&one);
        const patch_head *head = (const patch_head *)one.record;
        const int *elem = (const int *)(one.record + one.elem);
        int least = share.n_elem;
        for (int i = 0; i < head->n_slot * patch_form_of(kind).together; i++)
            if (elem[i] >= 0 && elem[i] < least) least = elem[i];
        if (in_pieces) assert_int_equal(least, 0);
        if (in_pieces && head->n_elem == most)
            for (int i = 0; i < head->n_slot * patch_form_of(kind).together; i++) assert_true(elem[i] < most);
        device[0]->ops->close(device[0]);
        fe_share_close(&share);
        fe_partition_close(&partition);
        fe_mesh_close(&mesh);
    }
}

enum { UNIT = 256, RESERVED = 1024 };
/* Bytes that as many blocks take as there are registers for. */
static int taken(const patch_plan *plan, int kind)
{
    const int bytes = patch_shared_bytes(kind, plan, sizeof(double), sizeof(double)) + RESERVED;
    return PATCH_BLOCKS(kind, sizeof(double)) * ((bytes + UNIT - 1) / UNIT * UNIT);
}

/* On multiprocessors that hold these blocks only if patches are somewhat smaller than the largest ones, few
 * have to be cut, and are; until it would be too many. */
static void check_cut(const single *m, const patch_plan *all)
{
    const int kind = m->mesh.kind, step = PATCH_BLOCKS(kind, sizeof(double)) * UNIT;
    patch_processor p = {taken(all, kind) - step, RESERVED};
    for (int cut = 1, i = 0; cut; i++, p.shared -= step) {
        fe_device *d;
        const patch_plan plan = plan_on(p, &m->mesh, &m->share, FE_DOUBLE, 3, &d);
        cut = plan.n_patch > all->n_patch;
        assert_true(cut || i > 0);
        if (cut) {
            assert_true(plan.n_patch <= all->n_patch + all->n_patch / 32);
            assert_true(taken(&plan, kind) <= p.shared);
            check_records(&plan, m, sizeof(double));
        } else {
            require_same_plan(all, &plan);
        }
        d->ops->close(d);
    }
}

static void few_large_patches_are_cut(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * N_KIND; k++) {
        const int kind = kinds[k % N_KIND];
        single m;
        fe_device *d;
        if (k < N_KIND)
            m.mesh = box_of(kind, (const int[]){37, 33, 29}, (const double[]){3.7, 3.3, 2.9});
        else
            must(fe_mesh_irregular(kind, 60000, 5, &m.mesh));
        single_open_share(&m);
        const patch_plan all = plan_of(&m.mesh, &m.share, FE_DOUBLE, 3, &d);
        check_cut(&m, &all);
        d->ops->close(d);
        single_close(&m);
    }
}

/* A plan without border patches has its second pass once, too. */
static void one_rank_has_one_pass(void **state)
{
    (void)state;
    for (int k = 0; k < N_KIND; k++) {
        single m = single_open(kinds[k], 0);
        fe_device *d;
        const patch_plan plan = plan_of(&m.mesh, &m.share, FE_DOUBLE, 2, &d);
        assert_int_equal(plan.n_patch, plan.n_patch_interior);
        check_passes(&plan);
        d->ops->close(d);
        single_close(&m);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_hold_their_elements), cmocka_unit_test(closed_fans_meet_at_a_node),
        cmocka_unit_test(lanes_meet_few_conflicts),    cmocka_unit_test(plans_do_not_depend_on_threads),
        cmocka_unit_test(few_large_patches_are_cut),   cmocka_unit_test(one_rank_has_one_pass),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
