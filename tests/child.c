/* Children, their problems and their results. */
#include "tests/child.h"

#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

char child_said[8192];
unsigned child_seconds = 60;
static char folder[256];

void child_write(const char *path, const char *format, ...)
{
    va_list arguments;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
}

void child_read(const char *path, size_t size, char *text)
{
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s is not there", path);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

pid_t child_start(const char *command)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    char line[1024];
    snprintf(line, sizeof line, "exec %s", command);
    alarm(child_seconds);
    if (freopen("out", "w", stdout) && freopen("err", "w", stderr))
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

int child_finish(pid_t child)
{
    int status;
    glob_t left;
    assert_int_equal(waitpid(child, &status, 0), child);
    child_read("err", sizeof child_said, child_said);
    assert_int_equal(glob("*.tmp", 0, NULL, &left), GLOB_NOMATCH);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int child_run(const char *format, ...)
{
    char command[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return child_finish(child_start(command));
}

void child_assert_said(const char *command, const char *program, const char *const part[3])
{
    const char *newline = strchr(child_said, '\n');
    if (!newline || newline[1] || strncmp(child_said, program, strlen(program)) ||
        child_said[strlen(program)] != ':')
        fail_msg("%s: stderr is not one line of %s: %s", command, program, child_said);
    for (int i = 0; i < 3 && part[i]; i++)
        if (!strstr(child_said, part[i])) fail_msg("%s: \"%s\" is not in: %s", command, part[i], child_said);
}

void child_must(int code, const char *command)
{
    const int was = child_run("%s", command);
    if (was != code) fail_msg("%s: exit code %d, not %d: %s", command, was, code, child_said);
}

void child_write_problem(const char *path, problem p)
{
    child_write(path,
                "{\"name\": \"cube\", \"meshes\": [\"box.msh\"], \"units\": \"mm, N, MPa\",\n"
                " \"material\": {%s},\n \"dirichlet\": [%s],\n \"neumann\": [%s],\n"
                " \"paths\": {\"load\": [%s]},\n \"probes\": {\"corner\": [1, 1, 1]}}\n",
                p.material ? p.material : "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 2000",
                p.supports ? p.supports : "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}",
                p.loads ? p.loads : "{\"group\": \"x1\", \"traction\": [60, 0, 40]}",
                p.factors ? p.factors : "1, -2.2, 2.2");
}

json_t *result_at(const json_t *o, const char *key)
{
    json_t *value = json_object_get(o, key);
    if (!value) fail_msg("key %s is missing", key);
    return value;
}

json_t *result_load(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s: line %d: %s", path, error.line, error.text);
    return root;
}

json_t *result_step(const json_t *root, size_t i) { return json_array_get(result_at(root, "steps"), i); }
double result_number(const json_t *o, const char *key) { return json_number_value(result_at(o, key)); }

double result_probe(const json_t *step, size_t i)
{
    return json_number_value(json_array_get(result_at(result_at(step, "probes"), "corner"), i));
}

json_t *result_load_checked(const char *path, const char *status, size_t n_step)
{
    json_t *root = result_load(path);
    assert_string_equal(json_string_value(result_at(root, "status")), status);
    assert_int_equal(json_array_size(result_at(root, "steps")), n_step);
    for (size_t i = 0; i < n_step; i++) assert_int_equal(result_number(result_step(root, i), "step"), i + 1);
    return root;
}

int child_open(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR"), *build = getenv("FE_BUILD");
    char home[PATH_MAX], path[2 * PATH_MAX];
    if (!realpath(build ? build : "/proc/self/exe", home)) return -1;
    for (int i = 0; i < 2 && !build; i++) *strrchr(home, '/') = 0; /* this program lies in tests/ */
    snprintf(path, sizeof path, "%s:%s", home, getenv("PATH"));
    snprintf(folder, sizeof folder, "%s/febench-child-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder) || chdir(folder) || setenv("PATH", path, 1)) return -1;
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    child_write_problem("p.json", (problem){0});
    return child_run("meshgen box -c 2 -o box.msh") || child_run("meshgen box -c 2 -e tet4 -d 0.2 -o tet.msh")
               ? -1
               : 0;
}

int child_close(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") || system(command) ? -1 : 0;
}
