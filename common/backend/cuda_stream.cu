/* Streams of a device: waiting, times of phases from events, work on the side stream, and recordings. */
#include "common/backend/cuda_device.h"

#include <string.h>

extern "C" cudaStream_t fe_cuda_stream(fe_device *d) { return self(d)->stream; }

extern "C" fe_status fe_cuda_side_stream(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end)
{
    int least, greatest;
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest));
    CUDA_TRY(cudaEventCreateWithFlags(begin, cudaEventDisableTiming));
    CUDA_TRY(cudaEventCreateWithFlags(end, cudaEventDisableTiming));
    return FE_OK;
}

extern "C" void fe_cuda_side_stream_close(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end)
{
    if (*begin) cudaEventDestroy(*begin);
    if (*end) cudaEventDestroy(*end);
    if (*stream) cudaStreamDestroy(*stream);
}

static cudaLaunchConfig_t launch_of(fe_device *d, bool early, unsigned blocks, unsigned threads,
                                    size_t shared)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks, config.blockDim = threads, config.dynamicSmemBytes = shared;
    config.stream = self(d)->stream;
    config.attrs = &self(d)->early;
    config.numAttrs = early && self(d)->starts_early;
    return config;
}

extern "C" cudaLaunchConfig_t fe_cuda_early(fe_device *d, unsigned blocks, unsigned threads, size_t shared)
{
    const bool early = d->overlaps && !self(d)->recording;
    d->overlaps = 0;
    return launch_of(d, early, blocks, threads, shared);
}

extern "C" cudaLaunchConfig_t fe_cuda_chained(fe_device *d, int chained, unsigned blocks, unsigned threads)
{
    return launch_of(d, chained, blocks, threads, 0);
}

/* Waits for an event, or where it is NULL for all enqueued work. With a watcher it polls, because kernels
 * that wait for other ranks may never end. Once it has given up, later waits are as old as that one. */
fe_status fe_cuda_await(cuda_device *c, cudaEvent_t event)
{
    if (!c->base.watch) {
        CUDA_TRY(event ? cudaEventSynchronize(event) : cudaStreamSynchronize(c->stream));
        return FE_OK;
    }
    const double now = fe_seconds(), since = c->unanswered > 0.0 ? c->unanswered : now;
    for (double asked = now;;) {
        const cudaError_t state = event ? cudaEventQuery(event) : cudaStreamQuery(c->stream);
        if (state != cudaErrorNotReady) {
            CUDA_TRY(state);
            if (!event) c->unanswered = 0.0; /* the others have come after all */
            return FE_OK;
        }
        if (fe_seconds() - asked < 1e-3) continue;
        asked = fe_seconds();
        const fe_status status = c->base.watch(c->base.watcher, since);
        if (status == FE_OK) continue;
        c->unanswered = since;
        return status;
    }
}

/* Work that has failed writes nothing. */
fe_status fe_cuda_await_word(cuda_device *c, const volatile uint64_t *word, uint64_t before)
{
    enum { LOOKS = 10000 };
    for (int look = 1; *word == before; look++) {
        if (look % LOOKS) continue;
        if (!c->base.watch && cudaStreamQuery(c->stream) == cudaErrorNotReady) continue;
        FE_TRY(fe_cuda_await(c, NULL));
        if (*word == before)
            return fe_fail(FE_FAILED, "%s: a number that a kernel writes has not arrived", c->base.name);
    }
    return FE_OK;
}

/* Adds the time between recorded events to the phases that they began; keeps the last one as a start. */
static fe_status flush_events(cuda_device *c)
{
    FE_TRY(fe_cuda_await(c, NULL)); /* the last event is behind all that was enqueued */
    for (int i = 0; i + 1 < c->n_event; i++) {
        float milliseconds = 0.0f;
        CUDA_TRY(cudaEventElapsedTime(&milliseconds, c->event[i], c->event[i + 1]));
        c->seconds[c->phase[i]] += 1e-3 * milliseconds;
    }
    const int last = c->n_event - 1;
    const cudaEvent_t swap = c->event[0];
    c->event[0] = c->event[last], c->event[last] = swap;
    c->phase[0] = c->phase[last], c->n_event = 1;
    return FE_OK;
}

extern "C" fe_status fe_cuda_phase(fe_device *d, int phase)
{
    cuda_device *c = self(d);
    if (c->recording || d->untold) return FE_OK;
    if (c->phase[c->n_event - 1] == phase) return FE_OK;
    if (c->n_event == N_EVENT) FE_TRY(flush_events(c));
    CUDA_TRY(cudaEventRecord(c->event[c->n_event], c->stream));
    c->phase[c->n_event++] = phase;
    return FE_OK;
}

