/* The registry: variants.def as a table. */
#include "common/variant.h"

#include <string.h>

#define FE_VARIANT(name) extern const fe_variant fe_variant_##name;
#include "variants/variants.def"
#undef FE_VARIANT

#define FE_VARIANT(name) &fe_variant_##name,
static const fe_variant *const variants[] = {
#include "variants/variants.def"
};
#undef FE_VARIANT

int fe_variant_count(void) { return (int)(sizeof variants / sizeof *variants); }

const fe_variant *fe_variant_at(int i) { return i >= 0 && i < fe_variant_count() ? variants[i] : NULL; }

const fe_variant *fe_variant_find(const char *name)
{
    for (int i = 0; i < fe_variant_count(); i++)
        if (!strcmp(variants[i]->name, name)) return variants[i];
    return NULL;
}

const fe_assembly *fe_variant_table(const fe_variant *v, int cuda, int precision)
{
    if (precision == FE_DOUBLE) return cuda ? v->cuda : v->host;
    if (precision == FE_MIXED) return cuda ? v->cuda_mixed : v->host_mixed;
    return cuda ? v->cuda_single : v->host_single;
}
