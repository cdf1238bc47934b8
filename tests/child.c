/* Children and their problems; see child.h. */
#include "tests/child.h"

#include "tests/common.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char child_said[8192];
unsigned child_seconds = 60;

pid_t child_start(const char *command)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    char line[4096];
    snprintf(line, sizeof line, "exec %s", command);
    alarm(PATIENCE * child_seconds);
    if (freopen("out", "w", stdout) && freopen("err", "w", stderr))
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

int child_left_behind(const char *pattern)
{
    glob_t found;
    int n = 0;
    if (glob(pattern, 0, NULL, &found)) return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i], *digits = path + strlen(path) - strlen(".tmp");
        while (digits > path && digits[-1] >= '0' && digits[-1] <= '9') digits--;
        const long pid = strtol(digits, NULL, 10);
        const int stale = pid <= 0 || (kill((pid_t)pid, 0) && errno == ESRCH);
        if (stale) print_error("%s is left behind\n", path);
        n += stale;
    }
    globfree(&found);
    return n;
}

int child_finish(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    read_into("err", sizeof child_said, child_said);
    assert_int_equal(child_left_behind("*.tmp"), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int child_has_ended(pid_t child)
{
    siginfo_t ended = {0};
    return waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid;
}

int child_run(const char *format, ...)
{
    char command[4000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return child_finish(child_start(command));
}

/* Small cubes that yield as a whole get this note, whatever a test is about. */
static void drop_note_on_locking(void)
{
    char *at = strstr(child_said, "linear elements lock"), *end = at ? strchr(at, '\n') : NULL;
    if (!end) return;
    while (at > child_said && at[-1] != '\n') at--;
    memmove(at, end + 1, strlen(end + 1) + 1);
}

void child_assert_said(const char *command, const char *program, const char *const part[3])
{
    drop_note_on_locking();
    const char *newline = strchr(child_said, '\n');
    if (!newline || newline[1] || strncmp(child_said, program, strlen(program)) ||
        child_said[strlen(program)] != ':')
        fail_msg("%s: stderr is not one line of %s: %s", command, program, child_said);
    for (int i = 0; i < 3 && part[i]; i++)
        if (!strstr(child_said, part[i])) fail_msg("%s: \"%s\" is not in: %s", command, part[i], child_said);
}

void child_assert_silent(void)
{
    drop_note_on_locking();
    assert_string_equal(child_said, "");
}

void child_must(int code, const char *command)
{
    const int was = child_run("%s", command);
    if (was != code) fail_msg("%s: exit code %d, not %d: %s", command, was, code, child_said);
}

size_t child_steps_shown(void)
{
    static char shown[1 << 20];
    size_t n = 0;
    read_into("out", sizeof shown, shown);
    for (const char *line = strstr(shown, "\nstep "); line; line = strchr(line, '\n')) { /* below the head */
        line += 1 + strspn(line + 1, " ");
        n = isdigit(*line) ? strtoul(line, NULL, 10) : n;
    }
    return n;
}

void child_write_problem(const char *path, problem p)
{
    write_file(path,
               "{\"name\": \"cube\", \"meshes\": [\"box.msh\"], \"units\": \"mm, N, MPa\",\n"
               " \"material\": {%s},\n \"dirichlet\": [%s],\n \"neumann\": [%s],\n"
               " \"paths\": {\"load\": [%s]},\n \"probes\": {\"corner\": [1, 1, 1]}}\n",
               p.material ? p.material : "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 2000",
               p.supports ? p.supports : "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}",
               p.loads ? p.loads : "{\"group\": \"x1\", \"traction\": [60, 0, 40]}",
               p.factors ? p.factors : "1, -2.2, 2.2");
}

void child_write_long_problem(const char *path, const char *material)
{
    char factors[LONG_PROBLEM * 8];
    for (int i = 0, used = 0; i < LONG_PROBLEM; i++)
        used +=
            snprintf(factors + used, sizeof factors - (size_t)used, "%s%g", i ? ", " : "", i % 2 ? 1 : 0.5);
    child_write_problem(path, (problem){.material = material, .factors = factors});
}

int child_open(void **state)
{
    const char *build = getenv("FE_BUILD");
    char home[PATH_MAX], path[2 * PATH_MAX];
    if (!realpath(build ? build : "/proc/self/exe", home)) return -1;
    for (int i = 0; i < 2 && !build; i++) *strrchr(home, '/') = 0; /* this program lies in tests/ */
    snprintf(path, sizeof path, "%s:%s", home, getenv("PATH"));
    if (folder_open(state) || chdir(test_folder) || setenv("PATH", path, 1)) return -1;
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    child_write_problem("p.json", (problem){0});
    return child_run("meshgen box -c 2 -o box.msh") || child_run("meshgen box -c 2 -e tet4 -d 0.2 -o tet.msh")
               ? -1
               : 0;
}

int child_close(void **state) { return chdir("/") ? -1 : folder_close(state); }
