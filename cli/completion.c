/* completion.c - `modalities completion`: what shells need to complete commands, options and what
 * `help` explains; made from the tables of all commands and components. */
#include "base/map.h"
#include "command.h"
#include "components.h"
#include "config/registry.h"
#include "configurations.h"
#include <stdio.h>
#include <string.h>

enum { BASH, ZSH, FISH };
static const char *const shells[] = { "bash", "zsh", "fish", NULL };

typedef struct Options {
    int shell;
} Options;

static void add_topic(Map *topics, const char *name, const char *doc)
{
    if (!map_has(topics, str_of(name))) map_set(topics, str_of(name), (void *)doc);
}

/* What `help component` explains: kinds, variants, and both with a dot; sentences by names. */
static Error *find_topics(Arena *a, Map **out)
{
    Registry *r;
    TRY(components_registry(a, &r));
    *out = map_new(a);
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *d = registry_at(r, i);
        add_topic(*out, d->kind, "the components of this kind");
        add_topic(*out, d->variant, d->doc);
        add_topic(*out, arena_printf(a, "%s.%s", d->kind, d->variant), d->doc);
    }
    return NULL;
}

static bool is_first_of_group(int i)
{
    for (int k = 0; k < i; k++)
        if (commands[k]->group && commands[i]->group &&
            !strcmp(commands[k]->group, commands[i]->group))
            return false;
    return true;
}

/* The words at the top level: commands and groups. */
static void put_top(Text *t)
{
    for (int i = 0; commands[i]; i++) {
        const Command *c = commands[i];
        if (!c->group)
            text_printf(t, " %s", c->name);
        else if (is_first_of_group(i) && strcmp(c->group, c->name) != 0)
            text_printf(t, " %s", c->group);
    }
}

static void put_options(const Command *c, Text *t)
{
    for (const Field *f = c->options; f && f->name; f++)
        if (!(f->flags & FIELD_ARGUMENT)) text_printf(t, " --%s", f->name);
    text_puts(t, " --help");
}

/* The allowed words after an option, if there are such. */
static void put_choices(const Command *c, Text *t)
{
    for (const Field *f = c->options; f && f->name; f++) {
        if (f->type != FIELD_CHOICE) continue;
        text_printf(t, "        '%s%s%s --%s') words='", c->group ? c->group : "",
                    c->group ? " " : "", c->name, f->name);
        for (int k = 0; f->choices[k]; k++)
            text_printf(t, "%s%.*s", k ? " " : "", (int)strcspn(f->choices[k], "|"), f->choices[k]);
        text_puts(t, "' ;;\n");
    }
}

/* What `help` explains beside commands. */
static void put_help(Text *t)
{
    text_puts(t, "        '2 help') [[ $cur == -* ]] || words=\"component environment settings");
    put_top(t);
    text_puts(t, " $components\" ;;\n        'help component') words=$components ;;\n"
                 "        'help settings') words='");
    for (const Configuration *c = configurations; c->name; c++)
        if (c->commands) text_printf(t, " %s", c->name);
    text_puts(t, "' ;;\n");
}

static void put_bash(const Map *topics, Text *t)
{
    text_puts(t, "_modalities() {\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
                 "words='' command=${COMP_WORDS[1]}\n"
                 "    local at=\"$COMP_CWORD $command\" components='");
    for (int64_t i = 0; i < topics->n; i++)
        text_printf(t, " %.*s", (int)topics->entry[i].key.len, topics->entry[i].key.ptr);
    text_puts(t, "'\n"
                 "    [ \"$at\" = '3 help' ] && at=\"help ${COMP_WORDS[2]}\"\n"
                 "    case \" ");
    for (int i = 0; commands[i]; i++)
        if (commands[i]->group && is_first_of_group(i)) text_printf(t, "%s ", commands[i]->group);
    text_puts(t, "\" in *\" $command \"*) [ \"$COMP_CWORD\" -gt 2 ] && command=\"$command "
                 "${COMP_WORDS[2]}\" ;; esac\n"
                 "    case \"$at\" in\n"
                 "        '1 '*) words='");
    put_top(t);
    text_puts(t, "' ;;\n");
    put_help(t);
    for (int i = 0; commands[i]; i++) {
        const char *group = commands[i]->group;
        if (!group || !is_first_of_group(i)) continue;
        text_printf(t, "        '2 %s' | 'help %s') words='", group, group);
        for (int k = 0; commands[k]; k++)
            if (commands[k]->group && !strcmp(commands[k]->group, group))
                text_printf(t, " %s", commands[k]->name);
        text_puts(t, "' ;;\n");
    }
    text_puts(t, "    esac\n"
                 "    [ -n \"$words\" ] || case \"$command\" in\n");
    for (int i = 0; commands[i]; i++) {
        const Command *c = commands[i];
        text_printf(t, "        '%s%s%s') [[ $cur == -* ]] && words='", c->group ? c->group : "",
                    c->group ? " " : "", c->name);
        put_options(c, t);
        text_puts(t, "' ;;\n");
    }
    text_puts(t, "    esac\n"
                 "    case \"$command $before\" in\n");
    for (int i = 0; commands[i]; i++) put_choices(commands[i], t);
    text_puts(t, "    esac\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                 "}\n"
                 "complete -o default -F _modalities modalities\n");
}

