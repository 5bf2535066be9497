/* options.c - reads the options and arguments of a command by its table. */
#include "command.h"
#include "config/field_paths.h"
#include "config/field_read.h"
#include <string.h>

/* Everything given so far, as the mapping that the table will read. */
typedef struct Parsing {
    Arena *arena;
    const Command *command;
    Yaml *given;
    Error *error;
    const char *too_many; /* the word that no argument takes, if it is the only one */
    int n_too_many;
} Parsing;

static bool is_option(const Field *f)
{
    return !(f->flags & FIELD_ARGUMENT);
}

static void fail(Parsing *p, Error *e)
{
    p->error = error_join(p->error, e);
}

static const Field *find_option(const Command *c, const char *name)
{
    for (const Field *f = c->options; f && f->type != FIELD_END; f++)
        if (is_option(f) && (!strcmp(f->name, name) || (f->alias && !strcmp(f->alias, name))))
            return f;
    return NULL;
}

/* Texts stay texts whatever they look like; the rest is typed as in YAML. */
static Yaml *typed_value(Arena *a, const Field *f, const char *text)
{
    const Field *item = f->type == FIELD_LIST ? f->fields : f;
    bool is_text =
        item->type == FIELD_STRING || item->type == FIELD_PATH || item->type == FIELD_CHOICE;
    return is_text ? yaml_string(a, text) : yaml_scalar(a, text);
}

static void add_value(Parsing *p, const Field *f, const char *text)
{
    Yaml *value = typed_value(p->arena, f, text);
    if (f->type == FIELD_LIST) {
        Yaml *list = yaml_get(p->given, f->name);
        if (!list) {
            list = NEW(p->arena, Yaml);
            list->type = YAML_LIST;
            yaml_set(p->arena, p->given, f->name, list);
        }
        yaml_append(p->arena, list, value);
    } else {
        yaml_set(p->arena, p->given, f->name, value);
    }
}

/* Reports an unknown name. The nearest option is returned: it then counts as given, so that one
 * slip of the pen is one message. */
static const Field *report_unknown(Parsing *p, const char *name)
{
    int n = 0;
    for (const Field *f = p->command->options; f && f->type != FIELD_END; f++) n++;
    const char **names = NEW_N(p->arena, const char *, n + 2);
    n = 0;
    names[n++] = "help";
    for (const Field *f = p->command->options; f && f->type != FIELD_END; f++)
        if (is_option(f)) names[n++] = f->name;
    const char *near = nearest_name(name, names);
    if (near)
        fail(p, error_usage("there is no option --%s; did you mean --%s?", name, near));
    else
        fail(p, error_usage("there is no option --%s", name));
    return near ? find_option(p->command, near) : NULL;
}

/* One option at *at; takes the next word as its value when it needs one. */
static void read_option(Parsing *p, int n, char **word, int *at)
{
    const char *text = word[*at] + 2, *equals = strchr(text, '=');
    const char *name = equals ? arena_string_n(p->arena, text, (size_t)(equals - text)) : text;
    const Field *f = find_option(p->command, name);
    if (!f && !(f = report_unknown(p, name))) {
        if (!equals && *at + 1 < n && word[*at + 1][0] != '-') ++*at; /* most likely its value */
    } else if (equals) {
        add_value(p, f, equals + 1);
    } else if (f->type == FIELD_BOOL) {
        bool says =
            *at + 1 < n && (!strcmp(word[*at + 1], "true") || !strcmp(word[*at + 1], "false"));
        add_value(p, f, says ? word[++*at] : "true");
    } else if (*at + 1 < n) {
        add_value(p, f, word[++*at]);
    } else {
        fail(p, error_usage("option --%s needs a value", name));
    }
}

