/* See locking.h. */
#include "common/report/locking.h"

#include <math.h>

fe_locking fe_locking_of(const fe_material *m, int elastic, double peeq, double share)
{
    if (m->nu >= fe_locking_nu) return FE_LOCKING_ELASTIC;
    if (elastic || share < fe_locking_share) return FE_LOCKING_NONE;
    const double voce = m->delta > 0 ? (m->sigma_inf - m->sigma_y) * m->delta * exp(-m->delta * peeq) : 0;
    return m->H + voce <= fe_locking_slope * m->E ? FE_LOCKING_PLASTIC : FE_LOCKING_NONE;
}
