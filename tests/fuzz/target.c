/* Files of the fuzzers; see target.h. */
#include "tests/fuzz/target.h"
#include "common/base/fe.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[128];
static pid_t owner;

static void remove_folder(void)
{
    char command[256];
    if (getpid() != owner) return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) fprintf(stderr, "%s stays\n", folder);
}

const char *fuzz_folder(void)
{
    if (owner == getpid()) return folder;
    const char *memory = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(folder, sizeof folder, "%s/febench-fuzz-XXXXXX", memory);
    CHECK(mkdtemp(folder));
    owner = getpid();
    atexit(remove_folder);
    return folder;
}

void fuzz_path(const char *name, char path[256]) { snprintf(path, 256, "%s/%s", fuzz_folder(), name); }

void fuzz_write(const char *path, size_t n, const void *bytes)
{
    FILE *file = fopen(path, "wb");
    CHECK(file);
    CHECK(fwrite(bytes, 1, n, file) == n);
    CHECK(fclose(file) == 0);
}

char *fuzz_read(const char *path, size_t *n)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    CHECK(file && fstat(fileno(file), &info) == 0);
    char *text = malloc((size_t)info.st_size + 1);
    CHECK(text);
    *n = fread(text, 1, (size_t)info.st_size, file);
    text[*n] = 0;
    fclose(file);
    return text;
}

void fuzz_check_message(void)
{
    const char *text = fe_message();
    CHECK(*text && strlen(text) < FE_MESSAGE_LENGTH);
    for (; *text; text++) CHECK((unsigned char)*text >= ' ' && *text != 127);
}
