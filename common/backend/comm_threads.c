/* Ranks as threads of one process: a rank posts its pointer, all meet at a barrier, and each copies what it
 * needs from its peers. With one rank (host or CUDA) nothing is touched. */
#include "common/backend/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fe_team {
    int size, arrived, turn, aborted;
    pthread_mutex_t mutex;
    pthread_cond_t met;
    double **posted; /* [size] */
};

typedef struct comm_threads {
    fe_comm base;
    fe_team *team;
} comm_threads;

fe_status fe_team_open(int size, fe_team **out)
{
    fe_team *team = NULL;
    *out = NULL;
    FE_ALLOCATE(team, 1, "team of ranks");
    team->size = size;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->met, NULL);
    *out = team;
    FE_ALLOCATE(team->posted, size, "team of ranks");
    return FE_OK;
}

void fe_team_close(fe_team *team)
{
    if (!team) return;
    pthread_mutex_destroy(&team->mutex);
    pthread_cond_destroy(&team->met);
    free(team->posted);
    free(team);
}

static fe_team *team_of(fe_comm *c) { return ((comm_threads *)c)->team; }

static fe_status barrier(fe_comm *c)
{
    fe_team *team = team_of(c);
    pthread_mutex_lock(&team->mutex);
    const int turn = team->turn;
    if (++team->arrived == team->size) {
        team->arrived = 0, team->turn++;
        pthread_cond_broadcast(&team->met);
    }
    while (turn == team->turn && !team->aborted) pthread_cond_wait(&team->met, &team->mutex);
    const int missed = turn == team->turn; /* an abort behind a barrier that all have reached came too late */
    pthread_mutex_unlock(&team->mutex);
    return missed ? fe_fail(FE_FAILED, "rank %d: another rank failed", c->rank) : FE_OK;
}

static void abort_team(fe_comm *c)
{
    fe_team *team = team_of(c);
    pthread_mutex_lock(&team->mutex);
    team->aborted = 1;
    pthread_cond_broadcast(&team->met);
    pthread_mutex_unlock(&team->mutex);
}

static fe_status exchange_begin(fe_comm *c, fe_device *d, const fe_halo *halo, double *x)
{
    (void)halo, (void)d;
    if (c->size == 1) return FE_OK;
    team_of(c)->posted[c->rank] = x;
    return barrier(c);
}

static fe_status exchange_end(fe_comm *c, fe_device *d, const fe_halo *halo, double *x)
{
    (void)d;
    if (c->size == 1) return FE_OK;
    const int first_ghost = halo->ghost_first[0];
    for (int i = 0; i < halo->n_neighbor; i++) {
        const double *peer = team_of(c)->posted[halo->neighbor[i]];
        for (int g = halo->ghost_first[i]; g < halo->ghost_first[i + 1]; g++)
            memcpy(x + 3 * (size_t)g, peer + 3 * (size_t)halo->source[g - first_ghost], 3 * sizeof *x);
    }
    return barrier(c); /* until then the owners keep their values */
}

static fe_status reduce(fe_comm *c, int n, double *x, int largest)
{
    enum { MOST = 2048 }; /* GMRES sums up to twice its basis: 1001 vectors */
    double total[MOST];
    if (c->size == 1) return FE_OK;
    if (n > MOST) return fe_fail(FE_FAILED, "a reduction of %d numbers is longer than %d", n, MOST);
    fe_team *team = team_of(c);
    team->posted[c->rank] = x;
    FE_TRY(barrier(c));
    for (int i = 0; i < n; i++) {
        total[i] = team->posted[0][i];
        for (int r = 1; r < team->size; r++) {
            const double value = team->posted[r][i];
            total[i] = !largest ? total[i] + value : value > total[i] ? value : total[i];
        }
    }
    FE_TRY(barrier(c));
    memcpy(x, total, (size_t)n * sizeof *x);
    return FE_OK;
}

static fe_status sum(fe_comm *c, fe_device *d, int n, double *x)
{
    (void)d;
    return reduce(c, n, x, 0);
}

static fe_status largest(fe_comm *c, fe_device *d, int n, double *x)
{
    (void)d;
    return reduce(c, n, x, 1);
}

fe_status fe_comm_threads(fe_team *team, int rank, fe_comm **out)
{
    comm_threads *c = NULL;
    *out = NULL;
    FE_ALLOCATE(c, 1, "communicator");
    c->base = (fe_comm){.rank = rank,
                        .size = team->size,
                        .exchange_begin = exchange_begin,
                        .exchange_end = exchange_end,
                        .sum = sum,
                        .largest = largest,
                        .barrier = barrier,
                        .abort = abort_team};
    c->team = team;
    *out = &c->base;
    return FE_OK;
}

void fe_comm_close(fe_comm *comm) { free(comm); }
