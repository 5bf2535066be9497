/* configurations.c - what stands at the top of a file for each command, and in its `settings`. */
#include "configurations.h"
#include "config/document.h"
#include "data/pack_settings.h"
#include "train/generation_settings.h"
#include "train/settings.h"
#include <string.h>

const Configuration configurations[] = {
    { "training", "run and warmstart", "loss_fn", training_config_fields },
    { "packing", "data pack_encoded_data", "settings.src_path", pack_config_fields },
    { "generation", "generate_text", "text_inference_component", generation_config_fields },
    { 0 },
};

const Configuration *configuration_find(const char *name)
{
    for (const Configuration *c = configurations; c->name; c++)
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

const Configuration *configuration_of(const Yaml *root)
{
    for (const Configuration *c = configurations; c->name; c++)
        if (yaml_find(root, c->mark)) return c;
    return NULL;
}

void configurations_document(Text *out)
{
    for (const Configuration *c = configurations; c->name; c++) {
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
