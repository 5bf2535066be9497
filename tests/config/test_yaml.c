/* test_yaml.c - reading YAML: types of scalars, places, merge keys, what is refused. */
#include "config/yaml.h"
#include "test.h"
#include <math.h>
#include <string.h>

static Yaml *parsed(Arena *a, const char *text)
{
    Yaml *root;
    assert_no_error(yaml_parse(a, str_of(text), "x.yaml", &root));
    return root;
}

static void refused(const char *text, const char *part)
{
    Arena *a = arena_new();
    Yaml *root;
    assert_error_has(yaml_parse(a, str_of(text), "x.yaml", &root), part);
    arena_free(a);
}

TEST(scalars_have_the_types_of_yaml_1_1_and_omegaconf)
{
    static const struct {
        const char *text;
        YamlType type;
        double number;
    } row[] = {
        { "yes", YAML_BOOL, 1 },        { "Off", YAML_BOOL, 0 },
        { "tRUE", YAML_STRING, 0 },     { "~", YAML_NULL, 0 },
        { "", YAML_NULL, 0 },           { "Null", YAML_NULL, 0 },
        { "010", YAML_INT, 8 },         { "08", YAML_STRING, 0 },
        { "0x1F", YAML_INT, 31 },       { "-0b101", YAML_INT, -5 },
        { "1_000", YAML_INT, 1000 },    { "1:30", YAML_INT, 90 },
        { "1:30.5", YAML_FLOAT, 90.5 }, { "1e-5", YAML_FLOAT, 1e-5 },
        { "1E5", YAML_FLOAT, 1e5 },     { ".5", YAML_FLOAT, 0.5 },
        { "5.", YAML_FLOAT, 5 },        { "-.5", YAML_STRING, 0 },
        { "1_0.0", YAML_FLOAT, 10 },    { "1.5e3", YAML_FLOAT, 1500 },
        { "inf", YAML_STRING, 0 },      { "-.INF", YAML_FLOAT, -INFINITY },
        { "nan", YAML_STRING, 0 },      { "2001-01-01", YAML_STRING, 0 },
        { "'1'", YAML_STRING, 0 },      { "!!str 1", YAML_STRING, 0 },
        { "!!float 1", YAML_FLOAT, 1 }, { "0o17", YAML_STRING, 0 },
        { "1.2.3", YAML_STRING, 0 },    { "+1", YAML_INT, 1 },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const Yaml *y = yaml_get(parsed(a, arena_printf(a, "k: %s\n", row[i].text)), "k");
        if (y->type != row[i].type) fail_msg("%s is %s", row[i].text, yaml_type_name(y));
        if (y->type == YAML_BOOL) assert_int_equal(y->boolean, row[i].number);
        if (y->type == YAML_INT) assert_int_equal(y->integer, row[i].number);
        if (y->type == YAML_FLOAT) assert_true(y->number == row[i].number);
    }
    assert_true(isnan(yaml_get(parsed(a, "k: .nan"), "k")->number));
    assert_true(yaml_get(parsed(a, "k: 99999999999999999999"), "k")->integer == INT64_MAX);
    assert_true(yaml_get(parsed(a, "k: -9223372036854775808"), "k")->integer == INT64_MIN);
    arena_free(a);
}

TEST(every_node_knows_its_place_and_path)
{
    Arena *a = arena_new();
    const Yaml *root = parsed(a, "a:\n  b: [1, {c: x}]\n");
    const Yaml *c = yaml_find(root, "a.b[1].c");
    assert_string_equal(yaml_place(a, c), "x.yaml:2:14");
    assert_string_equal(yaml_path(a, c), "a.b[1].c");
    assert_ptr_equal(yaml_find(root, "a.b.1.c"), c);
    assert_null(yaml_find(root, "a.b.7"));
    assert_null(yaml_find(root, "a..b"));
    arena_free(a);
}

TEST(merge_keys_fill_in_and_earlier_maps_of_a_list_win)
{
    Arena *a = arena_new();
    const Yaml *root = parsed(a, "x: &x {p: 1, q: 1}\ny: &y {q: 2, r: 2}\n"
                                 "one: {s: 0, <<: *x, q: 9}\nboth: {<<: [*x, *y]}\n");
    const Yaml *expected = parsed(a, "one: {p: 1, q: 9, s: 0}\nboth: {q: 1, r: 2, p: 1}\n");
    assert_true(yaml_equal(yaml_get(root, "one"), yaml_get(expected, "one")));
    assert_true(yaml_equal(yaml_get(root, "both"), yaml_get(expected, "both")));
    assert_string_equal(yaml_path(a, yaml_find(root, "one.q")), "one.q");
    arena_free(a);
}

