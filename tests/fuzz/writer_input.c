/* Numbers and names for the writers of results and of VTU files; what they write is read back. */
#include "common/mesh/vtu.h"
#include "common/report/result.h"
#include "tests/fuzz/target.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

/* Takes the input apart; zeros behind its end. */
typedef struct source {
    const uint8_t *at, *end;
} source;

static uint8_t byte(source *s) { return s->at < s->end ? *s->at++ : 0; }

static double number(source *s)
{
    uint8_t raw[8];
    double value;
    for (int i = 0; i < 8; i++) raw[i] = byte(s);
    memcpy(&value, raw, sizeof value);
    return value;
}

/* A name of up to 15 characters, which a letter before it makes unlike the others. */
static void name(source *s, char letter, char text[20])
{
    const int n = byte(s) % 16;
    text[0] = letter;
    for (int i = 0; i < n; i++) {
        const int c = byte(s) & 127;
        text[1 + i] = (char)(c ? c : 'n');
    }
    text[1 + n] = 0;
}

/* --- the result ------------------------------------------------------------------------------------------
 */

enum { N_PATH = 2, N_REACTION = 3, MOST_STEPS = 6 };

static void check_number(const json_t *value, double wanted)
{
    CHECK(value);
    if (isfinite(wanted))
        CHECK(json_is_real(value) && json_real_value(value) == wanted);
    else
        CHECK(json_is_null(value));
}

static void check_result(const char *path, const fe_result *r)
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error),
           *steps = json_object_get(root, "steps");
    if (!root) fprintf(stderr, "line %d: %s\n", error.line, error.text);
    CHECK(root && json_is_array(steps) && (int)json_array_size(steps) == r->n_step);
    CHECK(!strcmp(json_string_value(json_object_get(root, "status")), r->status));
    CHECK(!strcmp(json_string_value(json_object_get(root, "problem")), r->problem->name));
    for (int k = 0; k < r->n_step; k++) {
        const json_t *step = json_array_get(steps, (size_t)k);
        const fe_step_result *s = &r->step[k];
        for (int p = 0; p < N_PATH; p++)
            check_number(json_object_get(json_object_get(step, "factors"), r->problem->path[p].name),
                         s->factor[p]);
        for (int i = 0; i < 3; i++)
            check_number(
                json_array_get(json_object_get(json_object_get(step, "probes"), r->problem->probe[0].name),
                               (size_t)i),
                s->probe[0][i]);
        for (int i = 0; i < N_REACTION; i++)
            check_number(json_object_get(json_object_get(json_object_get(step, "reactions"),
                                                         r->boundary->reaction[i].group),
                                         (const char *[]){"x", "y", "z"}[r->boundary->reaction[i].component]),
                         s->reaction[i]);
        check_number(json_object_get(step, "max_peeq"), s->max_peeq);
    }
    json_decref(root);
}

static void write_result(source *s, const fe_mesh *mesh)
{
    char names[2 + N_PATH + N_REACTION][20], path[256];
    fe_path paths[N_PATH] = {0};
    fe_probe probe = {.name = names[1]};
    fe_reaction reaction[N_REACTION] = {0};
    int node[1] = {0};
    double distance[1] = {number(s)};
    fe_case c = {.name = names[0], .n_path = N_PATH, .path = paths, .n_probe = 1, .probe = &probe};
    fe_boundary b = {.n_reaction = N_REACTION,
                     .reaction = reaction,
                     .n_probe = 1,
                     .probe = node,
                     .probe_distance = distance};
    for (int i = 0; i < 2 + N_PATH + N_REACTION; i++) name(s, (char)('a' + i), names[i]);
    for (int i = 0; i < N_PATH; i++) paths[i].name = names[2 + i];
    for (int i = 0; i < N_REACTION; i++)
        reaction[i] = (fe_reaction){.group = names[2 + N_PATH + i], .component = i};
    fe_result r = {.problem = &c,
                   .mesh = mesh,
                   .boundary = &b,
                   .element = "hex8",
                   .status = "running",
                   .variant = "v",
                   .backend = "host",
                   .ranks = 1,
                   .threads = 1,
                   .volume = number(s)};
    fe_result_file file;
    fuzz_path("result.json", path);
    CHECK(fe_result_open(&file, path) == FE_OK);
    for (int left = byte(s) % MOST_STEPS; left >= 0; left--) {
        if (byte(s) & 1) {
            CHECK(fe_result_write(&file, &r) == FE_OK);
            check_result(path, &r);
        }
        fe_step_result *step = fe_result_add_step(&r);
        CHECK(step);
        for (int i = 0; i < N_PATH; i++) step->factor[i] = number(s);
        for (int i = 0; i < 3; i++) step->probe[0][i] = number(s);
        for (int i = 0; i < N_REACTION; i++) step->reaction[i] = number(s);
        step->max_peeq = number(s);
    }
    r.status = "converged";
    CHECK(fe_result_write(&file, &r) == FE_OK);
    check_result(path, &r);
    fe_result_file_close(&file);
    fe_result_close(&r);
}

