/* original_names.c - components of the original that are not here, or are called otherwise. */
#include "config/original_names.h"
#include <string.h>

typedef struct OriginalName {
    const char *kind, *variant; /* variant NULL: all of this kind */
    const char *instead;        /* what there is here */
} OriginalName;

/* clang-format off */
static const OriginalName names[] = {
    { "model", "selective_activation_checkpointed", "this is model.activation_checkpointed with ac_variant: selective_layer_activation_checkpointing or selective_op_activation_checkpointing" },
};
/* clang-format on */

static bool is_meant(const OriginalName *o, const char *kind, const char *variant)
{
    return (!kind || !strcmp(o->kind, kind)) &&
           (o->variant ? !strcmp(o->variant, variant) : kind != NULL);
}

Error *original_name_answer(const char *kind, const char *variant)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const OriginalName *o = &names[i];
        if (!is_meant(o, kind, variant)) continue;
        return error_new("there is no %s%s%s: %s", o->kind, *variant ? "." : "", variant,
                         o->instead);
    }
    return NULL;
}
