/* An output file that grows: a body to which text is added, and an end that each version has anew. Every
 * version appears whole under the file's name, like those of common/base/file.h, and costs no more than what
 * was added.
 *
 * Two copies take turns. While one has the name, the other, under a temporary name, gets what it lacks and
 * the new end; then the two exchange names. Where a file system cannot exchange names, or cannot tell by a
 * lease whether somebody still reads a copy, each version is written as a whole. */
#ifndef FE_GROWING_H
#define FE_GROWING_H

#include "common/base/fe.h"

typedef struct fe_growing {
    char *name;             /* as given, for messages */
    char *path, *temporary; /* temporary NULL: a device or pipe, which gets every version as a whole */
    char *body;
    size_t n_body, capacity;
    struct {
        int file;    /* -1: there is none */
        size_t body; /* bytes of the body that it holds */
    } named, spare;
} fe_growing;

/* Nothing is written yet, and an older file stays until then. */
fe_status fe_growing_open(fe_growing *g, const char *path);
/* Whether it can be written, before anything is; FE_BAD_INPUT says why not. */
fe_status fe_growing_probe(fe_growing *g);
/* Adds to the body, before anything is written, what an older file has. */
fe_status fe_growing_resume(fe_growing *g, size_t n, const char *body);
/* Adds to the body; the file becomes the body and this end. On failure (disk full: path and reason) file and
 * body stay as they were. */
fe_status fe_growing_write(fe_growing *g, size_t n_more, const char *more, size_t n_end, const char *end);
/* Accepts a zeroed object. */
void fe_growing_close(fe_growing *g);

#endif
