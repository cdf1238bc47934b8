/* Ranks as threads of one process: a rank packs what its neighbours need, all wait at a barrier, and each
 * copies its own ghosts. With one rank (host or CUDA) nothing is copied. */
#include "common/ranks/comm.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a rank shares with the others. */
typedef struct post {
    const void *data; /* of a reduction or a broadcast */
    struct {
        size_t *offset;  /* [size] where the nodes for each rank begin in a pack */
        double *pack[2]; /* packed nodes of exchanges, used alternately: a slow neighbour may still read the
                            previous pack */
    } halo[FE_MOST_HALOS];
    int waiting; /* at a barrier */
    double seen; /* when it last asked for the others (check), or gave up waiting for them */
} post;

typedef struct comm_team {
    fe_comm base;
    fe_team *team;
    fe_device *device;
    int *send_node[FE_MOST_HALOS];
    int turn[FE_MOST_HALOS]; /* which pack the current exchange uses */
} comm_team;

struct fe_team {
    int size, arrived, turn, left;
    pthread_mutex_t mutex;
    pthread_cond_t met;
    post *posted;    /* [size] */
    comm_team *comm; /* [size] with the team, so that each rank can tell the others why it ends */
    fe_status aborted;
    char message[FE_MESSAGE_LENGTH];
};

fe_status fe_team_open(int size, fe_team **out)
{
    fe_team *team = NULL;
    pthread_condattr_t steady;
    *out = NULL;
    FE_ALLOCATE(team, 1, "team of ranks");
    team->size = size;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&team->met, &steady);
    pthread_condattr_destroy(&steady);
    *out = team;
    FE_ALLOCATE(team->posted, size, "team of ranks");
    FE_ALLOCATE(team->comm, size, "team of ranks");
    return FE_OK;
}

void fe_team_close(fe_team *team)
{
    if (!team) return;
    pthread_mutex_destroy(&team->mutex);
    pthread_cond_destroy(&team->met);
    for (int r = 0; team->posted && r < team->size; r++)
        for (int i = 0; i < FE_MOST_HALOS; i++) free(team->posted[r].halo[i].offset);
    free(team->posted), free(team->comm);
    free(team);
}

void fe_team_leave(fe_team *team)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 3;
    pthread_mutex_lock(&team->mutex);
    team->left++;
    pthread_cond_broadcast(&team->met);
    while (team->left < team->size && pthread_cond_timedwait(&team->met, &team->mutex, &end) != ETIMEDOUT) {}
    pthread_mutex_unlock(&team->mutex);
}

fe_status fe_team_failure(fe_team *team, size_t size, char *message)
{
    pthread_mutex_lock(&team->mutex);
    const fe_status status = team->aborted;
    snprintf(message, size, "%s", team->message);
    pthread_mutex_unlock(&team->mutex);
    return status;
}

static comm_team *self(fe_comm *c) { return (comm_team *)c; }
static fe_team *team_of(fe_comm *c) { return self(c)->team; }

/* The rank that the others wait for: the one that does not wait itself. Needs the mutex. */
static fe_status overdue(fe_comm *c)
{
    const fe_team *team = team_of(c);
    const double now = fe_seconds();
    for (int r = 0; r < team->size; r++)
        if (!team->posted[r].waiting && now - team->posted[r].seen > 2.0) return fe_comm_overdue(r);
    return fe_comm_overdue(-1);
}

static fe_status barrier(fe_comm *c)
{
    fe_team *team = team_of(c);
    struct timespec end;
    if (c->size == 1) return FE_OK;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)fe_comm_timeout + 1;
    pthread_mutex_lock(&team->mutex);
    const int turn = team->turn;
    int late = 0;
    team->posted[c->rank].waiting = 1;
    if (++team->arrived == team->size) {
        team->arrived = 0, team->turn++;
        pthread_cond_broadcast(&team->met);
    }
    while (turn == team->turn && !team->aborted && !late)
        late = pthread_cond_timedwait(&team->met, &team->mutex, &end) == ETIMEDOUT;
    fe_status status = FE_OK; /* if all have reached the barrier, a later abort does not count */
    if (turn == team->turn) {
        status = team->aborted ? fe_comm_relay(team->aborted, team->message) : overdue(c);
        team->posted[c->rank].seen =
            fe_seconds(); /* otherwise the next rank that times out would take this one for silent */
    }
    team->posted[c->rank].waiting = 0;
    pthread_mutex_unlock(&team->mutex);
    return status;
}

static fe_status check(fe_comm *c, double since)
{
    fe_team *team = team_of(c);
    fe_status status = FE_OK;
    pthread_mutex_lock(&team->mutex);
    team->posted[c->rank].seen = fe_seconds();
    if (team->aborted)
        status = fe_comm_relay(team->aborted, team->message);
    else if (fe_seconds() - since > fe_comm_timeout)
        status = overdue(c);
    pthread_mutex_unlock(&team->mutex);
    return status;
}

static void abort_team(fe_comm *c, fe_status status, const char *message)
{
    fe_team *team = team_of(c);
    pthread_mutex_lock(&team->mutex);
    if (!team->aborted) {
        team->aborted = status;
        snprintf(team->message, sizeof team->message, "rank %d: %s", c->rank, message);
    }
    pthread_cond_broadcast(&team->met);
    pthread_mutex_unlock(&team->mutex);
}

