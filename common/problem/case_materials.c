/* The materials of a problem file: one of all elements, or one for each of several physical volumes. */
#include "common/problem/case_json.h"

/* "material" or "materials.steel", and the key of a number of it. */
typedef struct place {
    const fe_case *c;
    char where[KEY_LENGTH], key[KEY_LENGTH + 16];
} place;

static const char *key_of(place *p, const char *name)
{
    snprintf(p->key, sizeof p->key, "%s.%s", p->where, name);
    return p->key;
}

static fe_status read_constant(place *p, const json_t *object, const char *name, double *value)
{
    return read_number(p->c, key_of(p, name), json_object_get(object, name), value);
}

static fe_status read_elasticity(place *p, const json_t *object, fe_material *m)
{
    FE_TRY(read_constant(p, object, "E", &m->E));
    if (!(m->E > 0)) return refuse(p->c, p->key, "%.17g is not above 0", m->E);
    FE_TRY(read_constant(p, object, "nu", &m->nu));
    if (!(m->nu < 0.5)) return refuse(p->c, p->key, "%.17g is not below 0.5", m->nu);
    if (!(m->nu > -1)) return refuse(p->c, p->key, "%.17g is not above -1", m->nu);
    return FE_OK;
}

/* Of Voce's law both or none. */
static fe_status read_voce(place *p, const json_t *object, fe_material *m)
{
    if (!json_object_get(object, "sigma_inf") && !json_object_get(object, "delta")) return FE_OK;
    FE_TRY(read_constant(p, object, "sigma_inf", &m->sigma_inf));
    if (!(m->sigma_inf >= m->sigma_y))
        return refuse(p->c, p->key, "%.17g is below \"%s.sigma_y\", %.17g", m->sigma_inf, p->where,
                      m->sigma_y);
    FE_TRY(read_constant(p, object, "delta", &m->delta));
    if (!(m->delta > 0)) return refuse(p->c, p->key, "%.17g is not above 0", m->delta);
    if (!((m->sigma_inf - m->sigma_y) * m->delta <= FE_VOCE_STEEPEST * m->E))
        return refuse(p->c, p->key, "%.17g hardens by %g at first, more than %g times E", m->delta,
                      (m->sigma_inf - m->sigma_y) * m->delta, FE_VOCE_STEEPEST);
    return FE_OK;
}

static fe_status read_material(place *p, json_t *object, fe_material *m)
{
    static const char *const known[] = {"E", "nu", "sigma_y", "H", "sigma_inf", "delta", NULL};
    const fe_case *c = p->c;
    FE_TRY(check_keys(c, p->where, object, known));
    FE_TRY(read_elasticity(p, object, m));
    if (json_object_get(object, "sigma_y") || !c->elastic) {
        FE_TRY(read_constant(p, object, "sigma_y", &m->sigma_y));
        if (!(m->sigma_y > 0)) return refuse(c, p->key, "%.17g is not above 0", m->sigma_y);
    }
    if (json_object_get(object, "H") || !c->elastic) {
        FE_TRY(read_constant(p, object, "H", &m->H));
        if (!(m->H >= 0)) return refuse(c, p->key, "%.17g is below 0", m->H);
    }
    FE_TRY(read_voce(p, object, m));
    if (c->elastic) m->sigma_y = INFINITY;
    return FE_OK;
}

static fe_status read_several(fe_case *c, json_t *volumes)
{
    const size_t n = json_object_size(volumes);
    if (!json_is_object(volumes)) return refuse(c, "materials", "%s is not an object", shown(volumes));
    if (!n) return refuse(c, "materials", "names no physical volume");
    if (n > FE_MOST_MATERIALS) return refuse(c, "materials", "%zu are more than %d", n, FE_MOST_MATERIALS);
    FE_ALLOCATE(c->material, n, "materials");
    FE_ALLOCATE(c->volume, n, "materials");
    const char *name;
    json_t *object;
    json_object_foreach(volumes, name, object)
    {
        place p = {.c = c};
        char **volume = &c->volume[c->n_material];
        snprintf(p.where, sizeof p.where, "materials.%s", name);
        FE_ALLOCATE(*volume, strlen(name) + 1, "materials");
        strcpy(*volume, name);
        FE_TRY(read_material(&p, object, &c->material[c->n_material++]));
    }
    return FE_OK;
}

fe_status fe_case_read_materials(fe_case *c, const json_t *root)
{
    json_t *one = json_object_get(root, "material"), *several = json_object_get(root, "materials");
    if (one && several) return refuse(c, "materials", "excludes \"material\", which is there, too");
    if (several) return read_several(c, several);
    if (!one) return refuse(c, "material", "is missing");
    place p = {.c = c, .where = "material"};
    FE_ALLOCATE(c->material, 1, "material");
    c->n_material = 1;
    return read_material(&p, one, c->material);
}
