#include "common/backend/device.h"
#include "variants/two_phase/assembly.h"

extern const fe_assembly two_phase_host, two_phase_cuda;

fe_status two_phase_setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(two_phase), "two_phase", work));
    two_phase *w = *work;
    return fe_device_allocate(p->device, (size_t)TWO_PHASE_WIDTH * fe_points(p->kind) * p->view.ld,
                              sizeof *w->value, "two_phase: stresses", (void **)&w->value);
}

const fe_variant fe_variant_two_phase = {
    .name = "two_phase",
    .summary = "stress stored by integration point, then gathered by node, no atomics",
    .deterministic = 1,
    .host = &two_phase_host,
    .cuda = FE_CUDA_TABLE(two_phase_cuda),
};
