/* short_form.c - what model.parallelized stands for, as comments beside a resolved configuration.
 */
#include "short_form.h"
#include <stdlib.h>
#include <string.h>

/* A model.parallelized: what is written, else the default. */
typedef struct ShortForm {
    const Yaml *config, *mesh;
    const Field *fields;
    Text *out;
} ShortForm;

static const char *setting(const ShortForm *b, const char *name)
{
    const Yaml *given = yaml_get(b->config, name);
    if (given && given->type != YAML_NULL) return given->text;
    for (const Field *f = b->fields; f->name; f++)
        if (!strcmp(f->name, name) && strcmp(f->fallback, "null") != 0) return f->fallback;
    return "";
}

static int64_t number(const ShortForm *b, const char *name)
{
    return strtoll(setting(b, name), NULL, 10);
}

static bool is_set(const ShortForm *b, const char *name)
{
    return !strcmp(setting(b, name), "true");
}

static bool has_ranks(const ShortForm *b, const char *degree)
{
    return yaml_int_at(b->mesh, degree, 1) > 1;
}

/* A reference leads to an entry of the root. */
static const Yaml *mesh_of(const Yaml *root, const Yaml *config)
{
    const Yaml *mesh = yaml_get(config, "device_mesh");
    if (yaml_get(mesh, "instance_key")) mesh = yaml_get(root, yaml_text_at(mesh, "instance_key"));
    return yaml_get(mesh, "config");
}

static void explain_tensor(const ShortForm *b)
{
    if (!has_ranks(b, "tensor_parallel_degree")) return;
    if (is_set(b, "sequence_parallel"))
        text_printf(b->out, "#   model.gpt2_tp\n");
    else
        text_printf(b->out, "#   model.gpt2_tp, but for sequence_parallel: false, which it cannot "
                            "say\n");
    if (is_set(b, "async_tensor_parallel"))
        text_printf(b->out, "#   async_tensor_parallel: true, which no wrapper can say\n");
}

static void explain_context(const ShortForm *b)
{
    const char *method = setting(b, "context_method"), *layout = setting(b, "context_layout");
    const bool is_usual = !strcmp(method, "ring") && !strcmp(layout, "zig_zag");
    if (has_ranks(b, "context_parallel_degree"))
        text_printf(b->out, "#   context_method: %s, context_layout: %s, which %s\n", method,
                    layout, is_usual ? "the wrappers take for granted" : "no wrapper can say");
}

static void explain_memory(const ShortForm *b)
{
    const int64_t every = number(b, "recompute_every");
    if (every == 1)
        text_printf(b->out, "#   model.activation_checkpointed: {ac_variant: "
                            "full_activation_checkpointing}\n");
    if (every > 1)
        text_printf(b->out,
                    "#   model.activation_checkpointed: {ac_variant: "
                    "selective_layer_activation_checkpointing, ac_fun_params: {ac_freq: %lld}}\n",
                    (long long)every);
    if (*setting(b, "memory_budget"))
        text_printf(b->out, "#   memory_budget: %s, which no wrapper can say\n",
                    setting(b, "memory_budget"));
    if (number(b, "offload_every"))
        text_printf(b->out, "#   offload_every: %s, which no wrapper can say\n",
                    setting(b, "offload_every"));
}

static void explain_data(const ShortForm *b)
{
    const int64_t stage = number(b, "zero_stage");
    if (stage < 2)
        text_printf(b->out,
                    "#   zero_stage: %lld, param_dtype: %s, reduce_dtype: %s, which no wrapper can "
                    "say\n",
                    (long long)stage, setting(b, "param_dtype"), setting(b, "reduce_dtype"));
    else
        text_printf(b->out,
                    "#   model.fsdp2_wrapped: {mixed_precision_settings: {param_dtype: %s, "
                    "reduce_dtype: %s}, reshard_after_forward: %s, layers_per_fsdp_unit: %s}\n",
                    setting(b, "param_dtype"), setting(b, "reduce_dtype"),
                    stage == 3 ? "true" : "false", setting(b, "blocks_per_unit"));
}

static void explain_pipeline(const ShortForm *b)
{
    const char *schedule = setting(b, "pipeline_schedule");
    const int64_t microbatches = number(b, "microbatches"), stages = number(b, "stages_per_rank");
    if (!has_ranks(b, "pipeline_parallel_degree")) return;
    text_printf(b->out,
                "#   pipeline.staged, pipeline.scheduled and pipeline.selector: {pp_schedule_name: "
                "%s}, a batch cut into %lld\n",
                *schedule ? schedule : "1F1B", microbatches ? (long long)microbatches : 1LL);
    if (stages)
        text_printf(b->out, "#   %lld stages on each rank, about equally long\n",
                    (long long)stages);
    else
        text_printf(b->out, "#   stages about equally long\n");
}

static void explain(const Yaml *root, const char *key, const Yaml *config, const Field *fields,
                    Text *out)
{
    const ShortForm b = {
        .config = config, .mesh = mesh_of(root, config), .fields = fields, .out = out
    };
    text_printf(out, "# %s: model.parallelized stands for\n", key);
    explain_tensor(&b);
    explain_context(&b);
    explain_memory(&b);
    explain_data(&b);
    explain_pipeline(&b);
}

static void walk(const Yaml *root, const char *key, const Yaml *y, const Field *fields, Text *out)
{
    if (y->type != YAML_MAP && y->type != YAML_LIST) return;
    const Yaml *config = yaml_get(y, "config");
    if (!strcmp(yaml_text_at(y, "component_key"), "model") &&
        !strcmp(yaml_text_at(y, "variant_key"), "parallelized") && config)
        explain(root, key, config, fields, out);
    for (int64_t i = 0; i < y->n; i++)
        walk(root, y->type == YAML_MAP ? y->key[i]->text : key, y->item[i], fields, out);
}

void short_form_explain(const Registry *r, const Yaml *root, Text *out)
{
    const ComponentDef *def = NULL;
    Error *e = registry_find(r, "model", "parallelized", &def);
    if (!e) walk(root, "", root, def->fields, out);
    error_free(e);
}
