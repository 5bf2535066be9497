/* golden_component.c - a configuration made of a golden's component and a model that it refers to.
 */
#include "golden/golden_component.h"
#include "components.h"
#include <stdlib.h>
#include <string.h>

json_t *golden_json(Arena *a, const char *file)
{
    json_error_t error;
    const char *path = shared_path(a, path_join(a, "data/goldens/models", file));
    json_t *j = json_load_file(path, 0, &error);
    if (!j) fail_msg("%s:%d: %s", path, error.line, error.text);
    return j;
}

static const char *text_of(const json_t *description, const char *key)
{
    const char *text = json_string_value(json_object_get(description, key));
    assert_non_null(text);
    return text;
}

/* The inside of `config` as a YAML flow mapping. */
static const char *settings_of(Arena *a, const json_t *description)
{
    char *text = json_dumps(json_object_get(description, "config"),
                            JSON_REAL_PRECISION(17) | JSON_PRESERVE_ORDER);
    assert_non_null(text);
    const char *inside = arena_string_n(a, text + 1, strlen(text) - 2);
    free(text);
    return inside;
}

void *golden_component(Arena *a, const json_t *description, const char *model_case,
                       const char *more)
{
    Str model;
    void *made;
    const char *folder = shared_path(a, path_join(a, "data/goldens/models", model_case));
    const char *kind = text_of(description, "component_key"),
               *variant = text_of(description, "variant_key"),
               *path = arena_printf(a, "%s/%s.yaml", test_folder(), variant);
    assert_no_error(file_read(a, path_join(a, folder, "model.yaml"), &model));
    const char *text = arena_printf(
        a, "%s\ncomponent:\n  component_key: %s\n  variant_key: %s\n  config: {%s%s%s}\n",
        model.ptr, kind, variant, settings_of(a, description), *more ? ", " : "", more);
    assert_no_error(file_write(path, text, strlen(text)));
    assert_no_error(component_from_file(a, path, (StringList){ 0 }, "component", kind, &made));
    return made;
}
