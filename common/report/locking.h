/* Volumetric locking: where plain linear elements are too stiff, by the material and what has yielded. */
#ifndef FE_LOCKING_H
#define FE_LOCKING_H

#include "common/physics/material.h"

typedef enum fe_locking { FE_LOCKING_NONE, FE_LOCKING_ELASTIC, FE_LOCKING_PLASTIC } fe_locking;

/* At this ratio a beam of four elements across bends 12 % (Hex8) or 47 % (Tet4) less than with 0.3
 * (docs/models.md). */
static const double fe_locking_nu = 0.48;
/* Plastic flow keeps the volume. A slope of the yield stress of 0.02 E leaves the elements 120 times as stiff
 * against a change of volume as against one of shape, as nu = 0.496 does; it matters where a fifth of the
 * points have yielded. */
static const double fe_locking_slope = 0.02, fe_locking_share = 0.2;

/* elastic: the material does not yield. peeq: the largest so far; share: of the points that have yielded. */
fe_locking fe_locking_of(const fe_material *m, int elastic, double peeq, double share);

#endif
