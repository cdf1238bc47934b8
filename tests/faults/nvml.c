/* An NVML of one card, at 0000:41:00.0, for tests without a GPU: its functions and the layout of its values
 * are those that NVIDIA documents (NVML API reference, device queries and field value queries), and the card
 * says what a test has written into `card`. With -DOLD it is that of a driver without instantaneous power and
 * with the older name of the reasons for a lower clock. */
#include <string.h>
#include <time.h>

typedef int nvmlReturn_t; /* 0: success, 2: invalid argument, 3: not supported, 6: not found */
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlFieldValue_st {
    unsigned int fieldId, scopeId;
    long long timestamp, latencyUsec;
    unsigned int valueType; /* 0: double, 1: unsigned int, 3: unsigned long long */
    nvmlReturn_t nvmlReturn;
    union {
        double dVal;
        unsigned int uiVal;
        unsigned long long ullVal;
    } value;
} nvmlFieldValue_t;

struct {
    unsigned sm_mhz, memory_mhz, milliwatts_now, milliwatts_mean, celsius, type;
    unsigned long long reasons;
    int code;         /* of every question; of power now: of its value */
    unsigned step_ms; /* between two values of the counter of energy, which sums up power now */
} card;

static int here;
static double joules, told, step; /* all that was taken, what the counter says, and since when */

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Power now counts from the last question to this one. */
static void take_energy(void)
{
    static double last;
    const double now = milliseconds();
    if (last > 0.0) joules += 1e-6 * card.milliwatts_now * (now - last);
    if (now - step >= card.step_ms) told = joules, step = now;
    last = now;
}

nvmlReturn_t nvmlInit_v2(void) { return 0; }
const char *nvmlErrorString(nvmlReturn_t code)
{
    return code == 3 ? "Not Supported" : code == 6 ? "Not Found" : "Unknown Error";
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *device)
{
    if (strcmp(bus, "0000:41:00.0")) return 6;
    *device = (nvmlDevice_t)&here;
    return 0;
}

static nvmlReturn_t answer(nvmlDevice_t device, unsigned x, unsigned *out)
{
    if (device != (nvmlDevice_t)&here) return 2;
    *out = x;
    return card.code;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned *mhz)
{
    return answer(device, type == 1 ? card.sm_mhz : type == 2 ? card.memory_mhz : 0, mhz);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts)
{
    return answer(device, card.milliwatts_mean, milliwatts);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius)
{
    return sensor ? 2 : answer(device, card.celsius, celsius);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules)
{
    if (device != (nvmlDevice_t)&here) return 2;
    take_energy();
    *millijoules = (unsigned long long)(1e3 * told);
    return card.code;
}

#ifdef OLD
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
#else
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons)
#endif
{
    if (device != (nvmlDevice_t)&here) return 2;
    *reasons = card.reasons;
    return card.code;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int n, nvmlFieldValue_t *field)
{
    if (device != (nvmlDevice_t)&here) return 2;
    take_energy();
    for (int i = 0; i < n; i++) {
        field[i].nvmlReturn = 3;
#ifndef OLD
        if (field[i].fieldId != 186 || field[i].scopeId != 0) continue; /* power now */
        field[i].nvmlReturn = card.code, field[i].valueType = card.type;
        if (card.type == 0) field[i].value.dVal = card.milliwatts_now;
        if (card.type == 1) field[i].value.uiVal = card.milliwatts_now;
        if (card.type == 3) field[i].value.ullVal = card.milliwatts_now;
#endif
    }
    return 0;
}
