/* Rigid obstacles, and the terms of frictionless contact between a node and one of them: for host and device.
 *
 * gap(x): distance of a point to the obstacle, negative inside; n = grad gap, a unit vector that points from
 * the obstacle to the body. A closed node has the energy
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
} fe_obstacle;

/* What a closed node adds to the tangent counts a pressure above this share of E, which only an iterate deep
 * inside an obstacle has, as this share: otherwise the curvature of the obstacle would make the tangent
 * indefinite there. Small strains end far below it. */
#define FE_CONTACT_STIFFEST 0.1

/* The vector from the centre, or from the nearest point of the axis, to x. */
FE_BOTH void fe_obstacle_arm(const fe_obstacle *o, const double x[3], double arm[3])
{
    double along = 0.0;
    for (int i = 0; i < 3; i++) {
        arm[i] = x[i] - o->at[i];
        along += arm[i] * o->axis[i];
    }
    for (int i = 0; i < 3 && o->kind == FE_CYLINDER; i++) arm[i] -= along * o->axis[i];
}

/* The gap at x and n; n is zero at the centre of a sphere and on the axis of a cylinder. */
FE_BOTH double fe_obstacle_gap(const fe_obstacle *o, const double x[3], double n[3])
{
    double arm[3], square = 0.0, along = 0.0;
    fe_obstacle_arm(o, x, arm);
    for (int i = 0; i < 3; i++) {
        square += arm[i] * arm[i];
        along += arm[i] * o->axis[i];
    }
    const double distance = sqrt(square), scale = square > 0.0 ? 1.0 / distance : 0.0;
    for (int i = 0; i < 3; i++) n[i] = o->kind == FE_PLANE ? o->axis[i] : scale * arm[i];
    return o->kind == FE_PLANE ? along : distance - o->radius;
}

/* grad grad gap at x, as xx yy zz xy yz xz. */
FE_BOTH void fe_obstacle_curvature(const fe_obstacle *o, const double x[3], const double n[3], double H[6])
{
    double arm[3], square = 0.0;
    fe_obstacle_arm(o, x, arm);
    for (int i = 0; i < 3; i++) square += arm[i] * arm[i];
    const double scale = o->kind == FE_PLANE || !(square > 0.0) ? 0.0 : 1.0 / sqrt(square);
    for (int k = 0; k < 6; k++) {
        const int i = k < 3 ? k : k == 4 ? 1 : 0, j = k < 3 ? k : k == 3 ? 1 : 2;
        const double along = o->kind == FE_CYLINDER ? o->axis[i] * o->axis[j] : 0.0;
        H[k] = scale * ((i == j ? 1.0 : 0.0) - n[i] * n[j] - along);
    }
}

FE_BOTH double fe_contact_pressure(double multiplier, double penalty, double gap)
{
    const double pressure = multiplier - penalty * gap;
    return pressure > 0.0 ? pressure : 0.0;
}

#endif
