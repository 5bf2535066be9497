/* fuzz_yaml.c - any bytes as configuration: read, resolve, check against tables, write and read
 * again. */
#include "config/builder.h"
#include "config/interpolate.h"
#include "config/yaml_emit.h"
#include "fuzz.h"
#include <string.h>

typedef struct Settings {
    int64_t n;
    double x;
    const char *text;
    IntMap dims;
    FloatList list;
    const bool *flag;
    ComponentList parts;
} Settings;

static const Field fields[] = {
    FIELD_INT(Settings, n, "1", 0, 100, "an integer"),
    FIELD_FLOAT(Settings, x, "1", 0, 0, "a number"),
    FIELD_STRING(Settings, text, "null", "a text"),
    FIELD_MAP(Settings, dims, IntMap, &field_int_entry, "{}", "sizes"),
    FIELD_FLOATS(Settings, list, "[]", 0, 5, "numbers"),
    FIELD_BOOL(Settings, flag, "null", "a flag"),
    FIELD_COMPONENTS(Settings, parts, "x", "[]", 0, 0, "components", .flags = FIELD_LIST_OR_ONE),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    return give_int(b, ((const Settings *)settings)->n, out);
}

static const ComponentDef number = { .kind = "x",
                                     .variant = "y",
                                     .doc = "an integer",
                                     .fields = fields,
                                     .settings_size = sizeof(Settings),
                                     .build = build,
                                     .gives = GIVES_INT,
                                     .is_light = true };
static const ComponentDef part = { .kind = "x",
                                   .variant = "z",
                                   .doc = "a part",
                                   .fields = fields,
                                   .settings_size = sizeof(Settings),
                                   .build = build };

/* What was written must be readable, unless interpolation made it larger than a file may be. */
static void check_written(Arena *a, const Yaml *tree)
{
    Text t = { 0 };
    Yaml *again;
    yaml_emit(tree, &t);
    Error *e = yaml_parse(a, (Str){ t.ptr, t.len }, "again", &again);
    CHECK(!e || strstr(error_text(e), "nested deeper") || strstr(error_text(e), "nodes"));
    error_free(e);
    text_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ResolverContext context = { .config_file_path = "/x.yaml", .num_cpus = 2 };
    Arena *a = arena_new();
    Yaml *root, *resolved;
    Error *e = yaml_parse(a, (Str){ (const char *)data, size }, "fuzz", &root);
    if (!e) e = interpolate(a, root, &context, &resolved);
    if (!e) check_written(a, resolved);
    if (!e && resolved->type == YAML_MAP) {
        Registry *r = registry_new(a);
        CHECK(!registry_add(r, &number) && !registry_add(r, &part));
        e = builder_validate_all(builder_new(a, r, resolved, NULL));
        error_free(fields_read(fields, resolved, a, NEW(a, Settings)));
    }
    error_free(e);
    arena_free(a);
    return 0;
}
