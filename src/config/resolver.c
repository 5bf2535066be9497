/* resolver.c - OmegaConf's own resolvers and those of the program. */
#include "config/resolver.h"
#include "base/file.h"
#include "base/log.h"
#include "config/python_str.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef Error *Run(const ResolverCall *c, Yaml **out);

typedef struct BuiltIn {
    const char *name;
    int min_args, max_args;
    Run *run;
} BuiltIn;

static Error *need_text(const ResolverCall *c, int64_t i)
{
    if (c->arg[i]->type == YAML_STRING) return NULL;
    return error_new("%s takes a text, not %s", c->name, yaml_show(c->host->arena, c->arg[i]));
}

static Yaml *text_or_null(Arena *a, const Yaml *value)
{
    return value->type == YAML_NULL ? yaml_scalar(a, "null")
                                    : yaml_literal(a, python_str(a, value));
}

static Error *oc_env(const ResolverCall *c, Yaml **out)
{
    TRY(need_text(c, 0));
    const char *value = getenv(c->arg[0]->text);
    if (!value && c->n < 2)
        return error_new("the environment variable %s is not set, and there is no default",
                         c->arg[0]->text);
    *out = value ? yaml_literal(c->host->arena, value) : text_or_null(c->host->arena, c->arg[1]);
    return NULL;
}

static Error *oc_select(const ResolverCall *c, Yaml **out)
{
    TRY(need_text(c, 0));
    TRY(c->find(c->host->self, c->arg[0]->text, out));
    if (!*out) *out = c->n > 1 ? c->arg[1] : yaml_scalar(c->host->arena, "null");
    return NULL;
}

static Error *oc_decode(const ResolverCall *c, Yaml **out)
{
    *out = c->arg[0];
    if (c->arg[0]->type == YAML_NULL) return NULL;
    TRY(need_text(c, 0));
    return expression_value(c->host, c->arg[0]->text, out);
}

/* As OmegaConf.create: a text is YAML, and a bare word becomes a mapping with that key. */
static Error *oc_create(const ResolverCall *c, Yaml **out)
{
    Arena *a = c->host->arena;
    *out = c->arg[0];
    if ((*out)->type == YAML_STRING) TRY(yaml_parse(a, str_of((*out)->text), "oc.create", out));
    if ((*out)->type == YAML_LIST || (*out)->type == YAML_MAP) return NULL;
    if ((*out)->type != YAML_STRING)
        return error_new("oc.create makes a list or a mapping, not %s", yaml_show(a, *out));
    const char *key = (*out)->text;
    *out = NEW(a, Yaml);
    (*out)->type = YAML_MAP;
    yaml_set(a, *out, key, yaml_scalar(a, "null"));
    return NULL;
}

static Error *find_map(const ResolverCall *c, Yaml **out)
{
    TRY(need_text(c, 0));
    TRY(c->find(c->host->self, c->arg[0]->text, out));
    if (!*out) return error_new("%s: there is no key \"%s\"", c->name, c->arg[0]->text);
    if ((*out)->type == YAML_MAP) return NULL;
    return error_new("%s: \"%s\" is %s, not a mapping", c->name, c->arg[0]->text,
                     yaml_type_name(*out));
}

static Error *oc_dict_keys(const ResolverCall *c, Yaml **out)
{
    Yaml *map;
    TRY(find_map(c, &map));
    *out = NEW(c->host->arena, Yaml);
    (*out)->type = YAML_LIST;
    for (int64_t i = 0; i < map->n; i++)
        yaml_append(c->host->arena, *out, yaml_copy(c->host->arena, map->key[i], NULL));
    return NULL;
}

static Error *oc_dict_values(const ResolverCall *c, Yaml **out)
{
    Yaml *map;
    TRY(find_map(c, &map));
    *out = NEW(c->host->arena, Yaml);
    (*out)->type = YAML_LIST;
    for (int64_t i = 0; i < map->n; i++) {
        Yaml *value;
        TRY(c->host->complete(c->host->self, map->item[i], &value));
        yaml_append(c->host->arena, *out, value);
    }
    return NULL;
}

/* $OLD_KEY and $NEW_KEY (or ${OLD_KEY}) in the message become key paths. */
static void expand_message(const char *message, const char *old_key, const char *new_key, Text *to)
{
    const struct {
        const char *name, *value;
    } known[] = { { "$OLD_KEY", old_key },
                  { "$NEW_KEY", new_key },
                  { "${OLD_KEY}", old_key },
                  { "${NEW_KEY}", new_key } };
    while (*message) {
        int i = 0;
        while (i < 4 && strncmp(message, known[i].name, strlen(known[i].name))) i++;
        if (i == 4) {
            text_putc(to, *message++);
        } else {
            text_puts(to, known[i].value);
            message += strlen(known[i].name);
        }
    }
}

static Error *oc_deprecated(const ResolverCall *c, Yaml **out)
{
    for (int64_t i = 0; i < c->n; i++) TRY(need_text(c, i));
    TRY(c->host->select(c->host->self, c->arg[0]->text, out));
    const char *message =
        c->n > 1 ? c->arg[1]->text
                 : "'$OLD_KEY' is deprecated. Change your code and config to use '$NEW_KEY'";
    Text text = { 0 };
    expand_message(message, yaml_path(c->host->arena, c->node), c->arg[0]->text, &text);
    log_warning("%s: %s", yaml_place(c->host->arena, c->node), text.ptr ? text.ptr : "");
    text_free(&text);
    return NULL;
}

