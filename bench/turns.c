/* Whole solves in turns; see turns.h. */
#include "bench/turns.h"
#include "bench/options.h"
#include "common/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { UNBORN, WORKING, WAITING, ENDED };

typedef struct turns {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int ends; /* nobody goes on */
} turns;

/* A rank of a solve waits for its turn, a second at most. */
static fe_status wait_for_turn(void *context, int rank, int *may_go)
{
    turns_solve *s = context;
    turns *t = s->of;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    pthread_mutex_lock(&t->mutex);
    if (!s->came[rank]) {
        s->came[rank] = 1;
        if (++s->n_came == s->options.ranks) s->state = WAITING, pthread_cond_broadcast(&t->changed);
    }
    int late = 0;
    while (!s->may_go[rank] && !late) late = pthread_cond_timedwait(&t->changed, &t->mutex, &end) != 0;
    *may_go = s->may_go[rank];
    if (*may_go) s->may_go[rank] = s->came[rank] = 0, s->n_came--;
    const int ends = *may_go && t->ends;
    pthread_mutex_unlock(&t->mutex);
    return ends ? fe_fail(FE_INTERRUPTED, "another strategy was interrupted") : FE_OK;
}

static void *run(void *context)
{
    turns_solve *s = context;
    const whole_problem *p = s->whole;
    s->status = fe_run_benchmark(&p->problem, &p->mesh, &p->boundary, &s->options, &s->benchmark,
                                 &s->observer, &s->result);
    snprintf(s->message, sizeof s->message, "%s", s->status == FE_OK ? "" : fe_message());
    pthread_mutex_lock(&s->of->mutex);
    s->state = ENDED;
    pthread_cond_broadcast(&s->of->changed);
    pthread_mutex_unlock(&s->of->mutex);
    return NULL;
}

/* Until it waits for its next turn or has ended; then whoever is resident must not go on after an
 * interruption. */
static void await(turns_solve *s)
{
    turns *t = s->of;
    pthread_mutex_lock(&t->mutex);
    while (s->state == WORKING) pthread_cond_wait(&t->changed, &t->mutex);
    if (s->state == ENDED && (s->status == FE_INTERRUPTED || fe_ranks_stranded())) t->ends = 1;
    pthread_mutex_unlock(&t->mutex);
    if (s->state == ENDED) pthread_join(s->thread, NULL);
}

static void give_turn(turns_solve *s)
{
    turns *t = s->of;
    pthread_mutex_lock(&t->mutex);
    s->state = WORKING;
    for (int r = 0; r < s->options.ranks; r++) s->may_go[r] = 1;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
    await(s);
}

/* Set-up and repetition 0. */
static fe_status begin(turns *t, turns_solve *s)
{
    const int n = s->options.ranks;
    s->of = t, s->n_came = 0, s->state = WORKING, s->attempt++;
    memset(s->came, 0, (size_t)n * sizeof *s->came);
    memset(s->may_go, 0, (size_t)n * sizeof *s->may_go);
    s->benchmark.wait = wait_for_turn, s->benchmark.context = s;
    fe_result_close(&s->result);
    s->result = (fe_result){0};
    if (pthread_create(&s->thread, NULL, run, s)) {
        s->state = UNBORN;
        return fe_fail(FE_FAILED, "%s: no thread", s->options.variant);
    }
    await(s);
    return FE_OK;
}

/* Bytes of host memory that are free, as the system estimates them; INFINITY: not known. */
static double free_memory(void)
{
    char line[128];
    double kilobytes = INFINITY;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %lf", &kilobytes) != 1) {}
    if (file) fclose(file);
    return 1024.0 * kilobytes;
}

/* A host that has no memory left ends programs instead of refusing it, so a solve begins beside others only
 * where twice of what the largest of them took is free: set-up takes more for a while. */
static fe_status begin_all(turns *t, int n, turns_solve **solves)
{
    double largest = 0.0;
    for (int i = 0; i < n && !t->ends; i++) {
        const double before = free_memory();
        if (i > 0 && 2.0 * largest > before) {
            solves[i]->status = FE_OUT_OF_MEMORY;
            continue;
        }
        FE_TRY(begin(t, solves[i]));
        const double taken = before - free_memory();
        if (solves[i]->state == WAITING && taken > largest) largest = taken;
    }
    return FE_OK;
}

