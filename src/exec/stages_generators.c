/* stages_generators.c - stages_generator.gpt2_stages_generator and by_cost: into how many stages a
 * model is cut, and where. */
#include "config/builder.h"
#include "passes/stages.h"

typedef struct Settings {
    int64_t num_model_layers, input_layer_equivalence, output_layer_equivalence;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    StagesGenerator *g = NEW(builder_arena(b), StagesGenerator);
    *g = (StagesGenerator){ .blocks = s->num_model_layers,
                            .input = s->input_layer_equivalence,
                            .output = s->output_layer_equivalence };
    *out = g;
    return NULL;
}

static Error *build_by_cost(Builder *b, const void *settings, void **out)
{
    StagesGenerator *g = NEW(builder_arena(b), StagesGenerator);
    *g = (StagesGenerator){ .blocks = ((const Settings *)settings)->num_model_layers,
                            .by_cost = true };
    *out = g;
    return NULL;
}

/* clang-format off */
#define LAYERS FIELD_INT(Settings, num_model_layers, NULL, 1, INFINITY, "blocks of the model", .flags = FIELD_STRICT)
static const Field fields[] = {
    LAYERS,
    FIELD_INT(Settings, input_layer_equivalence, "1", 1, INFINITY, "how many blocks the embedding counts for", .flags = FIELD_STRICT),
    FIELD_INT(Settings, output_layer_equivalence, "1", 1, INFINITY, "how many blocks the head and the loss count for", .flags = FIELD_STRICT),
    { 0 },
};
static const Field by_cost_fields[] = { LAYERS, { 0 } };
/* clang-format on */

const ComponentDef stages_generator_gpt2_stages_generator = {
    .kind = "stages_generator",
    .variant = "gpt2_stages_generator",
    .doc = "fills pipeline stages with blocks, counting the embedding and the head as some of them",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};

const ComponentDef stages_generator_by_cost = {
    .kind = "stages_generator",
    .variant = "by_cost",
    .doc = "cuts pipeline stages so that the slowest is as fast as can be, by counting FLOPs and "
           "bytes",
    .fields = by_cost_fields,
    .settings_size = sizeof(Settings),
    .build = build_by_cost,
};
