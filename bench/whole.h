/* What the programs that time whole solves share: a problem with its mesh and load, answers, and rows. */
#ifndef BENCH_WHOLE_H
#define BENCH_WHOLE_H

#include "common/report/row.h"
#include "common/solver/run.h"

/* steps: all load steps by Newton's method. linear: the first load step without yielding, one linear solve to
 * whole_linear_tolerance. fixed: all load steps with a fixed number of iterations. */
enum { WHOLE_STEPS, WHOLE_LINEAR, WHOLE_FIXED, WHOLE_N_LOAD };
extern const char *const whole_load_names[WHOLE_N_LOAD];
extern const double whole_linear_tolerance;

/* What is solved: a file's mesh, or a distorted cube of `cells` cells an axis where mesh is NULL. */
typedef struct whole_choice {
    const char *problem, *mesh;
    int cells, element, load; /* element: of the cube */
} whole_choice;

typedef struct whole_problem {
    fe_case problem;
    fe_mesh mesh;
    fe_boundary boundary;
    char name[160]; /* of the case: the mesh, for boxes the problem, and the load */
} whole_problem;

/* Flags of a command line that make the choice, and what one of them says; keys of others are below. */
enum { WHOLE_FLAG_MESH = 1024, WHOLE_FLAG_CELLS, WHOLE_FLAG_ELEMENT };
/* clang-format off */
#define WHOLE_FLAGS \
    {"mesh", 1, 0, WHOLE_FLAG_MESH}, {"cells", 1, 0, WHOLE_FLAG_CELLS}, {"element", 1, 0, WHOLE_FLAG_ELEMENT}
/* clang-format on */
fe_status whole_flag(int key, const char *flag, const char *text, whole_choice *choice);
/* The problem file among the n words that are no flags, and whether the choice is complete. */
fe_status whole_complete(const char *program, int n, char **words, whole_choice *choice);

/* order: of the nodes, as-is for that of the file. Close it also after a failure. */
fe_status whole_open(const whole_choice *choice, fe_order order, whole_problem *p);
void whole_close(whole_problem *p);

/* Largest |u_i - reference_i| / largest |reference_i|; NaN if u contains a NaN. */
double whole_error(size_t n, const double *u, const double *reference);

/* f · u: the loads of the case at these factors [n_path] times displacements u [n_node][3] in the mesh's
 * order. The error of a mesh is told by it: in elasticity that of f · u is the square of the one in the
 * energy norm. NaN: nothing is loaded. */
double whole_work(const whole_problem *p, const double *factor, const double *u);

enum { WHOLE_MOST_REPETITIONS = 999 };
/* What rows of solves have in front of the columns of fe_row; iterations and interface below 0: not known. */
#define WHOLE_COLUMNS                                                                                        \
    "krylov,precondition,jacobian,anderson,newton_iterations,krylov_iterations,evaluations,bytes_setup,"     \
    "bytes_back,bytes_halo,exchanges,sums,interface,work," FE_ROW_COLUMNS
#define WHOLE_SAMPLE_COLUMNS "krylov,precondition,jacobian,anderson," FE_SAMPLE_COLUMNS
typedef struct whole_row {
    const char *krylov, *precondition, *jacobian;
    int anderson, newton_iterations; /* anderson: depth */
    int64_t krylov_iterations;
    fe_moved moved;   /* setup 0: not known */
    double interface; /* nodes that are ghosts of another rank, over all nodes */
    double work;      /* of whole_work; NaN: not known */
    fe_row row;
    char device[128];
} whole_row;

/* A row of the problem, with nothing measured. */
void whole_row_open(const whole_problem *p, const char *machine, const char *device, whole_row *row);
/* Writes the row with n samples of an operation to the file (NULL: none) and to stdout, or what became of it
 * to stderr. Samples to their file (NULL: none). */
void whole_row_write(FILE *file, FILE *sample_file, whole_row *row, const char *operation, int n,
                     const fe_sample *samples);
/* The same of samples of which nothing else is known, seconds [n]. */
void whole_row_write_seconds(FILE *file, whole_row *row, const char *operation, int n, const double *seconds);

/* Seconds of user time of this process. */
double whole_user_seconds(void);

#endif
