/* The machine that results come from: its names, and the ceilings measured on it. */
#ifndef FE_MACHINE_H
#define FE_MACHINE_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fe_machine {
    char slug[64]; /* folder name: "nvidia-h100-80gb-hbm3" from the GPU, else "amd-epyc-7b13-64-cores" */
    char cpu[128], gpu[128]; /* gpu empty where there is none */
    char driver[64];         /* of the GPU */
    int cores, host_threads; /* that processes may run on; that the host's ceilings were measured with */
    double memory;           /* bytes of the host */
    /* measured; 0 where not: the fastest copy (bytes read + bytes written) / s or read, and FP64 fused
     * multiply-adds as two operations / s */
    double host_copy, host_flop, cuda_copy, cuda_flop;
} fe_machine;

/* Names and sizes; the ceilings stay 0, and host_threads is cores. `launched`: this process is one of several
 * that share the machine. Its launcher may have bound it to a few cores; all that it could have been given
 * then count, so that the name is that of a process that is not bound. The variable FEBENCH_CARD of the
 * environment says the same: the runner sets it where it measures on several GPUs side by side. */
fe_status fe_machine_find(int launched, fe_machine *m);
/* Lower case, with every run of other characters than a-z and 0-9 turned into one hyphen. */
void fe_machine_slug(const char *name, size_t size, char *slug);

/* machine.csv: one "key,value" a line, 0 where a ceiling is unknown. Reading takes the ceilings into *m;
 * FE_BAD_INPUT where the file cannot be read, or where its machine, processor, cores, threads or GPU are not
 * those of *m: it then belongs to another machine. */
fe_status fe_machine_write(const fe_machine *m, const char *path);
fe_status fe_machine_read(const char *path, fe_machine *m);

#ifdef __cplusplus
}
#endif
#endif
