/* Rigid motions of a body: which of the six are left where some components of some nodes are held. */
#ifndef FE_RIGID_H
#define FE_RIGID_H

enum { FE_N_MOTION = 6 };

/* A lever of a millionth of the distances between held nodes holds nothing. */
static const double fe_rigid_tolerance = 1e-6;

/* A node, and a bit for each of its components that is held. */
typedef struct fe_hold {
    int node;
    unsigned axes;
} fe_hold;

/* u(x) = t + w × (x - centre), with t and size × w as the six coordinates of a motion. */
typedef struct fe_rigid {
    double centre[3], size; /* of the nodes that are held */
    int rank;
    double basis[FE_N_MOTION][FE_N_MOTION]; /* [rank] orthonormal rows: a motion is free where all are 0 */
} fe_rigid;

/* What is told of the motions that are free: a translation where there is one, else a rotation, which may
 * come with a motion along its axis. */
typedef struct fe_motion {
    int n_free; /* rigid motions that are free: 1 to 6 */
    int rotates;
    double axis[3];  /* unit vector: of the translation, or of the rotation, */
    double point[3]; /* which turns about the axis through this point */
    double pitch;    /* way along the axis for a turn by one radian */
} fe_motion;

/* The row of component i at x: its product with a motion is u_i(x). */
void fe_rigid_row(const fe_rigid *r, const double x[3], int i, double row[FE_N_MOTION]);
/* Centre, size and basis of n nodes of x [...][3] that are held. The rank depends on where they are, not on
 * how many. */
void fe_rigid_hold(const double *x, int n, const fe_hold *hold, fe_rigid *r);
/* Of a rank below 6. */
void fe_rigid_describe(const fe_rigid *r, fe_motion *m);
/* Makes a vector one of unit length, first component positive, without digits of rounding. */
void fe_rigid_tidy(double axis[3]);

#endif
