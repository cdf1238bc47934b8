/* Groups of the mesh that a problem names. */
#include "common/problem/boundary.h"

#include <stdio.h>
#include <string.h>

const char *fe_boundary_mesh(const fe_mesh *mesh) { return mesh->path ? mesh->path : "the mesh"; }

static int is_allowed(const fe_group *group, const char *name, int dimensions)
{
    return (dimensions >> group->dim & 1) && !strcmp(group->name, name);
}

/* Two groups of one name and dimension cannot be told apart. */
static fe_status check_unique(const fe_case *c, const fe_mesh *mesh, const char *key, const fe_group *group)
{
    for (int g = 0; g < mesh->n_group; g++) {
        const fe_group *other = &mesh->group[g];
        if (other == group || other->dim != group->dim || strcmp(other->name, group->name)) continue;
        return fe_fail(FE_BAD_INPUT,
                       "%s: key \"%s\": \"%s\" names two groups of %s, %d:%d and %d:%d; they need names of "
                       "their own",
                       c->file, key, group->name, fe_boundary_mesh(mesh), group->dim, group->number,
                       other->dim, other->number);
    }
    return FE_OK;
}

fe_status fe_boundary_group(const fe_case *c, const fe_mesh *mesh, const char *key, const char *name,
                            int dimensions, const char *lacks, const fe_group **group)
{
    char names[512] = "";
    size_t used = 0;
    *group = fe_mesh_group(mesh, name);
    for (int g = 0; *group && g < mesh->n_group; g++)
        if (!is_allowed(*group, name, dimensions) && is_allowed(&mesh->group[g], name, dimensions))
            *group = &mesh->group[g];
    if (*group && !is_allowed(*group, name, dimensions))
        return fe_fail(FE_BAD_INPUT, "%s: key \"%s\": \"%s\" has no %s (its dimension is %d)", c->file, key,
                       name, lacks, (*group)->dim);
    if (*group && !(*group)->n_facet)
        return fe_fail(FE_BAD_INPUT, "%s: key \"%s\": \"%s\" is empty: no %s of %s is in it", c->file, key,
                       name, dimensions == FE_FACES ? "face" : "part", fe_boundary_mesh(mesh));
    if (*group) return check_unique(c, mesh, key, *group);
    for (int g = 0; g < mesh->n_group && used < sizeof names; g++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", g ? ", " : "", mesh->group[g].name);
    return fe_fail(FE_BAD_INPUT, "%s: key \"%s\": \"%s\" is not in %s; its groups are: %s%s", c->file, key,
                   name, fe_boundary_mesh(mesh), used ? names : "none", fe_mesh_alike(mesh, name));
}
