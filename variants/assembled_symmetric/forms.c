/* Set-up of GATHER and COLORS. */
#include "variants/assembled_symmetric/forms.h"
#include "common/backend/device.h"

static int is_colored(void) { return SYMMETRIC_FORM == SYMMETRIC_COLORS; }

fe_status symmetric_forms_set_up(fe_problem *p, bsr_form form, int precision, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(symmetric_forms), "matrix", work));
    symmetric_forms *w = *work;
    if (is_colored()) FE_TRY(symmetric_open_colors(p, &w->colors, &w->matrix));
    FE_TRY(bsr_open(p, form, precision, &w->matrix));
    return is_colored() ? FE_OK : symmetric_open_gather(p, &w->matrix, &w->gather);
}

/* Colours are the same. On a device the list is, too, and the products of double precision serve both: their
 * operations follow each other. */
fe_status symmetric_forms_set_up_from(fe_problem *p, bsr_form form, const void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(symmetric_forms), "matrix", work));
    symmetric_forms *w = *work;
    const symmetric_forms *from = in_double;
    w->colors = from->colors, w->gather = from->gather;
    FE_TRY(bsr_open_elastic(p, form, &from->matrix, &w->matrix));
    const int is_shared = is_colored() || p->device->ops->on_gpu;
    return is_shared ? FE_OK : symmetric_open_gather(p, &w->matrix, &w->gather);
}

double symmetric_forms_bytes(const void *work)
{
    return bsr_matrix_bytes(work) + ((const symmetric_forms *)work)->gather.bytes;
}
