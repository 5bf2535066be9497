/* test_builder.c - components from a tree: order, references, lists, numbers, mistakes, twice-built
 * lists. */
#include "config/builder.h"
#include "config/config.h"
#include "test.h"
#include <string.h>

/* A part counts how often it was made, and sums what it was given. */
typedef struct SamplePart {
    const char *name;
    int64_t value;
} SamplePart;

typedef struct PartSettings {
    const char *name;
    int64_t value;
    SamplePart *inner;
    ComponentList parts;
} PartSettings;

static int64_t n_built;

static Error *build_part(Builder *b, const void *settings, void **out)
{
    const PartSettings *s = settings;
    SamplePart *p = NEW(builder_arena(b), SamplePart);
    n_built++;
    *p = (SamplePart){ .name = s->name, .value = s->value + (s->inner ? s->inner->value : 0) };
    for (int64_t i = 0; i < s->parts.n; i++) p->value += ((SamplePart *)s->parts.item[i])->value;
    if (s->value == 99) return error_new("99 cannot be built");
    *out = p;
    return NULL;
}

static Error *check_part(const void *settings)
{
    const PartSettings *s = settings;
    return s->value == 13 ? error_new("13 is refused with %s", s->name) : NULL;
}

typedef struct SumSettings {
    int64_t left, right;
} SumSettings;

static Error *build_sum(Builder *b, const void *settings, void **out)
{
    const SumSettings *s = settings;
    return give_int(b, s->left + s->right, out);
}

static const Field part_fields[] = {
    FIELD_STRING(PartSettings, name, "unnamed", "a name"),
    FIELD_INT(PartSettings, value, NULL, 0, 100, "a value", .flags = FIELD_STRICT),
    FIELD_COMPONENT(PartSettings, inner, SamplePart, "part", "null", "another part",
                    .flags = FIELD_MAPS),
    FIELD_COMPONENTS(PartSettings, parts, "part", "[]", 0, 0, "other parts",
                     .flags = FIELD_LIST_OR_ONE),
    { 0 },
};
static const Field sum_fields[] = {
    FIELD_INT(SumSettings, left, NULL, 0, 0, "a", .flags = FIELD_STRICT),
    FIELD_INT(SumSettings, right, NULL, 0, 0, "b", .flags = FIELD_STRICT),
    { 0 },
};
static const ComponentDef part_def = { .kind = "part",
                                       .variant = "plain",
                                       .also = "old_plain",
                                       .doc = "a part",
                                       .fields = part_fields,
                                       .settings_size = sizeof(PartSettings),
                                       .check = check_part,
                                       .build = build_part };
static const ComponentDef sum_def = { .kind = "number",
                                      .variant = "sum",
                                      .doc = "a + b",
                                      .fields = sum_fields,
                                      .settings_size = sizeof(SumSettings),
                                      .build = build_sum,
                                      .gives = GIVES_INT,
                                      .is_light = true };

static Registry *parts_registry(Arena *a)
{
    Registry *r = registry_new(a);
    assert_no_error(registry_add(r, &part_def));
    assert_no_error(registry_add(r, &sum_def));
    return r;
}

#define PART "{component_key: part, variant_key: plain, config: "
#define SUM "{component_key: number, variant_key: sum, config: "
#define REF(key) "{instance_key: " key ", pass_type: BY_REFERENCE}"

static Builder *builder_for(Arena *a, const char *text)
{
    Yaml *root, *resolved;
    assert_no_error(yaml_parse(a, str_of(text), "x.yaml", &root));
    assert_no_error(interpolate(a, root, &(ResolverContext){ 0 }, &resolved));
    return builder_new(a, parts_registry(a), resolved, NULL);
}

static void gives(const char *text, int64_t value, int64_t n_expected)
{
    Arena *a = arena_new();
    SamplePart *p;
    Builder *b = builder_for(a, text);
    n_built = 0;
    assert_no_error(builder_get(b, "x", "part", (void **)&p));
    assert_int_equal(p->value, value);
    assert_int_equal(n_built, n_expected);
    assert_string_equal(builder_find(b, p)->path, "x");
    arena_free(a);
}

static void refused(const char *text, const char *part)
{
    Arena *a = arena_new();
    assert_error_has(builder_validate_all(builder_for(a, text)), part);
    arena_free(a);
}

TEST(components_are_built_once_in_the_order_of_need)
{
    gives("x: " PART "{value: 1, inner: " REF("y") ", parts: [" REF(
              "y") ", " PART "{value: 5}}]}}\n"
                   "y: " PART "{value: 10}}\nunused: " PART "{value: wrong}}\n",
          26, 3);
}

TEST(a_component_that_gives_a_number_stands_for_an_integer)
{
    gives("x: " PART "{value: " SUM "{left: 1, right: " REF("y") "}}}}\ny: " SUM
                                                                 "{left: 20, right: 21}}\n",
          42, 1);
}

TEST(an_interpolated_component_is_built_per_copy)
{
    gives("x: " PART "{value: 0, parts: [\"${y}\", \"${y}\"]}}\ny: " PART "{value: 4}}\n", 8, 3);
}

