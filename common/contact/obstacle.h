/* Rigid obstacles, and the terms of frictionless contact between a node and one of them: for host and device.
 *
 * gap: distance of a point to the obstacle, negative inside; n = grad gap, a unit vector that points from the
 * obstacle to the body. A closed node has the energy
 *     area / (2 penalty) pressure²,  pressure = max(0, multiplier - penalty gap),
 * so the gradient is - area pressure n, and the tangent area (penalty n n^T - pressure grad grad gap). */
#ifndef FE_OBSTACLE_H
#define FE_OBSTACLE_H

#include "common/base/fe.h"

/* A half-space below the plane, a ball, an endless cylinder. */
enum { FE_PLANE, FE_SPHERE, FE_CYLINDER, FE_N_OBSTACLE };

typedef struct fe_obstacle {
    int kind;
    double at[3];   /* a point of the plane, or of the cylinder's axis; the centre of the sphere */
    double axis[3]; /* unit vector: the plane's normal, away from the obstacle; the cylinder's axis */
    double radius;
    double moved[3]; /* displacement from there */
} fe_obstacle;

/* What a closed node adds to the tangent counts a pressure above this share of E, which only an iterate deep
 * inside an obstacle has, as this share: otherwise the curvature of the obstacle would make the tangent
 * indefinite there. Small strains end far below it. */
#define FE_CONTACT_STIFFEST 0.1

/* Without the part along a cylinder's axis. */
FE_BOTH void fe_obstacle_across(const fe_obstacle *o, double v[3])
{
    const double along = v[0] * o->axis[0] + v[1] * o->axis[1] + v[2] * o->axis[2];
    for (int i = 0; i < 3 && o->kind == FE_CYLINDER; i++) v[i] -= along * o->axis[i];
}

/* The gap at x + u, n, and *bend: grad grad gap = bend (I - n n^T - axis axis^T), the last of a cylinder
 * alone. n is zero at the centre of a sphere and on the axis of a cylinder.
 *
 * The gap is that of x at the beginning, and what displacements have added, whose rounding is a share of
 * these, not of the coordinates: the penalty makes forces of it. */
FE_BOTH double fe_obstacle_gap(const fe_obstacle *o, const double x[3], const double u[3], double n[3],
                               double *bend)
{
    double arm[3], w[3], before = 0.0, after = 0.0, added = 0.0, along = 0.0;
    for (int i = 0; i < 3; i++) arm[i] = x[i] - o->at[i], w[i] = u[i] - o->moved[i];
    if (o->kind == FE_PLANE) {
        for (int i = 0; i < 3; i++)
            along += arm[i] * o->axis[i], added += w[i] * o->axis[i], n[i] = o->axis[i];
        *bend = 0.0;
        return along + added;
    }
    fe_obstacle_across(o, arm), fe_obstacle_across(o, w);
    for (int i = 0; i < 3; i++) {
        before += arm[i] * arm[i], added += (2.0 * arm[i] + w[i]) * w[i];
        after += (arm[i] + w[i]) * (arm[i] + w[i]);
    }
    before = sqrt(before), after = sqrt(after);
    *bend = after > 0.0 ? 1.0 / after : 0.0;
    for (int i = 0; i < 3; i++) n[i] = *bend * (arm[i] + w[i]);
    const double sum = before + after;
    return before - o->radius + (sum > 0.0 ? added / sum : 0.0);
}

/* grad grad gap as xx yy zz xy yz xz. */
FE_BOTH void fe_obstacle_curvature(const fe_obstacle *o, const double n[3], double bend, double H[6])
{
    for (int k = 0; k < 6; k++) {
        const int i = k < 3 ? k : k == 4 ? 1 : 0, j = k < 3 ? k : k == 3 ? 1 : 2;
        const double along = o->kind == FE_CYLINDER ? o->axis[i] * o->axis[j] : 0.0;
        H[k] = bend * ((i == j ? 1.0 : 0.0) - n[i] * n[j] - along);
    }
}

FE_BOTH double fe_contact_pressure(double multiplier, double penalty, double gap)
{
    const double pressure = multiplier - penalty * gap;
    return pressure > 0.0 ? pressure : 0.0;
}

#endif
