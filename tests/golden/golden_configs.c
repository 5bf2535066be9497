/* golden_configs.c - reads validation.json and env.json of the goldens. */
#include "golden/golden_configs.h"
#include "base/map.h"
#include "config/config.h"
#include "golden.h"
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *verdict_text(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

const char *verdict_path(Arena *a, const char *path)
{
    char *out = arena_string(a, path), *to = out;
    for (const char *s = path; *s; s++)
        if (*s == '[')
            *to++ = '.';
        else if (*s != ']')
            *to++ = *s;
    *to = 0;
    return out;
}

bool golden_component_is_later(Arena *a, const char *name)
{
    return golden_later(a, arena_printf(a, "configs/components/%s", name)) != NULL;
}

/* "tests/x/y.yaml" to "tests__x__y". */
static const char *flat_name(Arena *a, const char *file)
{
    Text t = { 0 };
    for (const char *s = file; *s && strcmp(s, ".yaml"); s++) {
        if (*s == '/')
            text_puts(&t, "__");
        else
            text_putc(&t, *s);
    }
    const char *name = arena_string_n(a, t.ptr, t.len);
    text_free(&t);
    return name;
}

static json_t *load(const char *path)
{
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e);
    if (!j) fail_msg("%s: %s", path, e.text);
    return j;
}

static Yaml *checkpoint_paths(Arena *a, const json_t *env)
{
    Yaml *map = NEW(a, Yaml);
    map->type = YAML_MAP;
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(env, "warmstart_env_checkpoint_paths"), key, value)
        yaml_set(a, map, key, yaml_string(a, json_string_value(value)));
    return map;
}

static const char *mirror_from, *mirror_to; /* for nftw, which passes nothing on */

static int mirror_entry(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st, (void)place;
    char to[4096];
    snprintf(to, sizeof to, "%s%s", mirror_to, path + strlen(mirror_from));
    if (type == FTW_D) return mkdir(to, 0777) && errno != EEXIST;
    return symlink(path, to);
}

/* The original's root with links to the copies of its files. One file that ten configurations name
 * lies under another name there. */
static const char *make_root(Arena *a)
{
    const char *from = shared_path(a, "data/modalities"),
               *to = path_join(a, path_absolute(a, test_folder()), "root");
    mirror_from = from;
    mirror_to = to;
    assert_int_equal(nftw(from, mirror_entry, 16, FTW_PHYS), 0);
    const char *link = path_join(a, to, "tests/end2end_tests/lorem_ipsum.pbin");
    assert_int_equal(symlink(path_join(a, from, "data/lorem_ipsum.pbin"), link), 0);
    return to;
}

GoldenConfigs *golden_configs_open(Arena *a)
{
    GoldenConfigs *g = NEW(a, GoldenConfigs);
    g->arena = a;
    const char *folder = shared_path(a, "data/goldens/configs");
    g->home = path_absolute(a, ".");
    g->validation = load(path_join(a, folder, "validation.json"));
    json_t *env = load(path_join(a, folder, "env.json"));
    ResolverContext context = {
        .experiments_root_path = arena_string(a, verdict_text(env, "experiments_root_path")),
        .experiment_id = arena_string(a, verdict_text(env, "experiment_id")),
        .num_cpus = json_integer_value(json_object_get(env, "num_cpus")),
        .checkpoint_paths = checkpoint_paths(a, env),
    };
    json_decref(env);
    g->item = NEW_N(a, GoldenConfig, json_object_size(g->validation));
    const char *file;
    json_t *record;
    json_object_foreach(g->validation, file, record)
    {
        GoldenConfig *c = &g->item[g->n++];
        *c = (GoldenConfig){ .file = file,
                             .name = flat_name(a, file),
                             .path = file,
                             .resolved = path_join(a, folder, verdict_text(record, "resolved")),
                             .rank = { .world_size = json_integer_value(
                                           json_object_get(record, "world_size")),
                                       .launcher = LAUNCHER_VARIABLES },
                             .context = context,
                             .verdict = record };
        c->context.config_file_path = file;
        c->context.rank = &c->rank;
    }
    return g;
}

void golden_configs_close(GoldenConfigs *g)
{
    json_decref(g->validation);
}

StringList golden_configs_components(Arena *a, const GoldenConfigs *g)
{
    StringList list = { 0 };
    Map *seen = map_new(a);
    int64_t cap = 0;
    for (int64_t i = 0; i < g->n; i++) {
        const json_t *entry;
        size_t k;
        json_array_foreach(json_object_get(g->item[i].verdict, "built"), k, entry)
        {
            const char *s = json_string_value(entry);
            const char *name = arena_string_n(a, s, strcspn(s, " "));
            if (map_has(seen, str_of(name))) continue;
            map_set(seen, str_of(name), (void *)name);
            list.item = arena_grow(a, list.item, list.n, &cap, sizeof *list.item);
            list.item[list.n++] = name;
        }
    }
    return list;
}

void golden_config_enter(GoldenConfigs *g, const GoldenConfig *c)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)c->rank.world_size);
    setenv("WORLD_SIZE", text, 1);
    setenv("RANK", "0", 1);
    setenv("LOCAL_RANK", "0", 1);
    setenv("MASTER_ADDR", "localhost", 1);
    setenv("MASTER_PORT", "29500", 1);
    if (!g->root) g->root = make_root(g->arena);
    assert_int_equal(chdir(g->root), 0);
}

void golden_config_leave(const GoldenConfigs *g)
{
    assert_int_equal(chdir(g->home), 0);
}
