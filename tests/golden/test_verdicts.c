/* test_verdicts.c - every configuration of the original gets its verdict: the same mistakes at the
 * same places, the same order of building, the same numbers.
 *
 * A mistake is (path, type). Types are pydantic's; what the original raises as plain exceptions is
 * mapped in expected_code. Mistakes that only follow from others (a component that could not be
 * built is no integer) are not repeated here. */
#include "components.h"
#include "config/config.h"
#include "data/instruction.h"
#include "data/pack_settings.h"
#include "golden.h"
#include "golden/golden_configs.h"
#include "train/settings.h"
#include <string.h>

typedef struct Finding {
    const char *path, *code;
    bool is_matched;
} Finding;

typedef struct Findings {
    Finding *item;
    int64_t n, cap;
} Findings;

/* Accepted here, refused there: see docs/differences.md. Each entry must occur. */
typedef struct Accepted {
    const char *file, *path, *type;
} Accepted;

#define TRAINING "config_files/training/"
#define NO_ROOT_PATH "settings.paths.experiments_root_path", "missing"
static const Accepted accepted[] = {
    { TRAINING "config_example_coca.yaml", NO_ROOT_PATH },
    { TRAINING "config_lorem_ipsum_long_fsdp1.yaml", NO_ROOT_PATH },
    { TRAINING "config_lorem_ipsum_long_fsdp1_warmstart.yaml", NO_ROOT_PATH },
    { TRAINING "config_lorem_ipsum_long_fsdp2.yaml", NO_ROOT_PATH },
    { TRAINING "config_lorem_ipsum_long_fsdp2_pp.yaml", NO_ROOT_PATH },
    { TRAINING "config_lorem_ipsum_long_fsdp2_pp_tp.yaml", NO_ROOT_PATH },
    { TRAINING "config_lorem_ipsum_long_fsdp2_warmstart.yaml", NO_ROOT_PATH },
    { "tests/test_yaml_configs/config_lorem_ipsum_fsdp2_pp_tp.yaml", NO_ROOT_PATH },
    { TRAINING "config_example_coca.yaml",
      "settings.training_target.num_target_tokens.config.num_steps", "ValueError" },
    { TRAINING "config_example_coca.yaml", "settings.training_target.num_target_steps",
      "ValueError" },
    { TRAINING "config_example_coca.yaml", "lr_scheduler.config.total_steps", "ValueError" },
    { TRAINING "config_example_coca.yaml", "progress_subscriber.config.num_target_steps",
      "ValueError" },
    { 0 },
};

/* Refused here by name until it is built. Each entry must occur. */
static const Accepted not_yet[] = {
    { TRAINING "config_example_coca.yaml", "model.config.model_initializer",
      "value_error" }, /* CoCa */
    { 0 },
};

