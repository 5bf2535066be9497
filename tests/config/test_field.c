/* test_field.c - tables of settings: what converts to what, defaults, nulls, bounds, unions,
 * messages. */
#include "config/field_read.h"
#include "test.h"
#include <string.h>

typedef struct SampleNorm {
    int which;
    struct NormA {
        int64_t size;
        double eps;
    } a;
    struct NormB {
        int64_t size;
        double eps;
        bool bias;
    } b;
} SampleNorm;
typedef struct Deviation {
    int which;
    double number;
    const char *word;
} Deviation;
typedef struct Sub {
    int64_t n;
} Sub;
typedef struct SubList {
    Sub *item;
    int64_t n;
} SubList;

typedef struct All {
    bool flag, only_true;
    const bool *maybe_flag;
    int64_t strict, lax;
    const int64_t *maybe;
    double strict_float, lax_float, open;
    const char *text, *maybe_text, *word, *path;
    int activation;
    Sub sub;
    const Sub *maybe_sub;
    SampleNorm norm;
    Deviation std;
    StringList names;
    FloatList betas;
    SubList subs;
    IntMap dims;
    const Yaml *any;
    int64_t parts;
} All;

static const Field sub_fields[] = { FIELD_INT(Sub, n, NULL, 1, INFINITY, "a number"), { 0 } };
static const Field a_fields[] = { FIELD_INT(struct NormA, size, NULL, 0, 0, "size"),
                                  FIELD_FLOAT(struct NormA, eps, "1e-5", 0, 0, "epsilon"),
                                  { 0 } };
static const Field b_fields[] = { FIELD_INT(struct NormB, size, NULL, 0, 0, "size"),
                                  FIELD_FLOAT(struct NormB, eps, "1e-6", 0, 0, "epsilon"),
                                  FIELD_BOOL(struct NormB, bias, "true", "bias"),
                                  { 0 } };
static const Field norm_fields[] = {
    FIELD_STRUCT(SampleNorm, a, struct NormA, a_fields, NULL, "first"),
    FIELD_STRUCT(SampleNorm, b, struct NormB, b_fields, NULL, "second"),
    { 0 }
};
static const char *const autos[] = { "auto", NULL };
static const Field std_fields[] = { FIELD_FLOAT(Deviation, number, NULL, 0, INFINITY, "a number",
                                                .flags = FIELD_STRICT),
                                    FIELD_STRING(Deviation, word, NULL, "a word", .choices = autos),
                                    { 0 } };
static const char *const activations[] = { "gelu|GELU", "swiglu|SWIGLU", NULL };
static const char *const trues[] = { "true", NULL };
static const Field all_fields[] = {
    FIELD_BOOL(All, flag, "false", "a flag"),
    FIELD_BOOL(All, only_true, "true", "literally true", .choices = trues),
    FIELD_BOOL(All, maybe_flag, "null", "a flag or nothing"),
    FIELD_INT(All, strict, "7", 1, 10, "a strict integer", .flags = FIELD_STRICT),
    FIELD_INT(All, lax, "7", 0, 0, "any integer"),
    FIELD_INT(All, maybe, "null", 0, 0, "an integer or nothing", .flags = FIELD_STRICT),
    FIELD_FLOAT(All, strict_float, "0.5", 0, 0, "a strict number", .flags = FIELD_STRICT),
    FIELD_FLOAT(All, lax_float, "0.5", 0, 0, "any number"),
    FIELD_FLOAT(All, open, "0.5", 0, 1, "an open interval",
                .flags = FIELD_OPEN_MIN | FIELD_OPEN_MAX),
    FIELD_STRING(All, text, "default", "a text"),
    FIELD_STRING(All, maybe_text, "null", "a text or nothing"),
    FIELD_STRING(All, word, "auto", "one word", .choices = autos),
    FIELD_PATH(All, path, "x", "a path"),
    FIELD_CHOICE(All, activation, "swiglu", activations, "a choice"),
    FIELD_STRUCT(All, sub, Sub, sub_fields, "{n: 3}", "a mapping"),
    FIELD_STRUCT(All, maybe_sub, Sub, sub_fields, "null", "a mapping or nothing"),
    FIELD_UNION(All, norm, SampleNorm, norm_fields, "{size: 1}", "one of two mappings"),
    FIELD_UNION(All, std, Deviation, std_fields, "auto", "number or word"),
    FIELD_STRINGS(All, names, "[]", 0, 0, "texts"),
    FIELD_FLOATS(All, betas, "[0.9, 0.95]", 2, 2, "two numbers"),
    FIELD_STRUCTS(All, subs, SubList, sub_fields, "[]", 0, 0, "mappings",
                  .flags = FIELD_LIST_OR_ONE),
    FIELD_MAP(All, dims, IntMap, &field_int_entry, "{}", "sizes by name"),
    FIELD_ANY(All, any, "null", "anything"),
    FIELD_INT(All, parts, "1", 0, 0, "a number with two names", .alias = "wrapped_parts"),
    { 0 },
};

