/* The file of a state: a magic word, the head, the arrays in the order of fe_checkpoint with the flags last,
 * zeros up to a multiple of 8 bytes, and a hash of all that. Numbers are the machine's own. */
#include "common/report/checkpoint.h"
#include "common/base/file.h"
#include "common/base/hash.h"
#include "common/physics/view.h"
#include "common/report/version.h"

#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'F', 'E', 'S', 'T', 'A', 'T', 'E', '3'};
_Static_assert(sizeof(fe_checkpoint_head) % 8 == 0, "arrays behind the head are aligned");

fe_identity fe_identity_of(uint64_t problem, uint64_t mesh, int order, int tet_points)
{
    fe_identity identity = {.problem = problem, .mesh = mesh, .order = order, .tet_points = tet_points};
    snprintf(identity.version, sizeof identity.version, "%s", fe_commit());
    return identity;
}

void fe_identity_inputs(const fe_identity *identity, char text[FE_INPUT_HASH])
{
    snprintf(text, FE_INPUT_HASH, "%016llx",
             (unsigned long long)fe_mix(fe_mix(identity->problem) ^ identity->mesh));
}

/* --- arrays ------------------------------------------------------------------------------------------ */

enum { N_ARRAY = 7 };
typedef struct array {
    void **data;
    size_t bytes;
} array;

/* In the order of the file. Each size was checked before. */
static void list_arrays(fe_checkpoint *c, array list[N_ARRAY])
{
    const fe_checkpoint_head *h = &c->head;
    const size_t path = (size_t)h->n_path * sizeof(double), node = 3 * (size_t)h->n_node * sizeof(double);
    list[0] = (array){(void **)&c->factor, path}, list[1] = (array){(void **)&c->change, path};
    list[2] = (array){(void **)&c->displacement, node}, list[3] = (array){(void **)&c->increment, node};
    list[4] =
        (array){(void **)&c->point, (size_t)h->n_yielded * (size_t)h->n_point * FE_N_STATE * sizeof(double)};
    list[5] = (array){(void **)&c->multiplier, (size_t)h->n_contact * sizeof(double)};
    list[6] = (array){(void **)&c->flags, (size_t)h->n_elem};
}

static size_t padding(size_t bytes) { return (8 - bytes % 8) % 8; }

void fe_checkpoint_close(fe_checkpoint *c)
{
    if (c->memory)
        free(c->memory);
    else
        free(c->factor), free(c->change), free(c->displacement), free(c->increment), free(c->flags),
            free(c->point), free(c->multiplier);
    *c = (fe_checkpoint){0};
}

/* --- writing ----------------------------------------------------------------------------------------- */

