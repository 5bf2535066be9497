/* help.c - `modalities help`: commands and components by name. */
#include "command.h"
#include "components.h"
#include "config/document.h"
#include "config/original_names.h"
#include "configurations.h"
#include <stdio.h>
#include <string.h>

typedef struct Options {
    StringList topic;
} Options;

static const Field options[] = {
    FIELD_STRINGS(
        Options, topic, "[]", 0, 2,
        "a command; environment; settings with training, generation, instruction or packing; "
        "component, alone or "
        "with KIND, VARIANT or KIND.VARIANT; KIND.VARIANT",
        .flags = FIELD_ARGUMENT),
    { 0 },
};

static bool has_variant(const ComponentDef *d, const char *variant)
{
    return !strcmp(d->variant, variant) || (d->also && !strcmp(d->also, variant));
}

/* Components of any kind with this variant, after their names if there are several; false: none.
 */
static bool help_variant(const Registry *r, const char *variant, Text *out)
{
    int n = 0;
    Text all = { 0 };
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *d = registry_at(r, i);
        if (!has_variant(d, variant)) continue;
        text_printf(out, "%s%s.%s", n++ ? ", " : "", d->kind, d->variant);
        if (all.len) text_putc(&all, '\n');
        document_component(d, DOCUMENT_TEXT, &all);
    }
    if (n > 1)
        text_puts(out, "\n\n");
    else
        text_clear(out);
    if (n) text_add(out, all.ptr, all.len);
    text_free(&all);
    return n > 0;
}

/* What comes near as a kind, a variant or both. */
static Error *no_such_component(Arena *a, const Registry *r, const char *name)
{
    Error *e = original_name_answer(name, "");
    if (!e) e = original_name_answer(NULL, name);
    if (e) return e;
    int64_t n = registry_count(r);
    const char **names = NEW_N(a, const char *, 2 * n + 1);
    for (int64_t i = 0; i < n; i++) {
        names[i] = registry_at(r, i)->kind;
        names[n + i] = registry_at(r, i)->variant;
    }
    const char *near = nearest_name(name, names);
    if (near) return error_new("there is no component \"%s\"; did you mean \"%s\"?", name, near);
    return error_new("there is no component \"%s\"; `modalities help component` lists them", name);
}

/* component: all of them; component KIND, VARIANT or KIND.VARIANT. */
static Error *help_component(Arena *a, const char *name, Text *out)
{
    Registry *r;
    TRY(components_registry(a, &r));
    const char *dot = name ? strchr(name, '.') : NULL;
    if (!dot) {
        bool is_known = document_list(r, name, out) || !name || help_variant(r, name, out);
        return is_known ? NULL : no_such_component(a, r, name);
    }
    const ComponentDef *def;
    TRY(registry_find(r, arena_string_n(a, name, (size_t)(dot - name)), dot + 1, &def));
    document_component(def, DOCUMENT_TEXT, out);
    return NULL;
}

/* A component by its name alone; else which command or component comes near. */
static Error *help_other(Arena *a, const char *name, Text *out)
{
    Error *e = help_component(a, name, out);
    bool is_component = !e || strchr(name, '.');
    if (!is_component) e = error_join(command_unknown(a, NULL, name), e);
    return error_as_usage(e);
}

static Error *help_command(Arena *a, StringList topic, Text *out)
{
    const char *first = topic.n ? topic.item[0] : NULL,
               *second = topic.n > 1 ? topic.item[1] : NULL;
    const Command *c = second  ? command_find(first, second)
                       : first ? command_find(NULL, first)
                               : NULL;
    if (c) {
        command_help(c, usage_width(), out);
    } else if (!first || (!second && command_group_doc(first))) {
        command_group_help(first, usage_width(), out);
    } else if (second) {
        return command_unknown(a, command_group_doc(first) ? first : NULL,
                               command_group_doc(first) ? second : first);
    } else {
        return help_other(a, first, out);
    }
    return NULL;
}

static Error *help_settings(Arena *a, const char *name, Text *out)
{
    const Configuration *c = name ? configuration_find(name) : NULL;
    if (!c)
        return error_usage("help settings%s%s: allowed are %s", name ? " " : "", name ? name : "",
                           configuration_names(a));
    configuration_help(c, out);
    return NULL;
}

static Error *help_topic(Arena *a, StringList topic, Text *out)
{
    const char *first = topic.n ? topic.item[0] : "", *second = topic.n > 1 ? topic.item[1] : NULL;
    if (!strcmp(first, "component")) return error_as_usage(help_component(a, second, out));
    if (!strcmp(first, "settings")) return help_settings(a, second, out);
    if (strcmp(first, "environment")) return help_command(a, topic, out);
    environment_help(usage_width(), out);
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