/* Quoted for fish. */
static void put_quoted(Text *t, const char *s)
{
    text_putc(t, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\') text_putc(t, '\\');
        text_putc(t, *s);
    }
    text_putc(t, '\'');
}

static const char *group_doc(const Command *c)
{
    const char *doc = command_group_doc(c->group);
    return doc ? doc : c->doc;
}

/* A word that may stand in the nth place, where `after` lets it; NULL: anywhere. */
static void put_fish_topic(const char *after, int n, const char *name, const char *doc, Text *t)
{
    text_printf(t, "complete -c modalities -f -n '__fish_seen_subcommand_from help; and ");
    if (after) text_printf(t, "__fish_seen_subcommand_from %s; and ", after);
    text_printf(t, "test (count (commandline -opc)) -eq %d' -a %s -d ", n, name);
    put_quoted(t, doc);
    text_putc(t, '\n');
}

/* What `help` explains. */
static void put_fish_help(const Map *topics, Text *t)
{
    put_fish_topic(NULL, 2, "component", "all components, or one", t);
    put_fish_topic(NULL, 2, "environment", "variables of the environment", t);
    put_fish_topic(NULL, 2, "settings", "a kind of configuration", t);
    for (int i = 0; commands[i]; i++) {
        const Command *c = commands[i];
        if (c->group && is_first_of_group(i)) put_fish_topic(NULL, 2, c->group, group_doc(c), t);
        put_fish_topic(c->group, c->group ? 3 : 2, c->name, c->doc, t);
    }
    for (const Configuration *c = configurations; c->name; c++)
        if (c->commands) put_fish_topic("settings", 3, c->name, c->commands, t);
    for (int64_t i = 0; i < topics->n; i++) {
        const MapEntry *x = &topics->entry[i];
        const char *name = arena_string_n(topics->arena, x->key.ptr, x->key.len);
        put_fish_topic(NULL, 2, name, x->value, t);
        put_fish_topic("component", 3, name, x->value, t);
    }
}

static void put_fish_command(const Command *c, Text *t)
{
    if (c->group)
        text_printf(t,
                    "complete -c modalities -f -n '__fish_seen_subcommand_from %s; and test (count "
                    "(commandline -opc)) -eq 2' -a %s -d ",
                    c->group, c->name);
    else
        text_printf(t, "complete -c modalities -f -n __fish_use_subcommand -a %s -d ", c->name);
    put_quoted(t, c->doc);
    text_putc(t, '\n');
    for (const Field *f = c->options; f && f->name; f++) {
        if (f->flags & FIELD_ARGUMENT) continue;
        text_printf(t, "complete -c modalities -n '__fish_seen_subcommand_from %s' -l %s%s -d ",
                    c->name, f->name, f->type == FIELD_BOOL ? "" : " -r");
        put_quoted(t, f->doc);
        text_putc(t, '\n');
    }
}

static void put_fish(const Map *topics, Text *t)
{
    for (int i = 0; commands[i]; i++) {
        const Command *c = commands[i];
        if (c->group && is_first_of_group(i)) {
            text_printf(t, "complete -c modalities -f -n __fish_use_subcommand -a %s -d ",
                        c->group);
            put_quoted(t, group_doc(c));
            text_putc(t, '\n');
        }
        put_fish_command(c, t);
    }
    put_fish_help(topics, t);
}

static Error *run(Arena *a, const void *options)
{
    Text t = { 0 };
    Map *topics;
    TRY(find_topics(a, &topics));
    switch (((const Options *)options)->shell) {
    case FISH:
        put_fish(topics, &t);
        break;
    case ZSH:
        text_puts(&t, "autoload -U +X bashcompinit && bashcompinit\n");
        put_bash(topics, &t);
        break;
    default:
        put_bash(topics, &t);
        break;
    }
    fwrite(t.ptr, 1, t.len, stdout);
    text_free(&t);
    return NULL;
}

/* clang-format off */
static const Field options[] = {
    FIELD_CHOICE(Options, shell, NULL, shells, "the shell", .flags = FIELD_ARGUMENT),
    { 0 },
};
/* clang-format on */

const Command command_top_completion = {
    .name = "completion",
    .doc = "Prints what a shell needs to complete commands, options and their values.",
    .examples = "source <(modalities completion bash)\n"
                "source <(modalities completion zsh)\n"
                "modalities completion fish > ~/.config/fish/completions/modalities.fish",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
