/* mistakes.c - which mistakes of configurations are the same here and there.
 *
 * A mistake is (path, type). Types are pydantic's; what the original raises as plain exceptions is
 * mapped in expected_code. Mistakes that only follow from others (a component that could not be
 * built is no integer) are not repeated here. */
#include "golden/mistakes.h"
#include <string.h>

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
    { TRAINING "config_lorem_ipsum_long_fsdp2_pp.yaml", "error_on_nan.config.model",
      "is_instance_of" }, /* a hook of a list of models */
    { TRAINING "config_lorem_ipsum_long_fsdp2_pp.yaml", "print_forward_hook.config.model",
      "is_instance_of" },
    { 0 },
};

static bool is_in(const Accepted *list, const char *file, const char *path, const char *type)
{
    for (const Accepted *x = list; x->file; x++)
        if (!strcmp(x->file, file) && !strcmp(x->path, path) && !strcmp(x->type, type)) return true;
    return false;
}

void mistakes_add(Arena *a, Mistakes *f, const char *path, const char *code)
{
    f->item = arena_grow(a, f->item, f->n, &f->cap, sizeof *f->item);
    f->item[f->n++] = (Mistake){ verdict_path(a, path), code, false };
}

/* Where the golden's mistake lies in the file. */
static const char *place_of(Arena *a, const json_t *error)
{
    const char *path = verdict_text(error, "path"), *loc = verdict_text(error, "loc");
    if (!*path || !*loc) return *path ? path : loc;
    return arena_printf(a, "%s.config.%s", path, loc);
}

static bool has_text(const json_t *error, const char *part)
{
    return strstr(verdict_text(error, "message"), part) != NULL;
}

static const char *expected_code(const json_t *error)
{
    const char *type = verdict_text(error, "type");
    if (!strcmp(type, "KeyError")) return "missing_reference";
    if (has_text(error, "are not valid keys in registry")) return "unknown_component";
    if (has_text(error, "Invalid keys")) return "unknown_key";
    return type;
}

/* Marks our mistakes that are this one; false when there is none. Unknown keys and references are
 * reported at the key itself, there at the component. */
static bool match(Mistakes *f, const char *place, const char *code)
{
    bool is_inside = !strcmp(code, "unknown_key") || !strcmp(code, "missing_reference"),
         found = false;
    size_t n = strlen(place);
    for (int64_t i = 0; i < f->n; i++) {
        Mistake *x = &f->item[i];
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
        if (other != error && !strcmp(verdict_text(other, "path"), source)) return true;
    }
    return false;
}

static void compare_errors(Arena *a, const GoldenConfig *c, const Yaml *root, Mistakes *f)
{
    const json_t *errors = json_object_get(c->verdict, "errors"), *error;
    size_t i;
    json_array_foreach(errors, i, error)
    {
        const char *place = place_of(a, error), *code = expected_code(error);
        bool is_listed = is_in(accepted, c->file, place, verdict_text(error, "type"));
        bool is_ours = match(f, place, code);
        if (is_listed && is_ours)
            fail_msg("%s: %s: accepted by the list, but refused as %s", c->file, place, code);
        if (is_listed || is_ours || follows_from_another(errors, root, error, place)) continue;
        if (golden_component_is_later(a, verdict_text(error, "component"))) continue;
        fail_msg("%s: %s: no mistake found; the original: %s, %s", c->file, place,
                 verdict_text(error, "type"), verdict_text(error, "message"));
    }
}

bool mistakes_end_at(Arena *a, const GoldenConfig *c, const char *path)
{
    const json_t *error;
    size_t i;
    json_array_foreach(json_object_get(c->verdict, "errors"), i, error)
    {
        if (!strcmp(verdict_text(error, "component"), "<graph>") &&
            !strcmp(place_of(a, error), path))
            return true;
    }
    return false;
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
static void compare_rest(Arena *a, const GoldenConfig *c, const Yaml *root, const Mistakes *f,
                         const Problems *p)
{
    for (int64_t i = 0; i < f->n; i++) {
        const Mistake *x = &f->item[i];
        if (x->is_matched) continue;
        if (!strcmp(x->code, "unknown_component") && mistakes_end_at(a, c, x->path)) continue;
        if (!strcmp(x->path, "settings") && !strcmp(x->code, "value_error") && hides_rules(a, c))
            continue;
        const Yaml *y = yaml_find(root, x->path);
        const Yaml *kind = yaml_get(y, "component_key"), *variant = yaml_get(y, "variant_key");
        if (!strcmp(x->code, "unknown_component") &&
            golden_component_is_later(a, arena_printf(a, "%s.%s", kind->text, variant->text)))
            continue;
        const char *text = "";
        for (int64_t k = 0; k < p->n; k++)
            if (!strcmp(verdict_path(a, p->item[k].path), x->path)) text = p->item[k].text;
        fail_msg("%s: %s: %s, which the original accepts: %s", c->file, x->path, x->code, text);
    }
}

void mistakes_compare(Arena *a, const GoldenConfig *c, const Yaml *root, const Problems *p,
                      Mistakes *f)
{
    compare_errors(a, c, root, f);
    compare_rest(a, c, root, f, p);
}

void mistakes_check_accepted(Arena *a, const GoldenConfigs *g)
{
    for (const Accepted *x = accepted; x->file; x++) {
        const json_t *errors = json_object_get(json_object_get(g->validation, x->file), "errors"),
                     *error;
        bool occurs = false;
        size_t i;
        json_array_foreach(errors, i, error)
        {
            occurs |= !strcmp(place_of(a, error), x->path) &&
                      !strcmp(verdict_text(error, "type"), x->type);
        }
        if (!occurs) fail_msg("%s: %s: %s is not among the goldens", x->file, x->path, x->type);
    }
}
