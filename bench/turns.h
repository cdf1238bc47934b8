/* Whole solves that are resident together and take turns: each has a thread, and one is at work at a time.
 * Samples of all are then taken in the same minutes, whatever a machine does meanwhile. */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "bench/whole.h"

#include <pthread.h>

typedef struct turns_solve {
    /* set by the caller, which closes the result */
    const whole_problem *whole;
    fe_options options;
    fe_benchmark benchmark; /* its `wait` is set here */
    fe_observer observer;
    fe_result result;
    /* out: as fe_run_benchmark would tell it */
    fe_status status;
    char message[FE_MESSAGE_LENGTH];
    int attempt;        /* number of the run at work, from 1: of one that runs again behind the others 2 */
    double first_setup; /* seconds of the set-up of mesh and strategy, that of the run; and (turns_set_up) */
    int n_setup;        /* of those behind the solves, for which threads, memory and code are there already */
    double setup[WHOLE_MOST_REPETITIONS];

    struct turns *of;
    pthread_t thread;
    int state;
    int n_came;         /* ranks that wait for their turn */
    int *came, *may_go; /* [ranks] */
} turns_solve;

/* Repetition 0 of each solve, one after the other, then the others in turns, whose order changes from one to
 * the next. Those for which memory did not suffice beside the others run again behind them, each alone: a
 * line on stderr names them. After an interruption, or where a rank was abandoned (fe_ranks_stranded), the
 * others do not go on; theirs is then FE_INTERRUPTED. Returns the status of the turns, not of the solves. */
fe_status turns_take(int n, turns_solve **solves);

/* Behind the solves: sets up mesh and strategy again of those that succeeded, one after the other and in
 * turns, at least once, until each has `most` times or they have taken a second. FE_INTERRUPTED, or FE_OK:
 * where a set-up fails, a line on stderr says so, and the strategy has fewer times. */
fe_status turns_set_up(int most, int n, turns_solve **solves);

#endif
