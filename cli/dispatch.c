/* dispatch.c - from the words of a command line to the command that runs. */
#include "base/version.h"
#include "command.h"
#include <stdio.h>
#include <string.h>

static const char *full_name(Arena *a, const Command *c)
{
    return c->group ? arena_printf(a, "%s %s", c->group, c->name) : c->name;
}

static Error *print(Text *t)
{
    fwrite(t->ptr, 1, t->len, stdout);
    text_free(t);
    return NULL;
}

bool command_asks_for_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* That of the program, and of the original whose configurations it takes. */
static Error *print_version(void)
{
    puts("modalities " PROGRAM_VERSION " (configurations and files of Modalities 0.5.0)");
    return NULL;
}

static Error *run_one(Arena *a, const Command *c, int n, char **word)
{
    void *options = arena_alloc(a, c->options_size + 1);
    bool wants_help = false;
    PathRoles *paths = path_roles_new(a);
    Error *e = command_parse(a, c, n, word, options, paths, &wants_help);
    if (e)
        return error_join(
            e, error_usage("`modalities %s --help` explains the options", full_name(a, c)));
    if (!wants_help) {
        TRY(command_check_paths(a, c, options, paths));
        return c->run(a, options);
    }
    Text t = { 0 };
    command_help(c, usage_width(), &t);
    return print(&t);
}

static Error *run_group(Arena *a, const char *group, int n, char **word)
{
    Text t = { 0 };
    if (n && !command_asks_for_help(word[0])) {
        const Command *c = command_find(group, word[0]);
        return c ? run_one(a, c, n - 1, word + 1) : command_unknown(a, group, word[0]);
    }
    command_group_help(group, usage_width(), &t);
    if (n) return print(&t);
    Error *e = error_usage("%sa command is missing", t.ptr);
    text_free(&t);
    return e;
}

Error *command_run(Arena *a, int n, char **word)
{
    if (!n || command_asks_for_help(word[0])) return run_group(a, NULL, n, word);
    if (!strcmp(word[0], "--version")) return print_version();
    const Command *c = command_find(NULL, word[0]);
    if (c) return run_one(a, c, n - 1, word + 1);
    if (command_group_doc(word[0])) return run_group(a, word[0], n - 1, word + 1);
    if (!strcmp(word[0], "-v") || !strcmp(word[0], "-V"))
        return error_usage("there is no option %s; did you mean --version?", word[0]);
    if (word[0][0] == '-')
        return error_usage("\"%s\" stands before a command; options follow it", word[0]);
    return command_unknown(a, NULL, word[0]);
}
