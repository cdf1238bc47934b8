/* Which material each element of the mesh has, by the physical volumes that the problem names. */
#include "common/problem/boundary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

static int same(const fe_material *a, const fe_material *b)
{
    return a->E == b->E && a->nu == b->nu && a->sigma_y == b->sigma_y && a->H == b->H &&
           a->sigma_inf == b->sigma_inf && a->delta == b->delta;
}

/* The elements of volume i. One that is in two volumes keeps the first, if both have the same material. */
static fe_status fill_volume(const fe_case *c, const fe_mesh *mesh, int i, int *of)
{
    const fe_group *group;
    char key[300];
    snprintf(key, sizeof key, "materials.%.280s", c->volume[i]);
    FE_TRY(fe_boundary_group(c, mesh, key, c->volume[i], FE_ELEMENTS, "volume elements", &group));
    for (int k = 0; k < group->n_facet; k++) {
        const int e = group->facet[k], other = of[e];
        if (other == NONE) of[e] = i;
        if (other == NONE || same(&c->material[other], &c->material[i])) continue;
        return fe_fail(
            FE_BAD_INPUT,
            "%s: key \"%s\": element %lld of %s is in \"%s\" and in \"%s\", whose materials differ", c->file,
            key, (long long)mesh->elem_tag[e], fe_boundary_mesh(mesh), c->volume[other], c->volume[i]);
    }
    return FE_OK;
}

/* of [n_elem]: the material of each element, NONE before. */
static fe_status fill_volumes(const fe_case *c, const fe_mesh *mesh, int *of)
{
    for (int i = 0; i < c->n_material; i++) FE_TRY(fill_volume(c, mesh, i, of));
    int n = 0, example = NONE;
    for (int e = mesh->n_elem - 1; e >= 0; e--)
        if (of[e] == NONE) n++, example = e;
    if (!n) return FE_OK;
    return fe_fail(
        FE_BAD_INPUT,
        "%s: key \"materials\": element %lld of %s is in none of the volumes that it names (%d of %d "
        "elements)",
        c->file, (long long)mesh->elem_tag[example], fe_boundary_mesh(mesh), n, mesh->n_elem);
}

/* One material for all: worth telling where the mesh has several volumes. */
static fe_status tell_of_volumes(const fe_case *c, const fe_mesh *mesh, fe_boundary *b)
{
    char names[512] = "";
    size_t used = 0;
    int n = 0;
    for (int g = 0; g < mesh->n_group; g++) {
        const fe_group *group = &mesh->group[g];
        if (group->dim != 3 || !group->n_facet) continue;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", n ? ", " : "", group->name);
        n++;
    }
    if (n < 2) return FE_OK;
    if (asprintf(
            &b->material_note,
            "%s: all %d physical volumes of %s get the one \"material\": %s; \"materials\" gives each its "
            "own",
            c->file, n, fe_boundary_mesh(mesh), names) >= 0)
        return FE_OK;
    b->material_note = NULL;
    return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a note", c->file);
}

fe_status fe_boundary_materials(const fe_case *c, const fe_mesh *mesh, fe_boundary *b)
{
    int *of = NULL;
    if (!c->volume) return tell_of_volumes(c, mesh, b);
    FE_ALLOCATE(of, mesh->n_elem, "materials of elements");
    for (int e = 0; e < mesh->n_elem; e++) of[e] = NONE;
    fe_status status = fill_volumes(c, mesh, of);
    if (status == FE_OK && c->n_material > 1) {
        status = fe_allocate((size_t)mesh->n_elem, 1, "materials of elements", (void **)&b->material_of);
        for (int e = 0; e < mesh->n_elem && status == FE_OK; e++) b->material_of[e] = (unsigned char)of[e];
    }
    free(of);
    return status;
}
