/* help.c - `modalities help`: commands and components by name. */
#include "command.h"
#include "components.h"
#include "config/document.h"
#include "configurations.h"
#include <stdio.h>
#include <string.h>

typedef struct Options {
    StringList topic;
} Options;

static const Field options[] = {
    FIELD_STRINGS(Options, topic, "[]", 0, 2,
                  "a command; environment; settings with training, packing or generation; "
                  "component, alone or "
                  "with KIND or KIND.VARIANT",
                  .flags = FIELD_ARGUMENT),
    { 0 },
};

/* component: all of them; component KIND; component KIND.VARIANT. */
static Error *help_component(Arena *a, const char *name, Text *out)
{
    Registry *r;
    TRY(components_registry(a, &r));
    if (!name) {
        document_list(r, NULL, out);
        return NULL;
    }
    const char *dot = strchr(name, '.');
    if (!dot)
        return document_list(r, name, out)
                   ? NULL
                   : registry_find(r, name, "", &(const ComponentDef *){ NULL });
    const ComponentDef *def;
    TRY(registry_find(r, arena_string_n(a, name, (size_t)(dot - name)), dot + 1, &def));
    document_component(def, DOCUMENT_TEXT, out);
    return NULL;
}

static Error *help_command(Arena *a, StringList topic, Text *out)
{
    const char *first = topic.n ? topic.item[0] : NULL,
               *second = topic.n > 1 ? topic.item[1] : NULL;
    const Command *c = second  ? command_find(first, second)
                       : first ? command_find(NULL, first)
                               : NULL;
    if (c) {
        command_help(c, out);
    } else if (!first || (!second && command_group_doc(first))) {
        command_group_help(first, out);
    } else {
        return command_run(a, (int)topic.n,
                           (char **)topic.item); /* says which command comes near */
    }
    return NULL;
}

static Error *help_settings(const char *name, Text *out)
{
    const Configuration *c = name ? configuration_find(name) : NULL;
    if (!c)
        return error_usage("help settings %s: allowed are training, packing, generation",
                           name ? name : "");
    configuration_help(c, out);
    return NULL;
}

static Error *help_topic(Arena *a, StringList topic, Text *out)
{
    const char *first = topic.n ? topic.item[0] : "", *second = topic.n > 1 ? topic.item[1] : NULL;
    if (!strcmp(first, "component")) return error_as_usage(help_component(a, second, out));
    if (!strcmp(first, "settings")) return help_settings(second, out);
    if (strcmp(first, "environment")) return help_command(a, topic, out);
    environment_help(out);
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    Text t = { 0 };
    Error *e = help_topic(a, ((const Options *)given)->topic, &t);
    if (!e) fwrite(t.ptr, 1, t.len, stdout);
    text_free(&t);
    return e;
}

const Command command_top_help = {
    .name = "help",
    .doc = "Explains a command, a component of the YAML, its settings, or the environment.",
    .examples = "modalities help data pack_encoded_data\n"
                "modalities help component\n"
                "modalities help component optimizer.adam_w\n"
                "modalities help settings training\n"
                "modalities help environment",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
