/* Helpers of several test programs; see common.h. */
#include "tests/common.h"
#include "common/backend/device.h"
#include "common/variant.h"
#include "have/cuda.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void must(fe_status status)
{
    if (status != FE_OK) fail_msg("%s", fe_message());
}

void skip_if(const char *why, const char *what)
{
    if (!why) return;
    print_message("skipped: %s: %s\n", what, why);
    skip();
}

const char *variant_missing(const fe_variant *variant, const char *backend)
{
    if (!strcmp(backend, "host")) return variant->host ? NULL : "it has no host twin";
    return !FE_HAVE_CUDA            ? "built without CUDA"
           : !variant->cuda         ? "it has no CUDA twin"
           : fe_cuda_devices() <= 0 ? "no CUDA device found"
                                    : NULL;
}

void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("this lacks \"%s\":\n%s", part, text);
}

void assert_message(const char *part) { assert_holds(fe_message(), part); }

/* --- numbers and meshes ------------------------------------------------------------------------------ */

uint64_t random_state = 1;

double uniform(void)
{
    random_state = fe_mix(random_state);
    return 0x1p-52 * (double)(random_state >> 11) - 1.0;
}

fe_mesh make_box(int kind, const int *cells, const double *length, double distort, uint64_t seed)
{
    const fe_box box = {.kind = kind,
                        .cells = {cells[0], cells[1], cells[2]},
                        .length = {length[0], length[1], length[2]},
                        .distort = distort,
                        .seed = seed};
    fe_mesh mesh = {0};
    must(fe_mesh_box(&box, &mesh));
    must(fe_mesh_check(&mesh));
    return mesh;
}

fe_mesh small_box(int kind, int nx, int ny, int nz, double distort)
{
    return make_box(kind, (const int[]){nx, ny, nz}, (const double[]){1.5, 2, 0.7}, distort, 3);
}

fe_quality quality_of(const fe_mesh *mesh)
{
    fe_quality q;
    must(fe_mesh_quality(mesh, &q));
    return q;
}

void tag_nodes(fe_mesh *mesh, int64_t first, int64_t stride)
{
    for (int n = 0; n < mesh->n_node; n++) mesh->node_tag[n] = first + stride * n;
}

void require_permutation(const int *order, int n)
{
    char *seen = calloc((size_t)n, 1);
    assert_non_null(seen);
    for (int i = 0; i < n; ++i) {
        assert_in_range(order[i], 0, n - 1);
        assert_int_equal(seen[order[i]]++, 0);
    }
    free(seen);
}

/* --- folders and files ------------------------------------------------------------------------------- */

char test_folder[FOLDER_LENGTH];

int folder_make(char folder[FOLDER_LENGTH])
{
    const char *base = getenv("TMPDIR");
    char made[FOLDER_LENGTH], whole[PATH_MAX];
    snprintf(made, sizeof made, "%s/febench-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(made) || !realpath(made, whole) || strlen(whole) >= FOLDER_LENGTH) return -1;
    strcpy(folder, whole);
    return 0;
}

int folder_remove(const char *folder)
{
    char command[FOLDER_LENGTH + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) ? -1 : 0;
}

int folder_open(void **state)
{
    (void)state;
    return folder_make(test_folder);
}

int folder_close(void **state)
{
    (void)state;
    return folder_remove(test_folder);
}

int folder_count(const char *folder)
{
    int n = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(directory);
    return n;
}

void write_file(const char *path, const char *format, ...)
{
    va_list arguments;
    FILE *file = fopen(path, "w");
    if (!file) fail_msg("%s cannot be written", path);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
}

void write_bytes(const char *path, size_t n, const void *bytes)
{
    FILE *file = fopen(path, "w");
    if (!file) fail_msg("%s cannot be written", path);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* All that a file or a pipe holds. */
static char *read_all(FILE *file, size_t *n)
{
    size_t size = 0, used = 0;
    char *text = NULL;
    do {
        size = 2 * size + 4096;
        text = realloc(text, size + 1);
        assert_non_null(text);
        used += fread(text + used, 1, size - used, file);
    } while (used == size);
    text[used] = 0;
    if (n) *n = used;
    return text;
}

char *read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s cannot be opened; tests run from the root of the repository", path);
    char *text = read_all(file, n);
    fclose(file);
    return text;
}

void read_into(const char *path, size_t size, char *text)
{
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s is not there", path);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* --- programs ---------------------------------------------------------------------------------------- */

static char *read_pipe(int *code, const char *format, va_list arguments)
{
    char command[1024];
    assert_in_range(vsnprintf(command, sizeof command, format, arguments), 1, sizeof command - 1);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *text = read_all(pipe, NULL);
    const int status = pclose(pipe);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return text;
}

char *read_command(int *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = read_pipe(code, format, arguments);
    va_end(arguments);
    return text;
}

char *read_success(const char *format, ...)
{
    int code;
    va_list arguments;
    va_start(arguments, format);
    char *text = read_pipe(&code, format, arguments);
    va_end(arguments);
    if (code) fail_msg("exit code %d: %s", code, text);
    return text;
}

const char *build_folder(void) { return getenv("FE_BUILD") ? getenv("FE_BUILD") : "build"; }

void skip_without(const char *program, const char *what)
{
    char path[FOLDER_LENGTH], why[FOLDER_LENGTH + 32];
    snprintf(path, sizeof path, "%s/%s", build_folder(), program);
    snprintf(why, sizeof why, "%s was not built", path);
    skip_if(access(path, X_OK) ? why : NULL, what);
}