static const char *text_of(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

static bool is_in(const Accepted *list, const char *file, const char *path, const char *type)
{
    for (const Accepted *x = list; x->file; x++)
        if (!strcmp(x->file, file) && !strcmp(x->path, path) && !strcmp(x->type, type)) return true;
    return false;
}

/* "a[0].b" to "a.0.b", as the goldens spell it. */
static const char *dotted(Arena *a, const char *path)
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

static void find(Arena *a, Findings *f, const char *path, const char *code)
{
    f->item = arena_grow(a, f->item, f->n, &f->cap, sizeof *f->item);
    f->item[f->n++] = (Finding){ dotted(a, path), code, false };
}

/* Where the golden's mistake lies in the file. */
static const char *place_of(Arena *a, const json_t *error)
{
    const char *path = text_of(error, "path"), *loc = text_of(error, "loc");
    if (!*path || !*loc) return *path ? path : loc;
    return arena_printf(a, "%s.config.%s", path, loc);
}

static bool has_text(const json_t *error, const char *part)
{
    return strstr(text_of(error, "message"), part) != NULL;
}

static const char *expected_code(const json_t *error)
{
    const char *type = text_of(error, "type");
    if (!strcmp(type, "KeyError")) return "missing_reference";
    if (has_text(error, "are not valid keys in registry")) return "unknown_component";
    if (has_text(error, "Invalid keys")) return "unknown_key";
    return type;
}

/* Marks our mistakes that are this one; false when there is none. Unknown keys and references are
 * reported at the key itself, there at the component. */
static bool match(Findings *f, const char *place, const char *code)
{
    bool is_inside = !strcmp(code, "unknown_key") || !strcmp(code, "missing_reference"),
         found = false;
    size_t n = strlen(place);
    for (int64_t i = 0; i < f->n; i++) {
        Finding *x = &f->item[i];
        bool same_place =
            is_inside ? !strncmp(x->path, place, n) && x->path[n] == '.' : !strcmp(x->path, place);
        if (!same_place || strcmp(x->code, code)) continue;
        x->is_matched = found = true;
    }
    return found;
}

/* The component that gives the value at this place: itself, or what it refers to. */
static const char *source_of(const Yaml *root, const char *place)
{
    const Yaml *y = yaml_find(root, place), *key = y ? yaml_get(y, "instance_key") : NULL;
    return key ? key->text : place;
}

static bool follows_from_another(const json_t *errors, const Yaml *root, const json_t *error,
                                 const char *place)
{
    const char *source = source_of(root, place);
    size_t i;
    const json_t *other;
    json_array_foreach(errors, i, other)
    {
        if (other != error && !strcmp(text_of(other, "path"), source)) return true;
    }
    return false;
}

/* A component of the original that is not built here: tests/golden_later.txt says so. */
static bool is_later(Arena *a, const char *name)
{
    return golden_later(a, arena_printf(a, "configs/components/%s", name)) != NULL;
}

static void compare_errors(Arena *a, const GoldenConfig *c, const Yaml *root, Findings *f,
                           const char *later)
{
    const json_t *errors = json_object_get(c->verdict, "errors"), *error;
    size_t i;
    json_array_foreach(errors, i, error)
    {
        const char *place = place_of(a, error), *code = expected_code(error);
        bool is_listed = is_in(accepted, c->file, place, text_of(error, "type"));
        bool is_ours = match(f, place, code);
        if (is_listed && is_ours)
            fail_msg("%s: %s: accepted by the list, but refused as %s", c->file, place, code);
        if (is_listed || is_ours || follows_from_another(errors, root, error, place)) continue;
        if (strstr(later, arena_printf(a, " %s ", text_of(error, "component")))) continue;
        fail_msg("%s: %s: no mistake found; the original: %s, %s", c->file, place,
                 text_of(error, "type"), text_of(error, "message"));
    }
}

/* Tests and tutorials of the original register components of their own: those it refuses here, too.
 */
static bool is_of_original(const GoldenConfigs *g, const char *name)
{
    for (int64_t i = 0; i < g->n; i++) {
        const json_t *error;
        size_t k;
        json_array_foreach(json_object_get(g->item[i].verdict, "errors"), k, error)
        {
            if (!strcmp(text_of(error, "component"), name) &&
                has_text(error, "are not valid keys in registry"))
                return false;
        }
    }
    return true;
}

/* Components that the original knows and this program does not: " pipeline.staged pipeline.builder
 * ". */
static const char *later_components(Arena *a, const GoldenConfigs *g)
{
    Text t = { 0 };
    text_putc(&t, ' ');
    for (int64_t k = 0; k < g->n; k++) {
        const json_t *built = json_object_get(g->item[k].verdict, "built"), *entry;
        size_t i;
        json_array_foreach(built, i, entry)
        {
            const char *s = json_string_value(entry);
            const char *name = arena_string_n(a, s, strcspn(s, " "));
            if (!strstr(t.ptr, arena_printf(a, " %s ", name)) && is_later(a, name))
                text_printf(&t, "%s ", name);
        }
    }
    const char *all = arena_string(a, t.ptr);
    text_free(&t);
    return all;
}

/* A wrong reference ends the original's look at the component that holds it. */
static bool ends_at(Arena *a, const GoldenConfig *c, const char *path)
{
    const json_t *error;
    size_t i;
    json_array_foreach(json_object_get(c->verdict, "errors"), i, error)
    {
        if (!strcmp(text_of(error, "component"), "<graph>") && !strcmp(place_of(a, error), path))
            return true;
    }
    return false;
}

static void compare_order(Arena *a, const GoldenConfig *c, const Builder *b)
{
    const json_t *built = json_object_get(c->verdict, "built");
    size_t n = 0;
    for (int64_t i = 0; i < builder_count(b); i++) {
        const Component *x = builder_at(b, i);
        if (ends_at(a, c, dotted(a, x->path))) continue;
        const char *theirs = json_string_value(json_array_get(built, n++));
        const char *ours = arena_printf(a, "%s.%s @ %s", x->kind, x->variant, dotted(a, x->path));
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
        if (x->object && !strcmp(x->gives, GIVES_INT) && !strcmp(dotted(a, x->path), path))
            return x->object;
    }
    return NULL;
}

static void compare_not_yet(const GoldenConfig *c, const Findings *f)
{
    for (const Accepted *x = not_yet; x->file; x++) {
        bool occurs = strcmp(x->file, c->file) != 0;
        for (int64_t i = 0; i < f->n; i++)
            occurs |= !strcmp(f->item[i].path, x->path) && !strcmp(f->item[i].code, x->type);
        if (!occurs)
            fail_msg("%s: %s is not refused any more: take it from the list", c->file, x->path);
    }
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
static void validate(Arena *a, const GoldenConfig *c, Yaml *root, Builder *b, Findings *f)
{
    const char *model = text_of(c->verdict, "instantiation_model");
    if (!model) {
        error_free(builder_validate_all(b));
    } else if (!strcmp(model, "TrainingComponentsInstantiationModel")) {
        TrainingConfig t;
        assert_no_error(training_config_complete(a, root, c->context.experiments_root_path));
        error_free(training_config_validate(b, &t));
        bool is_whole = builder_problems(b)->n == 0 || t.settings.step_profile.dp_degree;
        Error *rules = is_whole && t.settings.training_target.num_target_steps
                           ? training_settings_check(&t.settings)
                           : NULL;
        if (rules) find(a, f, "settings", "value_error");
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
    for (int64_t i = 0; i < p->n; i++) find(a, f, p->item[i].path, p->item[i].code);
}

/* pydantic checks the rules over several settings only when each of them is right. */
static bool hides_rules(Arena *a, const GoldenConfig *c)
{
    const json_t *error;
    size_t i;
    json_array_foreach(json_object_get(c->verdict, "errors"), i, error)
    {
        if (!strncmp(place_of(a, error), "settings.", 9)) return true;
    }
    return false;
}

/* What is only ours must come from a component that is not built here. */
static void compare_rest(Arena *a, const GoldenConfig *c, const Yaml *root, const Findings *f,
                         const Builder *b)
{
    const Problems *p = builder_problems(b);
    for (int64_t i = 0; i < f->n; i++) {
        const Finding *x = &f->item[i];
        if (x->is_matched || is_in(not_yet, c->file, x->path, x->code)) continue;
        if (!strcmp(x->code, "unknown_component") && ends_at(a, c, x->path)) continue;
        if (!strcmp(x->path, "settings") && !strcmp(x->code, "value_error") && hides_rules(a, c))
            continue;
        const Yaml *y = yaml_find(root, x->path);
        const Yaml *kind = yaml_get(y, "component_key"), *variant = yaml_get(y, "variant_key");
        if (!strcmp(x->code, "unknown_component") &&
            is_later(a, arena_printf(a, "%s.%s", kind->text, variant->text)))
            continue;
        const char *text = "";
        for (int64_t k = 0; k < p->n; k++)
            if (!strcmp(dotted(a, p->item[k].path), x->path)) text = p->item[k].text;
        fail_msg("%s: %s: %s, which the original accepts: %s", c->file, x->path, x->code, text);
    }
}

GOLDEN_CASES(verdict_cases)
{
    GoldenConfigs *g = golden_configs_open(to->arena);
    for (int64_t i = 0; i < g->n; i++) {
        golden_add(to, "configs/verdicts/%s", g->item[i].name);
        const json_t *built = json_object_get(g->item[i].verdict, "built"), *entry;
        size_t k;
        json_array_foreach(built, k, entry)
        {
            const char *s = json_string_value(entry);
            const char *name = arena_string_n(to->arena, s, strcspn(s, " "));
            if (is_of_original(g, name)) golden_add(to, "configs/components/%s", name);
        }
    }
    golden_configs_close(g);
}

TEST(configurations_get_the_verdicts_of_the_original)
{
    Arena *a = arena_new();
    GoldenConfigs *g = golden_configs_open(a);
    Registry *r;
    assert_no_error(components_registry(a, &r));
    const char *later = later_components(a, g);
    int64_t n_run = 0, n_values = 0;
    for (int64_t i = 0; i < g->n; i++) {
        const GoldenConfig *c = &g->item[i];
        if (golden_later(a, arena_printf(a, "configs/verdicts/%s", c->name))) continue;
        Yaml *root;
        Findings f = { 0 };
        golden_config_enter(g, c);
        assert_no_error(config_load(a, c->path, (StringList){ 0 }, &c->context, &root));
        Builder *b = builder_new(a, r, root, NULL);
        validate(a, c, root, b, &f);
        golden_config_leave(g);
        compare_errors(a, c, root, &f, later);
        compare_rest(a, c, root, &f, b);
        compare_not_yet(c, &f);
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
    for (const Accepted *x = accepted; x->file; x++) {
        const json_t *errors = json_object_get(json_object_get(g->validation, x->file), "errors"),
                     *error;
        bool occurs = false;
        size_t i;
        json_array_foreach(errors, i, error)
        {
            occurs |=
                !strcmp(place_of(a, error), x->path) && !strcmp(text_of(error, "type"), x->type);
        }
        if (!occurs) fail_msg("%s: %s: %s is not among the goldens", x->file, x->path, x->type);
    }
    golden_configs_close(g);
    arena_free(a);
}

TEST(a_component_held_back_is_not_in_the_program)
{
    Arena *a = arena_new();
    GoldenConfigs *g = golden_configs_open(a);
    Registry *r;
    assert_no_error(components_registry(a, &r));
    for (int64_t i = 0; i < g->n; i++) {
        const json_t *built = json_object_get(g->item[i].verdict, "built"), *entry;
        size_t k;
        json_array_foreach(built, k, entry)
        {
            const char *s = json_string_value(entry);
            const char *name = arena_string_n(a, s, strcspn(s, " ")), *dot = strchr(name, '.');
            const ComponentDef *def;
            Error *e =
                registry_find(r, arena_string_n(a, name, (size_t)(dot - name)), dot + 1, &def);
            if (!e && is_later(a, name))
                fail_msg("%s is built now: take it from tests/golden_later.txt", name);
            error_free(e);
        }
    }
    golden_configs_close(g);
    arena_free(a);
}