TEST(paths_that_python_wrote_become_text)
{
    Arena *a = arena_new();
    const Yaml *root = parsed(a, "a: !!python/object/apply:pathlib.PosixPath [/, x, y.yaml]\n");
    assert_string_equal(yaml_get(root, "a")->text, "/x/y.yaml");
    arena_free(a);
}

TEST(what_is_no_configuration_is_refused_with_its_place)
{
    refused("a: 1\nb:\n  c: 1\n  c: 2\n",
            "x.yaml:4:3: the key \"c\" is here twice; it was set in line 3 before");
    refused("a: [1, 2\n", "x.yaml:2:1");
    refused("a: *b\n", "the alias \"*b\" has no anchor before it");
    refused("a: !wrong 1\n", "the tag \"!wrong\" is not known");
    refused("a: !!int x\n", "does not have the type that its tag asks for");
    refused("", "the file is empty");
    refused("--- 1\n--- 2\n", "a second document begins here");
    refused("? [1]\n: 2\n", "a key must be");
    refused("~: 2\n", "a key must be");
    refused("a: {<<: 1}\n", "\"<<\" takes a mapping");
    refused("a: \xff\n", "x.yaml");
}

TEST(hostile_documents_end_in_an_error)
{
    Text deep = { 0 }, wide = { 0 };
    for (int i = 0; i < 5000; i++) text_putc(&deep, '[');
    refused(deep.ptr, "nested deeper than 256 levels");
    text_puts(&wide, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        text_printf(&wide, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) text_printf(&wide, "%s*a%d", k ? ", " : "", i - 1);
        text_puts(&wide, "]\n");
    }
    refused(wide.ptr, "more than 1000000 nodes");
    text_free(&deep);
    text_free(&wide);
}

static Error *read_json(Arena *a, const char *text, size_t n, Yaml **out)
{
    const char *path = path_join(a, test_folder(), "x.json");
    assert_no_error(file_write(path, text, n));
    return yaml_read_json(a, path, out);
}

TEST(json_is_read_into_a_tree_with_all_its_escapes)
{
    Arena *a = arena_new();
    static const char text[] =
        "\xEF\xBB\xBF {\"p\": \"\\ud83d\\ude00\\udcff\\udc41\\ud800x \\/\\n\\u00fc\\\"\",\r\n"
        " \"l\" :[1,-2.5 , true,null,{ },[]], \"p2\": \"\", \"l\": [7]\n}\n";
    Yaml *y;
    assert_no_error(read_json(a, text, sizeof text - 1, &y));
    assert_int_equal(y->type, YAML_MAP);
    assert_int_equal(y->n, 3); /* the second "l" counts */
    const Yaml *p = yaml_get(y, "p");
    assert_string_equal(p->text, "\xf0\x9f\x98\x80\xff\xef\xbf\xbd\xef\xbf\xbdx /\n\xc3\xbc\"");
    assert_int_equal(yaml_find(y, "l.0")->integer, 7);
    assert_string_equal(yaml_get(y, "p2")->text, "");
    assert_int_equal(yaml_get(y, "p2")->type, YAML_STRING);
    assert_int_equal(yaml_get(y, "l")->line, 2);
    assert_no_error(read_json(a, "[1,-2.5 , true,null,{ },[]]", 27, &y));
    assert_int_equal(y->n, 6);
    assert_close(y->item[1]->number, -2.5, 0);
    assert_int_equal(y->item[2]->type, YAML_BOOL);
    assert_int_equal(y->item[3]->type, YAML_NULL);
    assert_int_equal(y->item[4]->type, YAML_MAP);
    assert_int_equal(y->item[5]->type, YAML_LIST);
    assert_error_has(read_json(a, "{\"a\": 'b'}", 10, &y),
                     "x.json: no JSON: Expecting value, at byte 6");
    assert_error_has(read_json(a, "", 0, &y), "x.json: no JSON");
    arena_free(a);
}