/* --- VTU --------------------------------------------------------------------------------------------------
 */

static size_t decode(const char *text, size_t n, unsigned char *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    for (size_t i = 0; i + 4 <= n; i += 4) {
        unsigned bits = 0;
        int pad = 0;
        for (int k = 0; k < 4; k++) {
            const char *at = text[i + k] == '=' ? NULL : strchr(digit, text[i + k]);
            CHECK(at || text[i + k] == '=');
            pad += !at;
            bits = bits << 6 | (at ? (unsigned)(at - digit) : 0);
        }
        for (int k = 0; k < 3 - pad; k++) out[used++] = (unsigned char)(bits >> (16 - 8 * k));
    }
    return used;
}

/* The array `what` of a file has to hold these bytes, in one block. */
static void check_array(const char *text, const char *what, const void *wanted, size_t bytes)
{
    char key[64];
    unsigned char head[64], packed[8192], plain[8192];
    uint64_t header[4];
    snprintf(key, sizeof key, "Name=\"%s\"", what);
    const char *at = strstr(text, key), *data = at ? strstr(at, "format=\"binary\">\n") : NULL;
    CHECK(data && bytes <= sizeof plain);
    data = strchr(data, '\n') + 1;
    CHECK(decode(data, 44, head) == 32); /* header: 1 block, its size, size of the last, packed size */
    memcpy(header, head, sizeof header);
    CHECK(header[0] == 1 && header[2] == bytes && header[3] <= sizeof packed - 4);
    CHECK(decode(data + 44, (header[3] + 2) / 3 * 4, packed) == header[3]);
    uLongf n = sizeof plain;
    CHECK(uncompress(plain, &n, packed, header[3]) == Z_OK && n == bytes);
    CHECK(!memcmp(plain, wanted, bytes));
}

static void write_fields(source *s, const fe_mesh *mesh)
{
    const int n_vector = 3 * mesh->n_node;
    double vector[3 * 27], tensor[6 * 8], scalar[8], time = 0;
    int rank[8];
    char title[20], path[256], file[512];
    fe_series series;
    CHECK(mesh->n_node <= 27 && mesh->n_elem <= 8);
    name(s, 't', title);
    fuzz_path("fields", path);
    CHECK(fe_series_open(&series, path, title) == FE_OK);
    for (int step = byte(s) % 3; step >= 0; step--) {
        int finite = 1;
        for (int i = 0; i < n_vector; i++) vector[i] = number(s), finite &= isfinite(vector[i]);
        for (int i = 0; i < 6 * mesh->n_elem; i++) tensor[i] = number(s), finite &= isfinite(tensor[i]);
        for (int i = 0; i < mesh->n_elem; i++)
            scalar[i] = number(s), rank[i] = byte(s), finite &= isfinite(scalar[i]);
        const fe_fields f = {.time = time++,
                             .displacement = vector,
                             .reaction_force = vector,
                             .stress = tensor,
                             .plastic_strain = tensor,
                             .von_mises = scalar,
                             .peeq = scalar,
                             .peeq_max = scalar,
                             .rank = rank};
        const fe_status status = fe_series_write(&series, mesh, &f);
        CHECK(status == (finite ? FE_OK : FE_FAILED));
        if (!finite) {
            fuzz_check_message();
            break;
        }
        size_t n;
        snprintf(file, sizeof file, "%s/%s_%04d.vtu", path, series.name, series.n - 1);
        char *text = fuzz_read(file, &n);
        check_array(text, "displacement", vector, (size_t)n_vector * sizeof *vector);
        check_array(text, "stress", tensor, 6 * (size_t)mesh->n_elem * sizeof *tensor);
        check_array(text, "peeq_max", scalar, (size_t)mesh->n_elem * sizeof *scalar);
        check_array(text, "rank", rank, (size_t)mesh->n_elem * sizeof *rank);
        check_array(text, "node_tag", mesh->node_tag, (size_t)mesh->n_node * sizeof *mesh->node_tag);
        free(text);
        remove(file);
    }
    snprintf(file, sizeof file, "%s/%s.pvd", path, series.name);
    fe_series_close(&series);
    remove(file);
}

void fuzz_writer(const uint8_t *bytes, size_t n)
{
    static fe_mesh mesh;
    const fe_box box = {.kind = FE_HEX8, .cells = {2, 1, 1}, .length = {1, 1, 1}};
    source s = {bytes, bytes + n};
    if (!mesh.x) CHECK(fe_mesh_box(&box, &mesh) == FE_OK);
    if (byte(&s) & 1)
        write_result(&s, &mesh);
    else
        write_fields(&s, &mesh);
}
