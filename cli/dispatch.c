/* dispatch.c - from the words of a command line to the command that runs. */
#include "command.h"
#include <stdio.h>
#include <string.h>

static const char *full_name(Arena *a, const Command *c)
{
    return c->group ? arena_printf(a, "%s %s", c->group, c->name) : c->name;
}

/* The names at one level: commands of a group, or top-level commands and groups. */
static const char **names_at(Arena *a, const char *group)
{
    int n = 0, count = 0;
    while (commands[n]) n++;
    const char **names = NEW_N(a, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        const Command *c = commands[i];
        if (group && (!c->group || strcmp(c->group, group))) continue;
        const char *name = !group && c->group ? c->group : c->name;
        if (!count || strcmp(names[count - 1], name)) names[count++] = name;
    }
    return names;
}

static Error *no_such_command(Arena *a, const char *group, const char *name)
{
    const char *near = nearest_name(name, names_at(a, group));
    const char *prefix = group ? arena_printf(a, "%s ", group) : "";
    if (near)
        return error_usage("there is no command \"%s%s\"; did you mean \"%s%s\"?", prefix, name,
                           prefix, near);
    return error_usage("there is no command \"%s%s\"; `modalities%s%s --help` lists them", prefix,
                       name, group ? " " : "", group ? group : "");
}

static Error *print(Text *t)
{
    fwrite(t->ptr, 1, t->len, stdout);
    text_free(t);
    return NULL;
}

static bool asks_for_help(const char *word)
{
    return !strcmp(word, "--help");
}

static Error *run_one(Arena *a, const Command *c, int n, char **word)
{
    void *options = arena_alloc(a, c->options_size + 1);
    bool wants_help = false;
    Error *e = command_parse(a, c, n, word, options, &wants_help);
    if (e)
        return error_join(
            e, error_usage("`modalities %s --help` explains the options", full_name(a, c)));
    if (!wants_help) return c->run(a, options);
    Text t = { 0 };
    command_help(c, &t);
    return print(&t);
}

static Error *run_group(Arena *a, const char *group, int n, char **word)
{
    Text t = { 0 };
    if (n && !asks_for_help(word[0])) {
        const Command *c = command_find(group, word[0]);
        return c ? run_one(a, c, n - 1, word + 1) : no_such_command(a, group, word[0]);
    }
    command_group_help(group, &t);
    if (n) return print(&t);
    Error *e = error_usage("%sa command is missing", t.ptr);
    text_free(&t);
    return e;
}

Error *command_run(Arena *a, int n, char **word)
{
    if (!n || asks_for_help(word[0])) return run_group(a, NULL, n, word);
    const Command *c = command_find(NULL, word[0]);
    if (c) return run_one(a, c, n - 1, word + 1);
    if (command_group_doc(word[0])) return run_group(a, word[0], n - 1, word + 1);
    if (word[0][0] == '-')
        return error_usage("\"%s\" stands before a command; options follow it", word[0]);
    return no_such_command(a, NULL, word[0]);
}
