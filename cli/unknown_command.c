/* unknown_command.c - what is said of a command that there is not: the nearest one. */
#include "command.h"
#include <string.h>

/* Other words for what a command does. */
static const struct {
    const char *word, *command;
} synonyms[] = {
    { "answer", "generate_text" },
    { "chat", "generate_text" },
    { "encode", "tokenizer encode" },
    { "export", "convert_pytorch_to_hf_checkpoint" },
    { "fit", "run" },
    { "generate", "generate_text" },
    { "index", "data create_raw_index" },
    { "pack", "data pack_encoded_data" },
    { "plot", "report" },
    { "pretrain", "run" },
    { "tokenize", "data pack_encoded_data" },
    { "train", "run" },
    { "training", "run" },
    { "validate", "config check" },
    { "version", "--version" },
};

static const char *full_name(Arena *a, const Command *c)
{
    return c->group ? arena_printf(a, "%s %s", c->group, c->name) : c->name;
}

/* The names at one level: commands of a group, or top-level commands and groups. */
static const char *nearest_at(Arena *a, const char *group, const char *name)
{
    int n = 0, count = 0;
    while (commands[n]) n++;
    const char **names = NEW_N(a, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        const Command *c = commands[i];
        if (group && (!c->group || strcmp(c->group, group))) continue;
        names[count++] = !group && c->group ? c->group : c->name;
    }
    const char *near = nearest_name(name, names);
    return near && group ? arena_printf(a, "%s %s", group, near) : near;
}

static const char *nearest_synonym(Arena *a, const char *name)
{
    enum { N = sizeof synonyms / sizeof *synonyms };
    const char **words = NEW_N(a, const char *, N + 1);
    for (int i = 0; i < N; i++) words[i] = synonyms[i].word;
    const char *near = nearest_name(name, words);
    for (int i = 0; near && i < N; i++)
        if (synonyms[i].word == near) return synonyms[i].command;
    return NULL;
}

/* Wherever it stands: "pack_encoded_data" without its group, "data run". */
static const char *nearest_anywhere(Arena *a, const char *name)
{
    int n = 0;
    while (commands[n]) n++;
    const char **names = NEW_N(a, const char *, n + 1);
    for (int i = 0; i < n; i++) names[i] = commands[i]->name;
    const char *near = nearest_name(name, names);
    if (!near) return NULL;
    if (command_find(NULL, near)) return near;
    int at = 0;
    while (strcmp(names[at], near)) at++;
    return full_name(a, commands[at]);
}

Error *command_unknown(Arena *a, const char *group, const char *name)
{
    const char *full = group ? arena_printf(a, "%s %s", group, name) : name;
    const char *near = nearest_at(a, group, name);
    if (!near && !group) near = nearest_synonym(a, name);
    if (!near) near = nearest_anywhere(a, name);
    if (near) return error_usage("there is no command \"%s\"; did you mean \"%s\"?", full, near);
    return error_usage("there is no command \"%s\"; `modalities%s%s --help` lists them", full,
                       group ? " " : "", group ? group : "");
}
