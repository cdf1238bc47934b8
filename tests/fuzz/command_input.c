/* Any words as the command line of `solve` or `meshgen`, on one element. */
#include "common/base/fe.h"
#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

/* The programs' own main, under these names. */
int solve_main(int argc, char **argv);
int meshgen_main(int argc, char **argv);

enum { MOST_WORDS = 16, WORD = 128 };

static int drop(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type;
    if (where->level) remove(path);
    return 0;
}

/* Words that leave the folder, or take hours and all memory, become others: of digits one stays, unless there
 * are so many that no number holds them. */
static int tame(char *word)
{
    if (strchr(word, '/') || strstr(word, "thr") || strstr(word, "cuda")) return 0;
    for (char *p = word; *p; p++) {
        const size_t n = strspn(p, "0123456789");
        if (n > 1 && n < 20) memmove(p + 1, p + n, strlen(p + n) + 1);
        if (n >= 20) p += n - 1;
    }
    return 1;
}

static int split(const uint8_t *bytes, size_t n, char word[MOST_WORDS][WORD])
{
    int n_word = 1;
    for (size_t i = 0; i < n && n_word < MOST_WORDS;) {
        const uint8_t *end = memchr(bytes + i, '\n', n - i);
        const size_t length = end ? (size_t)(end - bytes) - i : n - i;
        if (length < WORD) {
            memcpy(word[n_word], bytes + i, length);
            word[n_word][length] = 0;
            n_word += tame(word[n_word]);
        }
        i += length + 1;
    }
    return n_word;
}

void fuzz_command(const uint8_t *bytes, size_t n)
{
    static const char problem[] =
        "{\"name\": \"p\", \"meshes\": [\"box.msh\"], \"elastic\": true, \"material\": {\"E\": 1, \"nu\": "
        "0.3},\n"
        "\"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}],\n"
        "\"neumann\": [{\"group\": \"x1\", \"pressure\": 1}], \"paths\": {\"load\": [1]}}\n";
    static char *box;
    static size_t n_box;
    char word[MOST_WORDS][WORD], *argv[MOST_WORDS + 1], path[256];
    if (!n) return;
    const int is_solve = bytes[0] % 4 != 0, argc = split(bytes + 1, n - 1, word);
    if (!box) {
        char *make[] = {"meshgen", "box", "-c", "1", "-o", path, NULL};
        fuzz_path("box.msh", path);
        CHECK(meshgen_main(6, make) == 0);
        box = fuzz_read(path, &n_box);
        setenv("OMP_NUM_THREADS", "1", 1);
    }
    CHECK(nftw(fuzz_folder(), drop, 8, FTW_DEPTH | FTW_PHYS) == 0);
    const int home = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(home >= 0 && chdir(fuzz_folder()) == 0);
    fuzz_write("box.msh", n_box, box);
    fuzz_write("p.json", sizeof problem - 1, problem);
    strcpy(word[0], is_solve ? "solve" : "meshgen");
    for (int i = 0; i < argc; i++) argv[i] = word[i];
    argv[argc] = NULL;
    optind = 0;
    const int code = is_solve ? solve_main(argc, argv) : meshgen_main(argc, argv);
    CHECK(fchdir(home) == 0 && close(home) == 0);
    CHECK(code == 0 || code == 1 || code == 2);
    if (code) fuzz_check_message();
}
