/* Processes of ranks; see process.h. */
#include "tests/process.h"
#include "have/mpi.h"
#include "tests/child.h"
#include "tests/common.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

size_t read_proc(pid_t pid, const char *name, size_t size, char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, size - 1, file) : 0;
    if (file) fclose(file);
    text[n] = 0;
    return n;
}

/* Whether a process works in our folder. One that has ended does not, whether its parent has noticed or not.
 */
static int is_ours(pid_t pid)
{
    char path[64], place[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    const ssize_t n = readlink(path, place, sizeof place - 1);
    if (n < 0 || pid == getpid()) return 0;
    place[n] = 0;
    return !strcmp(place, test_folder);
}

/* Environment variables that launchers set for each process. */
static int has_rank(pid_t pid, int rank)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    static char text[1 << 17];
    const size_t n = read_proc(pid, "environ", sizeof text, text);
    for (const char *word = text; word < text + n; word += strlen(word) + 1)
        for (int i = 0; i < 3; i++) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "%s=%d", names[i], rank);
            if (!strcmp(word, wanted)) return 1;
        }
    return 0;
}

pid_t find_process(int rank)
{
    pid_t found = 0;
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    for (struct dirent *entry; !found && (entry = readdir(processes));) {
        char name[32];
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (!isdigit(entry->d_name[0]) || !is_ours(pid)) continue;
        read_proc(pid, "comm", sizeof name, name);
        if (rank == ANYONE || (!strcmp(name, "solve\n") && has_rank(pid, rank))) found = pid;
    }
    closedir(processes);
    return found;
}

/* Ranks may outnumber the cores, run as root, and are not bound to cores, which another mpirun may have
 * chosen, too. Open MPI itself leaks at its end. */
const char *processes_missing(void)
{
    static const char *const settings[][2] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
        {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    };
    char options[1024];
    const char *own = getenv("ASAN_OPTIONS");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i][0], settings[i][1], 1);
    snprintf(options, sizeof options, "%s%sdetect_leaks=0", own ? own : "", own ? ":" : "");
    setenv("ASAN_OPTIONS", options, 1);
    setenv("TMPDIR", test_folder, 1); /* what a killed launcher leaves there goes with the folder */
    return !FE_HAVE_MPI                                  ? "this build has no MPI"
           : system("command -v mpirun >/dev/null 2>&1") ? "mpirun was not found"
                                                         : NULL;
}

pid_t running;

void start(const char *format, ...)
{
    char command[768];
    va_list arguments;
    va_start(arguments, format);
    assert_in_range(vsnprintf(command, sizeof command, format, arguments), 1, sizeof command - 1);
    va_end(arguments);
    unlink("r.json");
    running = child_start(command);
}

int finish(double seconds)
{
    const double begin = fe_seconds();
    int status;
    for (; waitpid(running, &status, WNOHANG) == 0; usleep(10000))
        if (fe_seconds() - begin > seconds) {
            read_into("err", sizeof child_said, child_said);
            fail_msg("the command runs after %g s: %s", seconds, child_said);
        }
    running = 0;
    for (pid_t left; (left = find_process(ANYONE)); usleep(10000))
        if (fe_seconds() - begin > seconds) fail_msg("process %d runs after %g s", (int)left, seconds);
    read_into("err", sizeof child_said, child_said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int clean_up(void **state)
{
    (void)state;
    glob_t left;
    if (running) kill(running, SIGTERM);
    for (int i = 0; running && i < 1000; i++, usleep(10000))
        if (waitpid(running, NULL, WNOHANG) == running) running = 0;
    for (pid_t pid; (pid = find_process(ANYONE)); usleep(10000)) kill(pid, SIGKILL);
    if (running) waitpid(running, NULL, 0);
    running = 0;
    if (glob("*.tmp", 0, NULL, &left) == 0) {
        for (size_t i = 0; i < left.gl_pathc; i++) unlink(left.gl_pathv[i]);
        globfree(&left);
    }
    return 0;
}