static void go_on(turns *t, int n, turns_solve **solves, int *order)
{
    int most = 0;
    for (int i = 0; i < n; i++) {
        order[i] = i;
        if (solves[i]->benchmark.repetitions > most) most = solves[i]->benchmark.repetitions;
    }
    for (int turn = 1; turn < most; turn++) {
        option_shuffle(turn + 1, n, order);
        for (int i = 0; i < n; i++)
            if (solves[order[i]]->state == WAITING && !t->ends) give_turn(solves[order[i]]);
    }
}

/* Solves that are resident together. */
static fe_status take_together(int n, turns_solve **solves)
{
    turns t = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    int *order = NULL;
    FE_ALLOCATE(order, n, "order");
    for (int i = 0; i < n; i++) solves[i]->state = UNBORN, solves[i]->status = FE_INTERRUPTED;
    const fe_status status = begin_all(&t, n, solves);
    if (status != FE_OK) t.ends = 1;
    go_on(&t, n, solves, order);
    for (int i = 0; i < n && !fe_ranks_stranded(); i++) /* of an abandoned rank the program ends */
        if (solves[i]->state == WAITING) give_turn(solves[i]);
    free(order);
    return status;
}

static fe_status take(int n, turns_solve **solves)
{
    FE_TRY(take_together(n, solves));
    for (int i = 0; i < n && n > 1; i++) {
        turns_solve *s = solves[i];
        if (s->status != FE_OUT_OF_MEMORY || fe_ranks_stranded()) continue;
        fprintf(stderr,
                "solves: %s: memory does not suffice for it beside the others: it takes no turns with them\n",
                s->options.variant);
        FE_TRY(take_together(1, &s));
        if (s->status == FE_INTERRUPTED) break;
    }
    return FE_OK;
}

fe_status turns_take(int n, turns_solve **solves)
{
    fe_status status = FE_OK;
    for (int i = 0; i < n && status == FE_OK; i++) {
        const size_t ranks = (size_t)solves[i]->options.ranks;
        status = fe_allocate(2 * ranks, sizeof *solves[i]->came, "turns", (void **)&solves[i]->came);
        if (status == FE_OK) solves[i]->may_go = solves[i]->came + ranks;
    }
    if (status == FE_OK) status = take(n, solves);
    for (int i = 0; i < n && !fe_ranks_stranded(); i++) free(solves[i]->came), solves[i]->came = NULL;
    return status;
}

static double seconds_of_setup(const fe_result *r)
{
    return r->setup_seconds[FE_SETUP_PROBLEM] + r->setup_seconds[FE_SETUP_STRATEGY];
}

static fe_status set_up_again(turns_solve *s)
{
    const whole_problem *p = s->whole;
    const fe_benchmark only = {.only_setup = 1};
    fe_result result = {0};
    const fe_status status =
        fe_run_benchmark(&p->problem, &p->mesh, &p->boundary, &s->options, &only, NULL, &result);
    if (status == FE_OK)
        s->setup[s->n_setup++] = seconds_of_setup(&result);
    else if (status != FE_INTERRUPTED)
        fprintf(stderr, "solves: %s: set up again: %s\n", s->options.variant, fe_message());
    fe_result_close(&result);
    return status == FE_INTERRUPTED ? status : FE_OK;
}

static int has_time(const turns_solve *s)
{
    static const double enough = 1.0;
    double sum = 0.0;
    for (int i = 0; i < s->n_setup; i++) sum += s->setup[i];
    return sum < enough;
}

fe_status turns_set_up(int most, int n, turns_solve **solves)
{
    for (int i = 0; i < n; i++)
        solves[i]->n_setup = 0, solves[i]->first_setup = seconds_of_setup(&solves[i]->result);
    for (int round = 0; round < most; round++)
        for (int i = 0; i < n; i++) {
            turns_solve *s = solves[i];
            if (s->status == FE_OK && s->n_setup == round && has_time(s)) FE_TRY(set_up_again(s));
        }
    return FE_OK;
}