static Error *read(Arena *a, const char *text, All *to)
{
    Yaml *root;
    memset(to, 0xA5, sizeof *to); /* what was there does not matter */
    TRY(yaml_parse(a, str_of(text), "x.yaml", &root));
    return fields_read(all_fields, root, a, to);
}

/* The codes of the problems, separated by blanks. */
static void has_codes(const char *text, const char *codes)
{
    Arena *a = arena_new();
    Yaml *root;
    Problems problems = { .arena = a };
    FieldReader r = { .arena = a, .problems = &problems };
    Text got = { 0 };
    assert_no_error(yaml_parse(a, str_of(text), "x.yaml", &root));
    fields_fill(&r, all_fields, root, false, NEW(a, All));
    text_puts(&got, "");
    for (int64_t i = 0; i < problems.n; i++)
        text_printf(&got, "%s%s", i ? " " : "", problems.item[i].code);
    if (strcmp(got.ptr, codes)) fail_msg("%s: \"%s\", expected \"%s\"", text, got.ptr, codes);
    text_free(&got);
    arena_free(a);
}

TEST(defaults_fill_what_is_not_given)
{
    Arena *a = arena_new();
    All x;
    assert_no_error(fields_verify(all_fields));
    assert_no_error(read(a, "{}", &x));
    assert_true(!x.flag && x.only_true && !x.maybe_flag && x.strict == 7 && !x.maybe);
    assert_string_equal(x.text, "default");
    assert_null(x.maybe_text);
    assert_int_equal(x.activation, 1);
    assert_int_equal(x.sub.n, 3);
    assert_null(x.maybe_sub);
    assert_true(x.std.which == 1 && !strcmp(x.std.word, "auto"));
    assert_true(x.betas.n == 2 && x.betas.item[1] == 0.95);
    assert_null(x.any);
    arena_free(a);
}

