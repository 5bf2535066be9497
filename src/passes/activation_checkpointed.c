/* activation_checkpointed.c - model.activation_checkpointed and its FSDP1 form: ask for
 * recomputation. */
#include "base/str.h"
#include "config/builder.h"
#include "graph/op.h"
#include "models/model.h"
#include "passes/recompute.h"
#include <string.h>

enum { FULL, SELECTIVE_LAYER, SELECTIVE_OP };

typedef struct Variant {
    int which;
    struct Full {
        char nothing;
    } full;
    struct SelectiveLayer {
        int64_t ac_freq;
    } layer;
    struct SelectiveOp {
        StringList save_ops_keys;
    } op;
} Variant;

typedef struct Settings {
    int ac_variant;
    const char *layers_fqn;
    Model *model;
    Variant ac_fun_params;
} Settings;

/* Operators of torch that may be saved, and the flag of their like here; 0: nothing here
 * corresponds. */
static const struct {
    const char *torch;
    unsigned flag;
} saved_ops[] = {
    { "ops.aten.mm.default", OP_MATMUL },
    { "ops.aten._scaled_dot_product_efficient_attention.default", OP_ATTENTION },
    { "ops.aten._scaled_dot_product_flash_attention.default", OP_ATTENTION },
    { "ops._c10d_functional.reduce_scatter_tensor.default", 0 },
    { "ops.aten.max.default", 0 },
};

static Error *check(const void *settings)
{
    const Settings *s = settings;
    static const char *const names[] = { "full_activation_checkpointing",
                                         "selective_layer_activation_checkpointing",
                                         "selective_op_activation_checkpointing" };
    bool is_left_over = s->ac_variant == FULL && s->ac_fun_params.which == SELECTIVE_LAYER;
    if (s->ac_variant != s->ac_fun_params.which && !is_left_over)
        return error_new("ac_fun_params are not those of %s", names[s->ac_variant]);
    if (s->ac_variant != SELECTIVE_OP) return NULL;
    const StringList *keys = &s->ac_fun_params.op.save_ops_keys;
    if (!keys->n) return error_new("save_ops_keys is empty");
    for (int64_t i = 0; i < keys->n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof saved_ops / sizeof *saved_ops; k++)
            known |= !strcmp(keys->item[i], saved_ops[k].torch);
        if (!known)
            return error_new("save_ops_keys.%lld: unknown operator %s", (long long)i,
                             keys->item[i]);
    }
    return NULL;
}

static unsigned ops_to_save(const StringList *keys)
{
    unsigned save = 0;
    for (int64_t i = 0; i < keys->n; i++)
        for (size_t k = 0; k < sizeof saved_ops / sizeof *saved_ops; k++)
            if (!strcmp(keys->item[i], saved_ops[k].torch)) save |= saved_ops[k].flag;
    return save;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    const BlockClass *blocks = model_block_stack(s->model, s->layers_fqn);
    if (!blocks && !s->model->blocks)
        return error_new("layers_fqn %s: model.%s has no blocks", s->layers_fqn, s->model->name);
    if (!blocks)
        return error_new("layers_fqn %s: the blocks of %s are %s", s->layers_fqn, s->model->name,
                         s->model->blocks[0].stack);
    Recompute *r = NEW(builder_arena(b), Recompute);
    r->stack = blocks->stack;
    r->every = s->ac_variant == SELECTIVE_LAYER ? s->ac_fun_params.layer.ac_freq : 1;
    if (s->ac_variant == SELECTIVE_OP) r->save = ops_to_save(&s->ac_fun_params.op.save_ops_keys);
    passes_add(&s->model->passes, &pass_recompute, r);
    *out = s->model;
    return NULL;
}

static const char *const variants[] = { "full_activation_checkpointing",
                                        "selective_layer_activation_checkpointing",
                                        "selective_op_activation_checkpointing", NULL };
/* clang-format off */
static const Field full_fields[] = { { 0 } };
static const Field layer_fields[] = {
    FIELD_INT(struct SelectiveLayer, ac_freq, NULL, 1, INFINITY, "every so many blocks one is recomputed", .flags = FIELD_STRICT),
    { 0 },
};
static const Field op_fields[] = {
    FIELD_STRINGS(struct SelectiveOp, save_ops_keys, NULL, 0, 0, "operators whose results are kept; of matrix products every second one"),
    { 0 },
};
static const Field variant_fields[] = {
    FIELD_STRUCT(Variant, full, struct Full, full_fields, NULL, "for full_activation_checkpointing"),
    FIELD_STRUCT(Variant, layer, struct SelectiveLayer, layer_fields, NULL, "for selective_layer_activation_checkpointing"),
    FIELD_STRUCT(Variant, op, struct SelectiveOp, op_fields, NULL, "for selective_op_activation_checkpointing"),
    { 0 },
};
static const Field fields[] = {
    FIELD_CHOICE(Settings, ac_variant, NULL, variants, "what is recomputed"),
    FIELD_STRING(Settings, layers_fqn, NULL, "name of the list of blocks, transformer.h"),
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_UNION(Settings, ac_fun_params, Variant, variant_fields, NULL, "settings of the variant"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_activation_checkpointed = {
    .kind = "model",
    .variant = "activation_checkpointed",
    .doc = "recomputes activations in the backward pass instead of keeping them",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
