/* test_verdicts.c - every configuration of the original gets its verdict: the same mistakes at the
 * same places, the same order of building, the same numbers. */
#include "components.h"
#include "config/config.h"
#include "data/instruction.h"
#include "data/pack_settings.h"
#include "golden.h"
#include "golden/mistakes.h"
#include "train/settings.h"
#include <string.h>

/* Tests and tutorials of the original register components of their own: those it refuses here, too.
 */
static bool is_of_original(const GoldenConfigs *g, const char *name)
{
    for (int64_t i = 0; i < g->n; i++) {
        const json_t *error;
        size_t k;
        json_array_foreach(json_object_get(g->item[i].verdict, "errors"), k, error)
        {
            if (!strcmp(verdict_text(error, "component"), name) &&
                strstr(verdict_text(error, "message"), "are not valid keys in registry"))
                return false;
        }
    }
    return true;
}

static void compare_order(Arena *a, const GoldenConfig *c, const Builder *b)
{
    const json_t *built = json_object_get(c->verdict, "built");
    size_t n = 0;
    for (int64_t i = 0; i < builder_count(b); i++) {
        const Component *x = builder_at(b, i);
        if (mistakes_end_at(a, c, verdict_path(a, x->path))) continue;
        const char *theirs = json_string_value(json_array_get(built, n++));
        const char *ours =
            arena_printf(a, "%s.%s @ %s", x->kind, x->variant, verdict_path(a, x->path));
        if (!theirs || strcmp(ours, theirs))
            fail_msg("%s: component %d: \"%s\" here, \"%s\" there", c->file, (int)i, ours,
                     theirs ? theirs : "none");
    }
    if (n != json_array_size(built))
        fail_msg("%s: %d components, expected %d", c->file, (int)n, (int)json_array_size(built));
}

static const int64_t *number_at(Arena *a, const Builder *b, const char *path)
{
    for (int64_t i = 0; i < builder_count(b); i++) {
        const Component *x = builder_at(b, i);
        if (x->object && !strcmp(x->gives, GIVES_INT) && !strcmp(verdict_path(a, x->path), path))
            return x->object;
    }
    return NULL;
}

static int64_t compare_values(Arena *a, const GoldenConfig *c, Builder *b, const Registry *r)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(c->verdict, "values"), key, value)
    {
        int64_t expected = json_integer_value(value);
        const char *call = strstr(key, ".len()");
        if (call) {
            Dataset *d;
            Builder *own = builder_new(a, r, builder_root(b), NULL);
            assert_no_error(builder_get(own, arena_string_n(a, key, (size_t)(call - key)),
                                        "dataset", (void **)&d));
            if (d->count(d) != expected)
                fail_msg("%s: %s is %lld, expected %lld", c->file, key, (long long)d->count(d),
                         (long long)expected);
        } else {
            const int64_t *ours = number_at(a, b, key);
            if (!ours) fail_msg("%s: no number at %s", c->file, key);
            if (*ours != expected)
                fail_msg("%s: %s is %lld, expected %lld", c->file, key, (long long)*ours,
                         (long long)expected);
        }
    }
    return (int64_t)json_object_size(json_object_get(c->verdict, "values"));
}

/* Validates as the command that takes this file would. */
static void validate(Arena *a, const GoldenConfig *c, Yaml *root, Builder *b, Mistakes *f)
{
    const char *model = verdict_text(c->verdict, "instantiation_model");
    if (!model) {
        error_free(builder_validate_all(b));
    } else if (!strcmp(model, "TrainingComponentsInstantiationModel")) {
        TrainingConfig t;
        assert_no_error(
            training_config_complete(a, root, c->context.rank, c->context.experiments_root_path));
        error_free(training_config_validate(b, &t));
        bool is_whole = builder_problems(b)->n == 0 || t.settings.step_profile.dp_degree;
        Error *rules = is_whole && t.settings.training_target.num_target_steps
                           ? training_settings_check(&t.settings)
                           : NULL;
        if (rules) mistakes_add(a, f, "settings", "value_error");
        error_free(rules);
    } else if (!strcmp(model, "PackedDatasetComponentsInstantiationModel")) {
        PackConfig p;
        error_free(builder_validate(b, pack_config_fields, &p));
    } else if (!strcmp(model, "InstructionTuningDataInstantiationModel")) {
        InstructionConfig i;
        error_free(builder_validate(b, instruction_config_fields, &i));
    } else {
        fail_msg("%s: no instantiation model %s", c->file, model);
    }
    const Problems *p = builder_problems(b);
    for (int64_t i = 0; i < p->n; i++) mistakes_add(a, f, p->item[i].path, p->item[i].code);
}

GOLDEN_CASES(verdict_cases)
{
    GoldenConfigs *g = golden_configs_open(to->arena);
    for (int64_t i = 0; i < g->n; i++) golden_add(to, "configs/verdicts/%s", g->item[i].name);
    StringList names = golden_configs_components(to->arena, g);
    for (int64_t i = 0; i < names.n; i++)
        if (is_of_original(g, names.item[i]))
            golden_add(to, "configs/components/%s", names.item[i]);
    golden_configs_close(g);
}

TEST(configurations_get_the_verdicts_of_the_original)
{
    Arena *a = arena_new();
    GoldenConfigs *g = golden_configs_open(a);
    Registry *r;
    assert_no_error(components_registry(a, &r));
    int64_t n_run = 0, n_values = 0;
    for (int64_t i = 0; i < g->n; i++) {
        const GoldenConfig *c = &g->item[i];
        if (golden_later(a, arena_printf(a, "configs/verdicts/%s", c->name))) continue;
        Yaml *root;
        Mistakes f = { 0 };
        golden_config_enter(g, c);
        assert_no_error(config_load(a, c->path, (StringList){ 0 }, &c->context, &root));
        Builder *b = builder_new(a, r, root, NULL);
        validate(a, c, root, b, &f);
        golden_config_leave(g);
        mistakes_compare(a, c, root, builder_problems(b), &f);
        compare_order(a, c, b);
        golden_config_enter(g, c);
        n_values += compare_values(a, c, b, r);
        golden_config_leave(g);
        n_run++;
    }
    printf("%lld files, %lld numbers\n", (long long)n_run, (long long)n_values);
    golden_configs_close(g);
    arena_free(a);
}

TEST(what_is_accepted_beyond_the_original_is_refused_there)
{
    Arena *a = arena_new();
    GoldenConfigs *g = golden_configs_open(a);
    mistakes_check_accepted(a, g);
    golden_configs_close(g);
    arena_free(a);
}

TEST(a_component_held_back_is_not_in_the_program)
{
    Arena *a = arena_new();
    GoldenConfigs *g = golden_configs_open(a);
    Registry *r;
    assert_no_error(components_registry(a, &r));
    StringList names = golden_configs_components(a, g);
    for (int64_t i = 0; i < names.n; i++) {
        const char *name = names.item[i], *dot = strchr(name, '.');
        const ComponentDef *def;
        Error *e = registry_find(r, arena_string_n(a, name, (size_t)(dot - name)), dot + 1, &def);
        if (!e && golden_component_is_later(a, name))
            fail_msg("%s is built now: take it from tests/golden_later.txt", name);
        error_free(e);
    }
    golden_configs_close(g);
    arena_free(a);
}