TEST(values_convert_as_pydantic_converts_them)
{
    static const char *const row[][2] = {
        { "strict: 8.0", "int_type" },
        { "strict: true", "int_type" },
        { "strict: '8'", "int_type" },
        { "strict: null", "int_type" },
        { "strict: 11", "less_than_equal" },
        { "strict: 0", "greater_than_equal" },
        { "lax: 8.0", "" },
        { "lax: true", "" },
        { "lax: '8'", "" },
        { "lax: ' 8.0 '", "" },
        { "lax: 8.5", "int_from_float" },
        { "lax: x", "int_parsing" },
        { "lax: []", "int_type" },
        { "lax: 99999999999999999999", "int_parsing_size" },
        { "strict_float: 1", "" },
        { "strict_float: '1e-5'", "float_type" },
        { "strict_float: true", "float_type" },
        { "lax_float: '1e-5'", "" },
        { "lax_float: true", "" },
        { "lax_float: x", "float_parsing" },
        { "lax_float: {}", "float_type" },
        { "lax_float: 0x10", "" },
        { "open: 0", "greater_than" },
        { "open: 1.0", "less_than" },
        { "open: .nan", "greater_than" },
        { "flag: 1", "" },
        { "flag: 'yes'", "" },
        { "flag: 'OFF'", "" },
        { "flag: 2", "bool_parsing" },
        { "flag: x", "bool_parsing" },
        { "flag: null", "bool_type" },
        { "only_true: false", "literal_error" },
        { "text: 1", "string_type" },
        { "text: null", "string_type" },
        { "maybe_text: null", "" },
        { "maybe_flag: null", "" },
        { "maybe: null", "" },
        { "maybe: x", "int_type" },
        { "word: other", "literal_error" },
        { "path: 1", "path_type" },
        { "activation: GELU", "" },
        { "activation: gelu", "" },
        { "activation: Gelu", "enum" },
        { "activation: []", "enum" },
        { "sub: {n: 0}", "greater_than_equal" },
        { "sub: 1", "model_type" },
        { "sub: {}", "missing" },
        { "maybe_sub: {n: 1}", "" },
        { "std: 0.1", "" },
        { "std: 1", "" },
        { "std: other", "union" },
        { "std: -1", "union" },
        { "std: '0.1'", "union" },
        { "names: x", "list_type" },
        { "names: [x, 1]", "string_type" },
        { "betas: [1]", "too_short" },
        { "betas: [1, 2, 3]", "too_long" },
        { "subs: {n: 1}", "" },
        { "subs: [{n: 1}, {n: x}]", "int_parsing" },
        { "dims: {b: 2, a: 1}", "" },
        { "dims: [1]", "dict_type" },
        { "dims: {b: x}", "int_parsing" },
        { "any: {x: [1]}", "" },
        { "parts: 2", "" },
        { "wrapped_parts: 2", "" },
        { "{parts: 2, wrapped_parts: 2}", "unknown_key" },
        { "norm: {size: 1, other: 2}", "unknown_key" },
        { "norm: {}", "missing" },
        { "unknown: 1", "unknown_key" },
        { "[1]", "model_type" },
        { "{strict: x, lax: x, unknown: 1}", "unknown_key int_type int_parsing" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) has_codes(row[i][0], row[i][1]);
}

TEST(members_get_the_values)
{
    Arena *a = arena_new();
    All x;
    assert_no_error(
        read(a,
             "{lax: ' 8.0 ', lax_float: '1e-5', flag: 'on', maybe: 3, activation: GELU, maybe_sub: "
             "{n: 4},"
             " names: [x, y], subs: [{n: 1}, {n: 2}], dims: {b: 2, a: 1}, wrapped_parts: 5}",
             &x));
    assert_int_equal(x.lax, 8);
    assert_true(x.lax_float == 1e-5 && x.flag && *x.maybe == 3);
    assert_int_equal(x.activation, 0);
    assert_int_equal(x.maybe_sub->n, 4);
    assert_string_equal(x.names.item[1], "y");
    assert_int_equal(x.subs.item[1].n, 2);
    assert_string_equal(x.dims.item[0].key, "b");
    assert_int_equal(x.dims.item[1].value, 1);
    assert_int_equal(x.parts, 5);
    arena_free(a);
}

/* The original's norms rely on it: without bias the first of two alike tables wins, and with it its
 * epsilon. */
TEST(a_union_takes_most_keys_then_the_first)
{
    Arena *a = arena_new();
    All x;
    assert_no_error(read(a, "norm: {size: 4}", &x));
    assert_true(x.norm.which == 0 && x.norm.a.size == 4 && x.norm.a.eps == 1e-5);
    assert_no_error(read(a, "norm: {size: 4, bias: true}", &x));
    assert_true(x.norm.which == 1 && x.norm.b.size == 4 && x.norm.b.eps == 1e-6);
    assert_no_error(read(a, "std: 1", &x));
    assert_true(x.std.which == 0 && x.std.number == 1);
    arena_free(a);
}

TEST(messages_say_what_is_wrong_and_what_is_allowed)
{
    static const char *const row[][2] = {
        { "a: 1\nstrict: 11\n",
          "x.yaml:2:9: strict: 11; allowed: an integer, at least 1 and at most 10" },
        { "strit: 1\n", "x.yaml:1:1: strit: unknown key \"strit\"; did you mean \"strict\"?" },
        { "activation: gellu\n", "\"gellu\"; did you mean \"gelu\"? allowed: one of gelu, swiglu" },
        { "std: x\n", "std: \"x\"; allowed: a number, at least 0, or auto" },
        { "sub: {}\n",
          "x.yaml:1:6: sub.n: this key is required: an integer, at least 1; a number" },
        { "betas: [1]\n", "betas: a list of 1; allowed: a list of 2 numbers" },
        { "open: 1\n", "allowed: a number, greater than 0 and less than 1" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Arena *a = arena_new();
        All x;
        assert_error_has(read(a, row[i][0], &x), row[i][1]);
        arena_free(a);
    }
}

TEST(existing_paths_are_asked_for)
{
    typedef struct Paths {
        const char *file, *any;
    } Paths;
    static const Field fields[] = { FIELD_PATH(Paths, file, NULL, "a file", .flags = FIELD_EXISTS),
                                    FIELD_PATH(Paths, any, "/", "a file or folder",
                                               .flags = FIELD_EXISTS_ANY),
                                    { 0 } };
    Arena *a = arena_new();
    Yaml *root;
    Paths p;
    assert_no_error(yaml_parse(a, str_of("file: /\n"), "x.yaml", &root));
    assert_error_has(fields_read(fields, root, a, &p), "file: \"/\" is a folder, not a file");
    assert_no_error(yaml_parse(a, str_of("file: Makefile\nany: nowhere\n"), "x.yaml", &root));
    assert_error_has(fields_read(fields, root, a, &p),
                     "any: there is no file or folder \"nowhere\"");
    arena_free(a);
}

TEST(tables_that_contradict_themselves_are_refused)
{
    static const Field twice[] = { FIELD_INT(Sub, n, "1", 0, 0, "a"),
                                   FIELD_INT(Sub, n, "1", 0, 0, "b"),
                                   { 0 } };
    static const Field bad_default[] = { FIELD_INT(Sub, n, "0", 1, 5, "a"), { 0 } };
    static const Field null_default[] = { FIELD_INT(Sub, n, "null", 1, 5, "a"), { 0 } };
    static const Field no_doc[] = { FIELD_INT(Sub, n, "1", 1, 5, ""), { 0 } };
    assert_error_has(fields_verify(twice), "\"n\" is there twice");
    assert_error_has(fields_verify(bad_default), "the default of \"n\"");
    assert_error_has(fields_verify(null_default), "may be null, so its member must be a pointer");
    assert_error_has(fields_verify(no_doc), "\"n\" has no description");
}
