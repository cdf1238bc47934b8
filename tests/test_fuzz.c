/* The fuzzers' targets over the kept corpus, without a fuzzer: each file of tests/fuzz/corpus/TARGET, whole,
 * cut short and with bytes changed. A target aborts where something is wrong. */
#include "tests/common.h"
#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12 };

static void run_file(void (*target)(const uint8_t *, size_t), const char *path)
{
    size_t n;
    uint8_t *bytes = (uint8_t *)read_file(path, &n), *copy = malloc(n + 1);
    random_state = 1;
    target(bytes, n);
    for (int round = 0; round < ROUNDS && n; round++) {
        const size_t length = round % 3 ? n : (size_t)(0.5 * (uniform() + 1) * (double)n);
        memcpy(copy, bytes, n);
        for (int k = 0; k < round; k++)
            copy[(size_t)(0.5 * (uniform() + 1) * (double)(n - 1))] = (uint8_t)(128 * (uniform() + 1));
        target(copy, length);
    }
    free(bytes);
    free(copy);
}

/* In a process of its own: what aborts fails this test, not all. */
static void run_corpus(const char *name, void (*target)(const uint8_t *, size_t))
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "tests/fuzz/corpus/%s/*", name);
    skip_if(glob(pattern, 0, NULL, &found) ? "not below the working directory" : NULL, pattern);
    FILE *said = tmpfile();
    assert_non_null(said);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(fileno(said), STDERR_FILENO);
        for (size_t i = 0; i < found.gl_pathc; i++) run_file(target, found.gl_pathv[i]);
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    globfree(&found);
    char last[512] = "";
    if (status && (fseek(said, -500, SEEK_END) == 0 || fseek(said, 0, SEEK_SET) == 0))
        last[fread(last, 1, sizeof last - 1, said)] = 0;
    fclose(said);
    if (status) fail_msg("%s: status %x: ... %s", name, (unsigned)status, last);
}

static void meshes(void **state) { (void)state, run_corpus("mesh", fuzz_mesh); }
static void problems(void **state) { (void)state, run_corpus("problem", fuzz_problem); }
static void commands(void **state) { (void)state, run_corpus("command", fuzz_command); }
static void writers(void **state) { (void)state, run_corpus("writer", fuzz_writer); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes),
        cmocka_unit_test(problems),
        cmocka_unit_test(commands),
        cmocka_unit_test(writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