static void read_argument(Parsing *p, const char *word)
{
    for (const Field *f = p->command->options; f && f->type != FIELD_END; f++) {
        if (is_option(f) || (f->type != FIELD_LIST && yaml_get(p->given, f->name))) continue;
        add_value(p, f, word);
        return;
    }
    p->too_many = p->n_too_many++ ? NULL : word;
    fail(p, error_usage("\"%s\" is one argument too many", word));
}

/* `modalities run train.yaml`: a file without the one option that needs a file. */
static void report_missing_name(Parsing *p)
{
    const Field *missing = NULL;
    for (const Field *f = p->command->options; f && f->type != FIELD_END; f++) {
        if (!is_option(f) || f->fallback || yaml_get(p->given, f->name)) continue;
        if (missing || f->type != FIELD_PATH) return;
        missing = f;
    }
    if (missing && p->too_many)
        fail(p, error_usage("did you mean --%s %s?", missing->name, p->too_many));
}

static void remove_key(Yaml *map, int64_t at)
{
    for (int64_t i = at; i + 1 < map->n; i++) {
        map->item[i] = map->item[i + 1];
        map->key[i] = map->key[i + 1];
        map->item[i]->index = i;
    }
    map->n--;
}

/* With SRC... TARGET the list took every word; the last ones belong to the arguments after it. */
static void give_back_to_later_arguments(Parsing *p)
{
    const Field *list = NULL, *later[8];
    int n_later = 0;
    for (const Field *f = p->command->options; f && f->type != FIELD_END; f++) {
        if (is_option(f)) continue;
        if (f->type == FIELD_LIST)
            list = f;
        else if (list)
            later[n_later++] = f;
    }
    Yaml *all = list ? yaml_get(p->given, list->name) : NULL;
    for (; all && all->n && n_later; n_later--)
        yaml_set(p->arena, p->given, later[n_later - 1]->name, all->item[--all->n]);
    if (all && !all->n) remove_key(p->given, yaml_get(p->given, list->name)->index);
}

/* A problem's path starts with the name of the option that has it. */
static void report_problems(Parsing *p, const Problems *problems)
{
    for (int64_t i = 0; i < problems->n; i++) {
        const Problem *q = &problems->item[i];
        const char *name = arena_string_n(p->arena, q->path, strcspn(q->path, ".["));
        const Field *f = field_find(p->command->options, name);
        const char *kind = f && !is_option(f) ? "argument " : "option --";
        bool is_missing = !strcmp(q->code, "missing");
        fail(p, error_usage("%s%s%s", kind, name,
                            is_missing ? " is required" : arena_printf(p->arena, ": %s", q->text)));
    }
}

Error *command_parse(Arena *a, const Command *c, int n, char **word, void *options,
                     PathRoles *paths, bool *wants_help)
{
    Parsing p = { .arena = a, .command = c, .given = NEW(a, Yaml) };
    p.given->type = YAML_MAP;
    bool has_ended = false;
    for (int i = 0; i < n; i++) {
        if (!has_ended && command_asks_for_help(word[i])) {
            *wants_help = true;
            error_free(p.error);
            return NULL;
        }
        if (!has_ended && !strcmp(word[i], "--"))
            has_ended = true;
        else if (!has_ended && !strncmp(word[i], "--", 2))
            read_option(&p, n, word, &i);
        else if (!has_ended && word[i][0] == '-' && word[i][1])
            fail(&p, error_usage("there is no option %s; options begin with --", word[i]));
        else
            read_argument(&p, word[i]);
    }
    give_back_to_later_arguments(&p);
    Problems problems = { .arena = a };
    FieldReader r = { .arena = a, .problems = &problems };
    fields_fill(&r, c->options, p.given, false, options);
    report_problems(&p, &problems);
    report_missing_name(&p);
    field_paths_add(paths, a, c->options, p.given, NAMED_AS_OPTIONS);
    return p.error;
}

Error *command_check_paths(Arena *a, const Command *c, const void *options, PathRoles *paths)
{
    if (c->paths) TRY(c->paths(a, options, paths));
    return path_roles_check(paths);
}
