/* Reads fields back from VTU files and compares them; see fields.h. */
#include "tests/fields.h"
#include "tests/common.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Bytes of base64 text; returns how many. */
static size_t decode(const char *text, size_t n_byte, unsigned char *byte)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n_byte; i++) {
        const char *digit[2] = {strchr(digits, text[i / 3 * 4 + i % 3]),
                                strchr(digits, text[i / 3 * 4 + i % 3 + 1])};
        if (!digit[0] || !digit[1]) fail_msg("VTU: \"%.4s\" is not base64", text + i / 3 * 4);
        const unsigned pair = (unsigned)(digit[0] - digits) << 6 | (unsigned)(digit[1] - digits);
        byte[i] = (unsigned char)(pair >> (4 - 2 * (i % 3)));
    }
    return (n_byte + 2) / 3 * 4;
}

/* An array of a VTU file as common/mesh/vtu.c writes it. */
typedef struct array {
    char name[32], type[16];
    size_t bytes;
    unsigned char *data;
} array;

static void read_data(const char *text, array *a)
{
    uint64_t head[3];
    decode(text, sizeof head, (unsigned char *)head);
    const size_t n_head = (size_t)head[0] + 3;
    uint64_t *header = calloc(n_head, sizeof *header);
    assert_non_null(header);
    text += decode(text, n_head * sizeof *header, (unsigned char *)header);
    size_t packed_bytes = 0, at = 0;
    for (size_t b = 3; b < n_head; b++) packed_bytes += header[b];
    unsigned char *packed = malloc(packed_bytes + 1);
    a->data = malloc(head[0] * head[1] + 1);
    assert_true(packed && a->data);
    decode(text, packed_bytes, packed);
    a->bytes = 0;
    for (size_t b = 3; b < n_head; b++) {
        uLongf length = head[1];
        assert_int_equal(uncompress(a->data + a->bytes, &length, packed + at, header[b]), Z_OK);
        a->bytes += length, at += header[b];
    }
    free(packed), free(header);
}

enum { MOST_ARRAYS = 30 };

static int read_arrays(const char *path, array list[MOST_ARRAYS])
{
    static char text[1 << 23];
    int n = 0;
    read_into(path, sizeof text, text);
    for (const char *at = text; (at = strstr(at, "<DataArray ")); at++) {
        assert_true(n < MOST_ARRAYS);
        array *a = &list[n++];
        if (sscanf(at, "<DataArray type=\"%15[^\"]\" Name=\"%31[^\"]\"", a->type, a->name) != 2)
            fail_msg("%s: %.60s", path, at);
        const char *data = strstr(at, "format=\"binary\">\n");
        assert_non_null(data);
        read_data(strchr(data, '\n') + 1, a);
    }
    return n;
}

/* Arrays of doubles may differ by `bound` of their largest number; ranks of elements are not compared where
 * there is a bound, because they may then differ. */
static void compare_array(const char *path, const array *a, const array *b, double bound)
{
    if (bound > 0 && !strcmp(a->name, "rank")) return;
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->bytes, b->bytes);
    if (strcmp(a->type, "Float64")) {
        if (memcmp(a->data, b->data, a->bytes)) fail_msg("%s: %s is another", path, a->name);
        return;
    }
    double largest = 0, difference = 0;
    for (size_t i = 0; i < a->bytes; i += sizeof(double)) {
        double x, y;
        memcpy(&x, a->data + i, sizeof x), memcpy(&y, b->data + i, sizeof y);
        largest = fmax(largest, fabs(y));
        difference = x - y == 0 ? difference : fmax(difference, isnan(x - y) ? INFINITY : fabs(x - y));
    }
    if (difference > bound * largest)
        fail_msg("%s: %s differs by %.2e of %.2e", path, a->name, difference, largest);
}

void compare_fields(const char *folder_a, const char *folder_b, const char *name, double bound)
{
    array list[2][MOST_ARRAYS];
    char path[2][PATH_MAX];
    const char *folders[2] = {folder_a, folder_b};
    int n[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s_0002.vtu", folders[i], name);
        n[i] = read_arrays(path[i], list[i]);
    }
    assert_int_equal(n[0], n[1]);
    assert_true(n[0] >= 15);
    for (int k = 0; k < n[0]; k++) compare_array(path[0], &list[0][k], &list[1][k], bound);
    for (int k = 0; k < n[0]; k++) free(list[0][k].data), free(list[1][k].data);
}