static Error *cuda_env(const ResolverCall *c, Yaml **out)
{
    TRY(need_text(c, 0));
    const char *name = c->arg[0]->text, *value = getenv(name);
    const Rank *rank = c->context->rank ? c->context->rank : &rank_alone;
    Arena *a = c->host->arena;
    if (!strcmp(name, "RANK"))
        *out = yaml_int(a, rank->rank);
    else if (!strcmp(name, "LOCAL_RANK"))
        *out = yaml_int(a, rank->local_rank);
    else if (!strcmp(name, "WORLD_SIZE"))
        *out = yaml_int(a, rank->world_size);
    else if (!strcmp(name, "LOCAL_WORLD_SIZE") && rank->launcher != LAUNCHER_NONE &&
             rank->local_world_size)
        *out = yaml_literal(a, arena_printf(a, "%" PRId64, rank->local_world_size));
    else
        *out = value ? yaml_literal(a, value) : yaml_scalar(a, "null");
    return NULL;
}

static Error *modalities_env(const ResolverCall *c, Yaml **out)
{
    TRY(need_text(c, 0));
    Arena *a = c->host->arena;
    const char *config = c->context->config_file_path;
    const char *const name[] = { "config_file_path", "config_folder_path", "experiments_root_path",
                                 "experiment_id", NULL };
    const char *const value[] = { config, config ? path_folder(a, config) : NULL,
                                  c->context->experiments_root_path, c->context->experiment_id };
    for (int i = 0; name[i]; i++) {
        if (strcmp(name[i], c->arg[0]->text)) continue;
        if (!value[i]) return error_new("this command gives no %s", name[i]);
        *out = yaml_literal(a, value[i]);
        return NULL;
    }
    const char *near = nearest_name(c->arg[0]->text, name);
    return error_new(
        "modalities_env has no \"%s\"%s%s%s; it has config_file_path, config_folder_path, "
        "experiments_root_path and experiment_id",
        c->arg[0]->text, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static Error *warmstart_env(const ResolverCall *c, Yaml **out)
{
    TRY(need_text(c, 0));
    if (strcmp(c->arg[0]->text, "checkpoint_paths"))
        return error_new("warmstart_env has only checkpoint_paths, not \"%s\"", c->arg[0]->text);
    if (!c->context->checkpoint_paths)
        return error_new(
            "warmstart_env is there only when the program resumes from a checkpoint (warmstart)");
    *out = yaml_copy(c->host->arena, c->context->checkpoint_paths, NULL);
    return NULL;
}

static Error *node_env(const ResolverCall *c, Yaml **out)
{
    TRY(need_text(c, 0));
    int64_t n = c->context->num_cpus ? c->context->num_cpus : sysconf(_SC_NPROCESSORS_ONLN);
    bool is_known = !strcmp(c->arg[0]->text, "num_cpus");
    *out = is_known ? yaml_int(c->host->arena, n) : yaml_scalar(c->host->arena, "null");
    return NULL;
}

static const BuiltIn built_in[] = {
    { "cuda_env", 1, 1, cuda_env },
    { "modalities_env", 1, 1, modalities_env },
    { "node_env", 1, 1, node_env },
    { "oc.create", 1, 1, oc_create },
    { "oc.decode", 1, 1, oc_decode },
    { "oc.deprecated", 1, 2, oc_deprecated },
    { "oc.dict.keys", 1, 1, oc_dict_keys },
    { "oc.dict.values", 1, 1, oc_dict_values },
    { "oc.env", 1, 2, oc_env },
    { "oc.select", 1, 2, oc_select },
    { "warmstart_env", 1, 1, warmstart_env },
    { 0 },
};

static Error *unknown_resolver(const ResolverCall *c)
{
    const char *names[sizeof built_in / sizeof *built_in];
    size_t i = 0;
    for (; built_in[i].name; i++) names[i] = built_in[i].name;
    names[i] = NULL;
    const char *near = nearest_name(c->name, names);
    if (near) return error_new("there is no resolver \"%s\"; did you mean \"%s\"?", c->name, near);
    return error_new("there is no resolver \"%s\"", c->name);
}

Error *resolver_call(const ResolverCall *c, Yaml **out)
{
    for (const Resolver *r = c->context->more; r && r->name; r++)
        if (!strcmp(r->name, c->name))
            return r->resolve(r->context, c->host->arena, c->n, c->arg, out);
    for (const BuiltIn *b = built_in; b->name; b++) {
        if (strcmp(b->name, c->name)) continue;
        if (c->n >= b->min_args && c->n <= b->max_args) return b->run(c, out);
        const char *range =
            b->min_args == b->max_args ? "" : arena_printf(c->host->arena, "%d to ", b->min_args);
        return error_new("%s takes %s%d argument%s, not %lld", c->name, range, b->max_args,
                         b->max_args == 1 ? "" : "s", (long long)c->n);
    }
    return unknown_resolver(c);
}
