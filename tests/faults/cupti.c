/* Instead of CUPTI and a program that it traces: hands bench/trace.c, with which it is linked, the records
 * that stdin has, a line for each: KIND DEVICE GRAPH START END NAME, with a kind of kernel, copy, peer or
 * memset. */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int InitializeInjection(void);

typedef union any {
    CUpti_Activity kind;
    CUpti_ActivityKernel9 kernel;
    CUpti_ActivityMemcpy5 copy;
    CUpti_ActivityMemcpyPtoP4 peer;
    CUpti_ActivityMemset4 set;
} any;

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give,
                                                    CUpti_BuffersCallbackCompleteFunc take)
{
    request = give, complete = take;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    (void)attribute, (void)size, (void)value;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    (void)kind;
    return getenv("REFUSES") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "other";
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = getenv("DROPS") ? 3 : 0;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    any *const next = *record ? (any *)*record + 1 : (any *)buffer;
    if ((uint8_t *)next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = &next->kind;
    return CUPTI_SUCCESS;
}

static void make(any *a, const char *kind, unsigned device, unsigned graph, unsigned long start,
                 unsigned long end, const char *name)
{
    memset(a, 0, sizeof *a);
    if (!strcmp(kind, "kernel")) {
        a->kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, a->kernel.deviceId = device;
        a->kernel.graphId = graph, a->kernel.start = start, a->kernel.end = end,
        a->kernel.name = strdup(name);
    } else if (!strcmp(kind, "copy")) {
        a->copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY, a->copy.deviceId = device, a->copy.graphId = graph;
        a->copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, a->copy.start = start, a->copy.end = end;
    } else if (!strcmp(kind, "peer")) {
        a->peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2, a->peer.deviceId = device, a->peer.graphId = graph;
        a->peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, a->peer.start = start, a->peer.end = end;
    } else {
        a->set.kind = CUPTI_ACTIVITY_KIND_MEMSET, a->set.deviceId = device, a->set.graphNodeId = graph;
        a->set.start = start, a->set.end = end;
    }
}

/* Three records in each buffer. */
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    char kind[16], name[256];
    unsigned device, graph;
    unsigned long start, end;
    int going = 1;
    (void)flag;
    while (going) {
        uint8_t *buffer;
        size_t size, most, n = 0;
        request(&buffer, &size, &most);
        for (; n < 3 && going; n += going) {
            going = scanf("%15s %u %u %lu %lu %255[^\n]", kind, &device, &graph, &start, &end, name) == 6;
            if (going) make((any *)buffer + n, kind, device, graph, start, end, name);
        }
        complete(NULL, 0, buffer, size, n * sizeof(any));
    }
    return CUPTI_SUCCESS;
}

int main(void) { return InitializeInjection() != 1; }