static fe_status attach(fe_comm *c, fe_device *d, int which, const fe_halo *halo)
{
    comm_team *t = self(c);
    post *own = &t->team->posted[c->rank];
    const size_t n = (size_t)halo->send_first[halo->n_neighbor];
    t->device = d;
    if (c->size == 1) return FE_OK;
    if (c->halo[which]) {
        FE_TRY(barrier(c)); /* no rank still reads the packs of the earlier halo */
        d->ops->memory.release(d, t->send_node[which]);
        for (int i = 0; i < 2; i++) d->ops->memory.release(d, own->halo[which].pack[i]);
    }
    c->halo[which] = NULL;
    if (!own->halo[which].offset) FE_ALLOCATE(own->halo[which].offset, c->size, "halo");
    for (int i = 0; i < halo->n_neighbor; i++)
        own->halo[which].offset[halo->neighbor[i]] = 3 * (size_t)halo->send_first[i];
    FE_TRY(fe_device_upload(d, n, sizeof(int), halo->send_node, "halo", (void **)&t->send_node[which]));
    for (int i = 0; i < 2; i++)
        FE_TRY(fe_device_allocate(d, 3 * n, sizeof(double), "halo", (void **)&own->halo[which].pack[i]));
    c->halo[which] = halo;
    return FE_OK;
}

static fe_status exchange_begin(fe_comm *c, int which, double *x)
{
    comm_team *t = self(c);
    const fe_halo *h = c->halo[which];
    if (c->size == 1) return FE_OK;
    const int turn = t->turn[which] ^= 1;
    return t->device->ops->vector.take_nodes(t->device, h->send_first[h->n_neighbor], t->send_node[which], x,
                                             t->team->posted[c->rank].halo[which].pack[turn]);
}

static fe_status exchange_end(fe_comm *c, int which, double *x)
{
    const comm_team *t = self(c);
    const fe_halo *own = c->halo[which];
    if (c->size == 1) return FE_OK;
    FE_TRY(barrier(c));
    for (int i = 0; i < own->n_neighbor; i++) {
        const post *peer = &team_of(c)->posted[own->neighbor[i]];
        memcpy(x + 3 * (size_t)own->ghost_first[i],
               peer->halo[which].pack[t->turn[which]] + peer->halo[which].offset[c->rank],
               3 * sizeof *x * (size_t)(own->ghost_first[i + 1] - own->ghost_first[i]));
    }
    return FE_OK;
}

/* to [n] = what all ranks have posted, from number `begin` on, combined in the order of ranks. */
static void combine(const fe_team *team, fe_reduction reduction, size_t begin, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        double total = ((const double *)team->posted[0].data)[begin + i];
        for (int r = 1; r < team->size; r++)
            total = fe_comm_combine(reduction, total, ((const double *)team->posted[r].data)[begin + i]);
        to[i] = total;
    }
}

/* The first of rank r's part of n numbers; the part ends where that of rank r + 1 begins. */
static size_t part(size_t n, int size, int r)
{
    const size_t length = (n + (size_t)size - 1) / (size_t)size, begin = (size_t)r * length;
    return begin < n ? begin : n;
}

enum { FEW = 256 };

/* Up to FEW numbers: each rank combines all of them. More: each rank combines its part, stores the result in
 * its own x, where only it reads that part, and then copies the other parts from the others. */
static fe_status reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int count, double *x)
{
    (void)d;
    fe_team *team = team_of(c);
    const size_t n = (size_t)count;
    if (c->size == 1) return FE_OK;
    team->posted[c->rank].data = x;
    FE_TRY(barrier(c));
    if (n <= FEW) {
        double total[FEW];
        combine(team, reduction, 0, n, total);
        FE_TRY(barrier(c));
        memcpy(x, total, n * sizeof *x);
        return FE_OK;
    }
    const size_t own = part(n, c->size, c->rank);
    combine(team, reduction, own, part(n, c->size, c->rank + 1) - own, x + own);
    FE_TRY(barrier(c));
    for (int r = 0; r < c->size; r++) {
        const size_t begin = part(n, c->size, r), length = part(n, c->size, r + 1) - begin;
        if (r != c->rank) memcpy(x + begin, (const double *)team->posted[r].data + begin, length * sizeof *x);
    }
    return barrier(c);
}

static fe_status broadcast(fe_comm *c, size_t bytes, void *host)
{
    if (c->size == 1) return FE_OK;
    team_of(c)->posted[c->rank].data = host;
    FE_TRY(barrier(c));
    if (c->rank) memcpy(host, team_of(c)->posted[0].data, bytes);
    return barrier(c);
}

static fe_status collect(fe_comm *c, size_t n, double *x)
{
    (void)n, (void)x;
    return barrier(c);
}

static int close_team(fe_comm *c)
{
    (void)c;
    return 0;
}

static const fe_comm_operations operations = {
    .name = "threads",
    .attach = attach,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .reduce = reduce,
    .barrier = barrier,
    .broadcast = broadcast,
    .collect = collect,
    .check = check,
    .abort = abort_team,
    .close = close_team,
};

fe_comm *fe_comm_team(fe_team *team, int rank)
{
    comm_team *c = &team->comm[rank];
    *c = (comm_team){.base = {.ops = &operations, .rank = rank, .size = team->size}, .team = team};
    return &c->base;
}
