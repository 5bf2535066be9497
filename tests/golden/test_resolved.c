/* test_resolved.c - every configuration of the original resolves to the tree that OmegaConf gives.
 */
#include "config/config.h"
#include "golden.h"
#include "golden/golden_configs.h"
#include <math.h>
#include <string.h>

/* Exact in type and value. */
static bool equal(const Yaml *y, const json_t *j)
{
    switch (y->type) {
    case YAML_NULL:
        return json_is_null(j);
    case YAML_BOOL:
        return json_is_boolean(j) && json_is_true(j) == y->boolean;
    case YAML_INT:
        return json_is_integer(j) && json_integer_value(j) == y->integer;
    case YAML_FLOAT:
        return json_is_real(j) && json_real_value(j) == y->number;
    case YAML_STRING:
        return json_is_string(j) && json_string_length(j) == y->text_len &&
               !memcmp(json_string_value(j), y->text, y->text_len);
    case YAML_LIST:
        if (!json_is_array(j) || (int64_t)json_array_size(j) != y->n) return false;
        for (int64_t i = 0; i < y->n; i++)
            if (!equal(y->item[i], json_array_get(j, (size_t)i))) return false;
        return true;
    case YAML_MAP:
        if (!json_is_object(j) || (int64_t)json_object_size(j) != y->n) return false;
        for (int64_t i = 0; i < y->n; i++)
            if (!equal(y->item[i], json_object_get(j, y->key[i]->text))) return false;
        return true;
    default:
        return false;
    }
}

/* The path of the first node that differs, or NULL. */
static const char *difference(Arena *a, const Yaml *y, const json_t *j)
{
    if (equal(y, j)) return NULL;
    bool is_alike =
        (y->type == YAML_MAP && json_is_object(j)) || (y->type == YAML_LIST && json_is_array(j));
    for (int64_t i = 0; i < y->n && is_alike; i++) {
        const json_t *child = y->type == YAML_MAP ? json_object_get(j, y->key[i]->text)
                                                  : json_array_get(j, (size_t)i);
        const char *below = difference(a, y->item[i], child);
        if (below) return below;
    }
    return arena_printf(a, "%s: %s", yaml_path(a, y), yaml_show(a, y));
}

GOLDEN_CASES(resolved_cases)
{
    golden_add_files(to, "configs/resolved/", "configs/resolved", "*.json", ".json");
}

TEST(configurations_resolve_as_in_the_original)
{
    Arena *a = arena_new();
    GoldenConfigs *g = golden_configs_open(a);
    int64_t n_run = 0;
    for (int64_t i = 0; i < g->n; i++) {
        const GoldenConfig *c = &g->item[i];
        if (golden_later(a, arena_printf(a, "configs/resolved/%s", c->name))) continue;
        Yaml *root;
        golden_config_enter(g, c);
        assert_no_error(config_load(a, c->path, (StringList){ 0 }, &c->context, &root));
        golden_config_leave(g);
        json_error_t e;
        json_t *expected = json_load_file(c->resolved, 0, &e);
        if (!expected) fail_msg("%s: %s", c->resolved, e.text);
        const char *where = difference(a, root, expected);
        if (where) fail_msg("%s: %s", c->name, where);
        json_decref(expected);
        n_run++;
    }
    printf("%lld configurations\n", (long long)n_run);
    assert_true(n_run > 0);
    golden_configs_close(g);
    arena_free(a);
}