/* A run could not go on from other numbers; the state before this one stays. */
static int is_finite(const array *a)
{
    const double *x = *a->data;
    for (size_t i = 0; i < a->bytes / sizeof *x; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static void put(FILE *stream, fe_hash *hash, size_t n, const void *bytes)
{
    if (n == 0) return; /* `bytes` may be NULL then, which fwrite must not get */
    fe_hash_add(hash, n, bytes);
    fwrite(bytes, 1, n, stream); /* fe_file_commit sees what failed */
}

fe_status fe_checkpoint_write(const fe_checkpoint *c, const char *path)
{
    static const char zeros[8];
    fe_checkpoint listed = *c;
    array list[N_ARRAY];
    fe_file file;
    fe_hash hash = {0};
    list_arrays(&listed, list);
    for (int i = 0; i < N_ARRAY - 1; i++)
        if (!is_finite(&list[i])) return fe_fail(FE_FAILED, "%s: a number of the state is not finite", path);
    FE_TRY(fe_file_open(&file, path));
    put(file.stream, &hash, sizeof magic, magic);
    put(file.stream, &hash, sizeof c->head, &c->head);
    for (int i = 0; i < N_ARRAY; i++) put(file.stream, &hash, list[i].bytes, *list[i].data);
    put(file.stream, &hash, padding(list[N_ARRAY - 1].bytes), zeros);
    const uint64_t value = fe_hash_value(&hash);
    fwrite(&value, 1, sizeof value, file.stream);
    return fe_file_commit(&file);
}

/* --- reading ----------------------------------------------------------------------------------------- */

/* Whether all sizes are those of a file of n bytes; none can then overflow. */
static int fits(const fe_checkpoint_head *h, size_t n)
{
    const int64_t size[] = {h->n_step, h->n_path, h->n_node, h->n_elem, h->n_yielded, h->n_contact};
    for (int i = 0; i < 6; i++)
        if (size[i] < 0 || (uint64_t)size[i] > n + (i == 0 ? INT32_MAX : 0)) return 0;
    return h->n_yielded <= h->n_elem && h->n_point >= 0 && h->n_point <= 8 && h->identity.version[63] == 0;
}

/* The arrays in the memory behind the head, or NULL sizes where the file has others. */
static int place_arrays(fe_checkpoint *c, size_t n)
{
    array list[N_ARRAY];
    size_t at = sizeof magic + sizeof c->head;
    int64_t yielded = 0;
    if (!fits(&c->head, n)) return 0;
    list_arrays(c, list);
    for (int i = 0; i < N_ARRAY; i++) {
        if (list[i].bytes > n - at) return 0;
        *list[i].data = c->memory + at;
        at += list[i].bytes;
    }
    if (at + padding(list[N_ARRAY - 1].bytes) + sizeof(uint64_t) != n) return 0;
    for (int64_t e = 0; e < c->head.n_elem; e++) {
        if (c->flags[e] > (FE_YIELDED | FE_SOFTENED)) return 0;
        yielded += c->flags[e] & FE_YIELDED;
    }
    return yielded == c->head.n_yielded;
}

fe_status fe_checkpoint_read(const char *path, fe_checkpoint *c)
{
    size_t n;
    uint64_t value;
    fe_hash hash = {0};
    *c = (fe_checkpoint){0};
    FE_TRY(fe_file_read(path, &c->memory, &n));
    const size_t least = sizeof magic + sizeof c->head + sizeof value;
    fe_status status = FE_OK;
    if (n < least || memcmp(c->memory, magic, sizeof magic)) {
        status = fe_fail(FE_BAD_INPUT, "%s: is not a state of a run", path);
    } else {
        fe_hash_add(&hash, n - sizeof value, c->memory);
        memcpy(&value, c->memory + n - sizeof value, sizeof value);
        memcpy(&c->head, c->memory + sizeof magic, sizeof c->head);
        if (value != fe_hash_value(&hash) || !place_arrays(c, n))
            status = fe_fail(FE_BAD_INPUT, "%s: is damaged", path);
    }
    if (status != FE_OK) fe_checkpoint_close(c);
    return status;
}

/* With the hashes as they should be, only a file that was made to deceive has other sizes. */
static int has_sizes_of(const fe_checkpoint_head *h, const fe_case *problem, const fe_mesh *mesh)
{
    const int points = mesh->kind == FE_TET4 ? (int)h->identity.tet_points : fe_points(mesh->kind);
    return h->n_step == 0 || (h->n_step <= problem->n_step && h->n_path == problem->n_path &&
                              h->n_node == mesh->n_node && h->n_elem == mesh->n_elem && h->n_point == points);
}

fe_status fe_checkpoint_belongs(const fe_checkpoint *c, const char *path, const fe_identity *to,
                                const fe_case *problem, const fe_mesh *mesh)
{
    const fe_identity *own = &c->head.identity;
    if (strcmp(own->version, to->version))
        return fe_fail(FE_BAD_INPUT, "%s: was written by version %s; this is %s", path, own->version,
                       to->version);
    if (own->problem != to->problem)
        return fe_fail(FE_BAD_INPUT, "%s: belongs to another problem than %s", path, problem->file);
    if (own->mesh != to->mesh)
        return fe_fail(FE_BAD_INPUT, "%s: belongs to another mesh than %s", path, mesh->path);
    if (own->order != to->order)
        return fe_fail(FE_BAD_INPUT, "%s: belongs to a run with another --order", path);
    if (own->tet_points != to->tet_points)
        return fe_fail(FE_BAD_INPUT, "%s: belongs to a run with --tet-points %d", path, (int)own->tet_points);
    return has_sizes_of(&c->head, problem, mesh) ? FE_OK : fe_fail(FE_BAD_INPUT, "%s: is damaged", path);
}