extern "C" fe_status fe_cuda_seconds(fe_device *d, double seconds[FE_N_PHASE])
{
    cuda_device *c = self(d);
    const int phase = c->phase[c->n_event - 1];
    if (c->n_event == N_EVENT) FE_TRY(flush_events(c));
    CUDA_TRY(cudaEventRecord(c->event[c->n_event], c->stream));
    c->phase[c->n_event++] = phase;
    FE_TRY(flush_events(c));
    memcpy(seconds, c->seconds, sizeof c->seconds);
    memset(c->seconds, 0, sizeof c->seconds);
    return FE_OK;
}

/* Work on the side stream waits for all work enqueued so far. */
static fe_status fork_side(cuda_device *c)
{
    CUDA_TRY(cudaEventRecord(c->forked, c->stream));
    CUDA_TRY(cudaStreamWaitEvent(c->side, c->forked, 0));
    return FE_OK;
}

/* Until `end`, the side stream is the device's stream. */
extern "C" fe_status fe_cuda_side_begin(fe_device *d)
{
    cuda_device *c = self(d);
    FE_TRY(fork_side(c));
    const cudaStream_t stream = c->stream;
    c->stream = c->side, c->side = stream;
    return FE_OK;
}

extern "C" fe_status fe_cuda_side_end(fe_device *d)
{
    cuda_device *c = self(d);
    const cudaStream_t stream = c->side;
    c->side = c->stream, c->stream = stream;
    CUDA_TRY(cudaEventRecord(c->ended, c->side));
    return FE_OK;
}

extern "C" fe_status fe_cuda_side_join(fe_device *d)
{
    CUDA_TRY(cudaStreamWaitEvent(self(d)->stream, self(d)->ended, 0));
    return FE_OK;
}

/* Other ranks' threads of this process go on with their own work. */
extern "C" fe_status fe_cuda_record_begin(fe_device *d)
{
    CUDA_TRY(cudaStreamBeginCapture(self(d)->stream, cudaStreamCaptureModeThreadLocal));
    self(d)->recording = 1;
    return FE_OK;
}

extern "C" fe_status fe_cuda_record_end(fe_device *d, void **recording)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    self(d)->recording = 0;
    CUDA_TRY(cudaStreamEndCapture(self(d)->stream, &graph));
    /* What was recorded on the side stream keeps its priority. */
    const cudaError_t error =
        cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagUseNodePriority);
    cudaGraphDestroy(graph);
    CUDA_TRY(error);
    *recording = executable;
    return FE_OK;
}

extern "C" fe_status fe_cuda_replay(fe_device *d, void *recording)
{
    CUDA_TRY(cudaGraphLaunch((cudaGraphExec_t)recording, self(d)->stream));
    return FE_OK;
}

extern "C" fe_status fe_cuda_read_begin(fe_device *d, int slot, const double *x)
{
    cuda_device *c = self(d);
    d->bytes_from_device += (int64_t)sizeof *x;
    c->lands[slot] = 0;
    FE_TRY(fork_side(c));
    CUDA_TRY(cudaMemcpyAsync(c->arrived + slot, x, sizeof *x, cudaMemcpyDeviceToHost, c->side));
    CUDA_TRY(cudaEventRecord(c->read[slot], c->side));
    return FE_OK;
}

extern "C" double *fe_cuda_landing(fe_device *d) { return self(d)->arrived; }

/* A NaN that no computation makes stands in an empty place. */
static const uint64_t empty_place = 0xfff4a5a5a5a5a5a5;

extern "C" void fe_cuda_expect(fe_device *d, int slot)
{
    cuda_device *c = self(d);
    c->lands[slot] = 1;
    d->bytes_from_device += (int64_t)sizeof *c->arrived;
    *(volatile uint64_t *)(c->arrived + slot) = empty_place;
}

extern "C" fe_status fe_cuda_read_end(fe_device *d, int slot, double *host)
{
    cuda_device *c = self(d);
    FE_TRY(c->lands[slot] ? fe_cuda_await_word(c, (const volatile uint64_t *)(c->arrived + slot), empty_place)
                          : fe_cuda_await(c, c->read[slot]));
    *host = c->arrived[slot];
    return FE_OK;
}

extern "C" void fe_cuda_forget(fe_device *d, void *recording)
{
    (void)d;
    if (recording) cudaGraphExecDestroy((cudaGraphExec_t)recording);
}
