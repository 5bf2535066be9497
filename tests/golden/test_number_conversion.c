/* test_number_conversion.c - every number conversion gives the original's number or refuses as it
 * does. */
#include "components.h"
#include "config/builder.h"
#include "test.h"
#include <jansson.h>
#include <string.h>

/* The JSON of a case as a configuration with one component. */
static Yaml *config_of(Arena *a, const json_t *record)
{
    char *config = json_dumps(json_object_get(record, "config"), JSON_REAL_PRECISION(17));
    Yaml *root;
    const char *text =
        arena_printf(a, "x: {component_key: number_conversion, variant_key: %s, config: %s}",
                     json_string_value(json_object_get(record, "variant")), config);
    free(config);
    assert_no_error(yaml_parse(a, str_of(text), "case", &root));
    return root;
}

static void run_case(const Registry *r, const char *line, int64_t number)
{
    Arena *a = arena_new();
    json_t *record = json_loads(line, 0, NULL);
    assert_non_null(record);
    Builder *b = builder_new(a, r, config_of(a, record), NULL);
    Error *e = builder_validate_all(b);
    const json_t *expected = json_object_get(record, "expected");
    const Component *c = builder_at(b, builder_count(b) - 1);
    if (json_is_object(expected) && !e) fail_msg("line %d: accepted: %s", (int)number, line);
    if (json_is_integer(expected)) {
        if (e) fail_msg("line %d: %s", (int)number, error_text(e));
        int64_t got = *(const int64_t *)c->object;
        if (got != json_integer_value(expected))
            fail_msg("line %d: %lld: %s", (int)number, (long long)got, line);
    }
    error_free(e);
    json_decref(record);
    arena_free(a);
}

TEST(number_conversions_give_the_numbers_of_the_original)
{
    Arena *a = arena_new();
    Registry *r;
    Str all;
    int64_t n = 0;
    assert_no_error(components_registry(a, &r));
    assert_no_error(
        file_read(a, shared_path(a, "data/goldens/models/number_conversion.jsonl"), &all));
    for (const char *line = all.ptr; *line;) {
        size_t len = strcspn(line, "\n");
        run_case(r, arena_string_n(a, line, len), ++n);
        line += len + (line[len] == '\n');
    }
    assert_true(n > 100);
    arena_free(a);
}

/* Older files say num_ranks where newer ones say dp_degree. */
TEST(num_ranks_and_dp_degree_are_the_same_in_every_number_conversion)
{
    Arena *a = arena_new();
    Registry *r;
    int64_t n = 0;
    assert_no_error(components_registry(a, &r));
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *d = registry_at(r, i);
        const Field *f =
            strcmp(d->kind, "number_conversion") ? NULL : field_find(d->fields, "dp_degree");
        if (!f) continue;
        assert_ptr_equal(field_find(d->fields, "num_ranks"), f);
        n++;
    }
    assert_int_equal(n, 7);
    arena_free(a);
}