TEST(a_single_component_stands_for_a_list_of_one)
{
    gives("x: " PART "{value: 0, parts: " REF("y") "}}\ny: " PART "{value: 4}}\n", 4, 2);
}

typedef struct Top {
    ComponentList list;
    SamplePart *x;
} Top;

static const Field keys[] = {
    FIELD_COMPONENTS(Top, list, "part", NULL, 0, 0, "parts"),
    FIELD_COMPONENT(Top, x, SamplePart, "part", NULL, "a part"),
    { 0 },
};

/* As in the original: only the target of a reference and components are remembered. */
TEST(a_list_reached_directly_and_by_reference_is_built_twice)
{
    Arena *a = arena_new();
    n_built = 0;
    Top top;
    Builder *b = builder_for(a, "list: [" PART "{value: 4}}]\nx: " PART
                                "{value: 0, parts: " REF("list") "}}\n");
    assert_no_error(builder_build(b, keys, &top));
    assert_int_equal(n_built, 3);
    assert_int_equal(top.x->value, 4);
    assert_int_equal(top.list.n, 1);
    arena_free(a);
}

TEST(a_list_for_a_mapped_setting_gives_a_component_per_item)
{
    gives("x: " PART "{value: 0, parts: " REF("y") "}}\n"
                                                   "y: " PART "{value: 1, inner: [" PART
                                                   "{value: 10}}, " PART "{value: 20}}]}}\n",
          32, 5);
}

TEST(validation_builds_nothing_that_is_not_light)
{
    Arena *a = arena_new();
    n_built = 0;
    assert_no_error(builder_validate_all(builder_for(a, "x: " PART "{value: 99}}\n")));
    assert_int_equal(n_built, 0);
    arena_free(a);
}

TEST(errors_of_build_get_the_place_of_the_component)
{
    Arena *a = arena_new();
    SamplePart *p;
    Builder *b = builder_for(a, "y: 1\nx: " PART "{value: 99}}\n");
    assert_error_has(builder_get(b, "x", "part", (void **)&p),
                     "x.yaml:2:54: x: part.plain: 99 cannot be built");
    arena_free(a);
}

TEST(mistakes_in_components_are_named)
{
    refused("x: {component_key: part, variant_key: plan, config: {}}\n",
            "x.yaml:1:39: x: part has no variant_key \"plan\"; did you mean \"plain\"? known: "
            "plain, old_plain");
    refused("x: {component_key: prt, variant_key: plain, config: {}}\n",
            "unknown component_key \"prt\"; did you mean \"part\"?");
    refused("x: {component_key: part, variant_key: plain}\n",
            "a component needs a mapping \"config\"");
    refused("x: {component_key: part, config: {}}\n", "variant_key is missing");
    refused("x: {component_key: 1, variant_key: plain, config: {}}\n", "1; allowed: a text");
    refused("xy: 1\nz: " PART "{value: 1, inner: " REF("xz") "}}\n",
            "there is no top-level key \"xz\"; did you mean \"xy\" (line 1)?");
    refused("x: " PART "{value: 1, inner: " REF("y") "}}\ny: " PART
                                                     "{value: 1, inner: " REF("x") "}}\n",
            "the components need each other: x -> y -> x");
    refused("x: " PART "{value: 1, inner: " REF("y") "}}\ny: " SUM "{left: 1, right: 1}}\n",
            "2; allowed: a component part, or null");
    refused("x: " PART "{value: 1, inner: 3}}\n",
            "x.config.inner: 3; allowed: a component part, or null");
    refused("x: " PART "{value: 13, name: seven}}\n", "x: part.plain: 13 is refused with seven");
}

/* One mistake is one message, however many components need the one that has it. */
TEST(what_follows_from_a_mistake_is_not_reported)
{
    Arena *a = arena_new();
    Builder *b = builder_for(a, "x: " PART "{value: " SUM "{left: 1, right: x}}, inner: " REF(
                                    "y") "}}\n"
                                         "y: " PART "{valu: 1}}\nz: " PART
                                         "{value: 1, inner: " REF("y") "}}\n");
    error_free(builder_validate_all(b));
    const Problems *p = builder_problems(b);
    assert_int_equal(p->n, 3);
    assert_string_equal(p->item[0].path, "x.config.value.config.right");
    assert_string_equal(p->item[1].path, "y.config.valu");
    assert_string_equal(p->item[2].path, "y.config.value");
    arena_free(a);
}

TEST(a_wrong_value_taken_by_interpolation_says_where_it_is)
{
    refused("n: -1\nx: " PART "{value: \"${n}\"}}\n",
            "x.yaml:2:62: x.config.value: -1 (from n, x.yaml:1:4); allowed: an integer, at least 0 "
            "and at most 100");
}

TEST(a_second_component_of_one_name_is_refused)
{
    Arena *a = arena_new();
    Registry *r = parts_registry(a);
    const ComponentDef same = {
        .kind = "part", .variant = "old_plain", .doc = "x", .build = build_part
    };
    assert_error_has(registry_add(r, &same), "part.old_plain exists already");
    assert_int_equal(registry_count(r), 2);
    arena_free(a);
}
