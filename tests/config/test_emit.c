/* test_emit.c - trees as YAML, byte for byte as PyYAML's dump writes them, and as JSON. */
#include "config/yaml_emit.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static void emits(const char *from, const char *yaml)
{
    Arena *a = arena_new();
    Yaml *root;
    Text t = { 0 };
    assert_no_error(yaml_parse(a, str_of(from), "x.yaml", &root));
    yaml_emit(root, &t);
    if (strcmp(t.ptr, yaml)) fail_msg("%s gives\n%s---- expected\n%s", from, t.ptr, yaml);
    text_free(&t);
    arena_free(a);
}

TEST(mappings_are_sorted_and_lists_in_them_are_not_indented)
{
    emits("{b: [1, {d: 2, c: 3}, [x, [y]]], a: {}, c: []}",
          "a: {}\nb:\n- 1\n- c: 3\n  d: 2\n- - x\n  - - y\nc: []\n");
}

TEST(scalars_are_written_as_python_writes_them)
{
    emits("a: 1e-5", "a: 1.0e-05\n");
    emits("a: 1e22", "a: 1.0e+22\n");
    emits("a: .inf", "a: .inf\n");
    emits("a: 0x10", "a: 16\n");
    emits("a: yes", "a: true\n");
    emits("a: ~", "a: null\n");
    emits("a: 99999999999999999999", "a: 99999999999999999999\n");
}

TEST(texts_are_quoted_when_they_would_read_as_something_else)
{
    emits("a: 'yes'", "a: 'yes'\n");
    emits("a: ''", "a: ''\n");
    emits("a: '1:30'", "a: '1:30'\n");
    emits("a: '2001-01-01'", "a: '2001-01-01'\n");
    emits("a: '1e-5'", "a: 1e-5\n"); /* PyYAML reads a text there */
    emits("a: 'x: y'", "a: 'x: y'\n");
    emits("a: 'x #y'", "a: 'x #y'\n");
    emits("a: x#y", "a: x#y\n");
    emits("a: '- x'", "a: '- x'\n");
    emits("a: 'it''s'", "a: it's\n");
    emits("a: ' x'", "a: ' x'\n");
    emits("a: \"x\\ny\"", "a: 'x\n\n  y'\n");
    emits("a: \"t\\tab\"", "a: \"t\\tab\"\n");
    emits("a: \xc3\xa9", "a: \"\\xE9\"\n");
    emits("a: \xf0\x9f\x8e\x89", "a: \"\\U0001F389\"\n");
    emits("'': 1", "? ''\n: 1\n");
    emits("'1': 1", "'1': 1\n");
}

TEST(long_texts_are_folded_at_80_columns)
{
    const char *words =
        "aaaaaaaaaaaaaaa bbbbbbbbbbbbbbb ccccccccccccccc ddddddddddddddd eeeeeeeeeeeeeee";
    char from[256], to[256];
    snprintf(from, sizeof from, "a: %s fffff ggggg", words);
    snprintf(to, sizeof to, "a: %s\n  fffff ggggg\n", words);
    emits(from, to);
    /* in quotes, too */
    snprintf(from, sizeof from, "a: 'x: %s fffff ggggg'", words);
    snprintf(to, sizeof to, "a: 'x: %s\n  fffff ggggg'\n", words);
    emits(from, to);
}

TEST(json_is_written_as_python_writes_it)
{
    Arena *a = arena_new();
    Yaml *root;
    Text t = { 0 };
    assert_no_error(yaml_parse(
        a, str_of("{b: [1, 1e-5, .nan, null, true, \"x\\n\xc3\xa9\"], a: {}}"), "x.yaml", &root));
    yaml_emit_json(root, 0, &t);
    assert_string_equal(t.ptr, "{\"b\": [1, 1e-05, NaN, null, true, \"x\\n\\u00e9\"], \"a\": {}}");
    text_clear(&t);
    yaml_emit_json(yaml_get(root, "a"), 2, &t);
    assert_string_equal(t.ptr, "{}");
    text_free(&t);
    arena_free(a);
}

TEST(characters_beyond_ascii_stand_for_themselves_when_asked)
{
    Arena *a = arena_new();
    Yaml *root;
    Text t = { 0 };
    Str from = str_of("{a: °, b: 'ä: ö', c: \"x\\u2028☺\\uFEFF\", d: \"ü\\tß😀\", e: \"\\x7f\"}");
    assert_no_error(yaml_parse(a, from, "x.yaml", &root));
    yaml_emit_unicode(root, &t);
    assert_string_equal(t.ptr, "a: °\nb: 'ä: ö'\nc: \"x\\L☺\\uFEFF\"\nd: \"ü\\tß\\U0001F600\"\ne: "
                               "\"\\x7F\"\n");
    text_free(&t);
    arena_free(a);
}
