/* configurations.c - what stands at the top of a file for each command, and in its `settings`. */
#include "configurations.h"
#include "config/document.h"
#include "data/instruction.h"
#include "data/pack_settings.h"
#include "train/generation_settings.h"
#include "train/settings.h"
#include "train/steppable.h"
#include <string.h>

static Error *check_packing(const void *config)
{
    return pack_settings_check(&((const PackConfig *)config)->settings);
}

static Error *check_generation(const void *config)
{
    return device_choice_check(&((const GenerationConfig *)config)->settings.device);
}

static Error *check_instruction(const void *config)
{
    return instruction_settings_check(config);
}

/* In the order in which a file is asked: a file of one kind may have a mark of those below. A file
 * that has parts of a training, to be tested or inspected, is of no kind. */
const Configuration configurations[] = {
    { .name = "training",
      .commands = "run and warmstart",
      .marks = { "app_state", "loss_fn", "train_dataset", "train_dataloader", "eval_dataloaders",
                 "checkpoint_saving", "gradient_clipper", "evaluation_subscriber",
                 "progress_subscriber" },
      .n_marks = 3,
      .keys = training_config_fields,
      .size = sizeof(TrainingConfig) },
    { .name = "profiling",
      .commands = "profile distributed and profile single_process",
      .marks = { "steppable_component", "(steppable_component)", "(steppable_profiler)" },
      .n_marks = 1,
      .keys = profiling_config_fields,
      .size = sizeof(ProfilingConfig) },
    { .name = "generation",
      .commands = "generate_text",
      .marks = { "text_inference_component", "(inference_component)" },
      .n_marks = 1,
      .keys = generation_config_fields,
      .size = sizeof(GenerationConfig),
      .check = check_generation },
    { .name = "instruction",
      .commands = "data prepare_instruction_tuning_data",
      .marks = { "instruction_data_transformation", "jinja2_chat_template", "chat_template_data" },
      .n_marks = 1,
      .keys = instruction_config_fields,
      .size = sizeof(InstructionConfig),
      .check = check_instruction },
    { .name = "packing",
      .commands = "data pack_encoded_data",
      .marks = { "settings.src_path", "settings.dst_path", "settings.jq_pattern",
                 "settings.eod_token", "settings.index_path", "settings.processing_batch_size" },
      .n_marks = 2,
      .keys = pack_config_fields,
      .size = sizeof(PackConfig),
      .check = check_packing },
    { 0 },
};

const Configuration *configuration_find(const char *name)
{
    for (const Configuration *c = configurations; c->name; c++)
        if (c->commands && !strcmp(c->name, name)) return c;
    return NULL;
}

/* A mark is a key path, or in parentheses the component_key of a top-level component. */
static bool has_mark(const Yaml *root, const char *mark)
{
    if (*mark != '(') return yaml_find(root, mark) != NULL;
    for (int64_t i = 0; i < root->n; i++) {
        const Yaml *kind = yaml_get(root->item[i], "component_key");
        Str name = { mark + 1, strlen(mark) - 2 };
        if (kind && kind->type == YAML_STRING && str_is(name, kind->text)) return true;
    }
    return false;
}

const Configuration *configuration_of(const Yaml *root)
{
    for (const Configuration *c = configurations; c->name; c++) {
        int n = 0;
        for (int i = 0; c->marks[i]; i++) n += has_mark(root, c->marks[i]);
        if (n >= c->n_marks) return c;
    }
    return NULL;
}

const char *configuration_names(Arena *a)
{
    const char *names = "";
    for (const Configuration *c = configurations; c->name; c++)
        if (c->commands) names = arena_printf(a, "%s%s%s", names, *names ? ", " : "", c->name);
    return names;
}

void configurations_document(Text *out)
{
    for (const Configuration *c = configurations; c->name; c++) {
        if (!c->commands) continue;
        text_printf(out,
                    "\n## Configurations for %s\n\n### %s\n\n"
                    "| key | allowed | default | meaning |\n|---|---|---|---|\n",
                    c->name, c->commands);
        document_fields(c->keys, DOCUMENT_MARKDOWN, out);
    }
}

void configuration_help(const Configuration *c, Text *out)
{
    text_printf(out, "Top-level keys of a configuration for %s (%s):\n\n", c->name, c->commands);
    document_fields(c->keys, DOCUMENT_TEXT, out);
}
