/* test_template.c - templates render as Jinja does, refuse what is not supported, and stay within
 * their bounds.
 *
 * cases.jsonl holds templates (or names of files in chat/), variables, and what Jinja 3.1 makes of
 * them with trim_blocks and lstrip_blocks: the text, or an error. */
#include "template/template.h"
#include "template/value_json.h"
#include "test.h"
#include <string.h>

enum { MOST_VARIABLES = 32 };

static Error *render(Arena *a, Str source, TemplateValue vars, int64_t work, Text *out)
{
    Template *t;
    Variable variable[MOST_VARIABLES];
    int n = 0;
    TRY(template_parse(a, source, false, &t));
    for (; vars.kind == TEMPLATE_MAP && n < vars.map->n; n++) {
        const MapEntry *e = &vars.map->entry[n];
        assert_true(n < MOST_VARIABLES);
        variable[n] = (Variable){ e->key.ptr, *(TemplateValue *)e->value };
    }
    return template_render(t, variable, n, work, a, out);
}

static Str source_of(Arena *a, TemplateValue c)
{
    const TemplateValue *file = value_map_get(c, str_of("file"));
    Str text;
    if (!file) return value_map_get(c, str_of("template"))->text;
    const char *name = arena_string_n(a, file->text.ptr, file->text.len);
    assert_no_error(file_read(a, path_join(a, "tests/template/chat", name), &text));
    return text;
}

static void run_case(Arena *a, TemplateValue c)
{
    Text got = { 0 };
    const TemplateValue *name = value_map_get(c, str_of("name")),
                        *out = value_map_get(c, str_of("out"));
    Error *e = render(a, source_of(a, c), *value_map_get(c, str_of("vars")), TEMPLATE_WORK, &got);
    if (out && e) fail_msg("%.*s: %s", (int)name->text.len, name->text.ptr, error_text(e));
    if (out && !str_equal((Str){ got.ptr ? got.ptr : "", got.len }, out->text))
        fail_msg("%.*s: \"%s\", expected \"%.*s\"", (int)name->text.len, name->text.ptr, got.ptr,
                 (int)out->text.len, out->text.ptr);
    if (!out && !e) fail_msg("%.*s: accepted", (int)name->text.len, name->text.ptr);
    if (e) assert_contains(error_text(e), "line ");
    error_free(e);
    text_free(&got);
}

TEST(templates_render_as_jinja_does)
{
    Arena *a = arena_new();
    Str text;
    int n = 0;
    assert_no_error(file_read(a, "tests/template/cases.jsonl", &text));
    for (char *rest = (char *)text.ptr, *line; (line = strsep(&rest, "\n")) && *line; n++) {
        TemplateValue c;
        int64_t column;
        assert_no_error(value_from_json(a, str_of(line), &c, &column));
        run_case(a, c);
    }
    assert_true(n > 100);
    arena_free(a);
}

static void assert_refused(const char *source, int64_t work, const char *expected)
{
    Arena *a = arena_new();
    Text out = { 0 };
    assert_error_has(render(a, str_of(source), value_none(), work, &out), expected);
    text_free(&out);
    arena_free(a);
}

TEST(what_a_template_may_not_do_is_named_with_its_place)
{
    static const char *const row[][2] = {
        { "a\n  {% include 'x' %}", "line 2, column 6: the tag 'include' is not supported here; "
                                    "allowed are if, elif" },
        { "{{ x | urlize }}", "line 1, column 8: there is no filter 'urlize' here; allowed are" },
        { "ä{{ x is sameas(1) }}", "line 1, column 10: there is no test 'sameas' here" },
        { "{{ 'x'.encode() }}", "line 1, column 14: there is no method of text 'encode' here" },
        { "{{ x.__class__ }}", "line 1, column 6: names that begin with '_' are private" },
        { "{% for x in y recursive %}{% endfor %}", "'recursive' is not supported" },
        { "{{ f(*x) }}", "line 1, column 6: '*' in a call is not supported" },
        { "{% macro f() %}{{ caller() }}{% endmacro %}", "'caller' is not supported" },
        { "{{ [1].append(2) }}", "there is no method of lists 'append' here" },
        { "{{ {'items': 1}.items }}", "'items' is a method of a mapping: call it, or write" },
        { "{{ 'ß' | upper }}", "the case of 'ß' cannot be changed" },
        { "{{ 9223372036854775807 + 1 }}", "does not fit into 64 bits" },
        { "{{ [1] | map('string') | length }}", "a generator (| list makes a list of it)" },
        { "{% set g = [1] | select %}{{ g | list }}{{ g | list }}", "can be gone through once" },
        { "{{ '\xff' }}", "byte 4 of the template is no UTF-8" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_refused(row[i][0], TEMPLATE_WORK, row[i][1]);
}

TEST(a_template_cannot_run_grow_or_nest_without_bound)
{
    static const char *const row[][2] = {
        { "{% for x in range(99999) %}{% for y in range(99999) %}{% endfor %}{% endfor %}",
          "too much work" },
        { "{% set x = 'aaaaaaaa' * 100000000000 %}", "too much work" },
        { "{% set x = [1] * 4611686018427387904 %}", "too much work" },
        { "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}"
          "{% endfor %}",
          "too much work" },
        { "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}"
          "{% endfor %}{{ ns.x }}",
          "too much work" },
        { "{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}"
          "{% endfor %}{{ ns.x }}",
          "nested too deeply" },
        { "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested too deeply" },
        { "{{ 'a' | replace('', 'aaaaaaaaaaaaaaa' * 1000) | replace('a', 'b' * 100000) }}",
          "too much work" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_refused(row[i][0], 1 << 22, row[i][1]);
    Text deep = { 0 };
    for (int i = 0; i < 100000; i++) text_putc(&deep, '(');
    Text nested = { 0 };
    text_printf(&nested, "{{ %s", deep.ptr);
    assert_refused(nested.ptr, TEMPLATE_WORK, "without its end");
    text_printf(&nested, "1");
    for (int i = 0; i < 100000; i++) text_putc(&nested, ')');
    text_puts(&nested, "}}");
    assert_refused(nested.ptr, TEMPLATE_WORK, "nested more than");
    text_free(&deep);
    text_free(&nested);
}

TEST(lines_that_are_joined_still_count)
{
    Arena *a = arena_new();
    Template *t;
    Text out = { 0 };
    Str source = str_of("{{ 'a' }}\n{% if true %}\n{{ 'b' }}\n{% endif %}\nc\n{{ 'd' }}\n");
    assert_no_error(template_parse(a, source, true, &t));
    assert_no_error(template_render(t, NULL, 0, TEMPLATE_WORK, a, &out));
    assert_string_equal(out.ptr, "abc\nd");
    assert_error_has(template_parse(a, str_of("{{ 'a' }}\n{{ 'b' }}\n{{ ? }}"), true, &t),
                     "line 3, column 4: unexpected character '?'");
    text_free(&out);
    arena_free(a);
}

static void assert_json(const char *line, const char *expected)
{
    Arena *a = arena_new();
    TemplateValue v;
    int64_t column;
    Text out = { 0 };
    Meter m = { .work_left = 1 << 20, .depth_left = MOST_VALUE_DEPTH };
    assert_no_error(value_from_json(a, str_of(line), &v, &column));
    assert_no_error(value_to_json(&m, v, &json_plain, &out));
    assert_string_equal(out.ptr, expected);
    text_free(&out);
    arena_free(a);
}

TEST(json_is_written_as_python_writes_it)
{
    assert_json("{\"b\":1,\"a\":[1.50,1e3,-0,-0.0,1E400],\"b\":2}",
                "{\"b\": 2, \"a\": [1.5, 1000.0, 0, -0.0, Infinity]}");
    assert_json("[123456789012345678901234567890,-9223372036854775808,NaN,null,true]",
                "[123456789012345678901234567890, -9223372036854775808, NaN, null, true]");
    assert_json("\"\\u00e4\\ud83d\\ude00\\/\\b\\u0001\x7f\\n\\\"\"",
                "\"ä😀/\\b\\u0001\x7f\\n\\\"\"");
    assert_json("\xef\xbb\xbf [ ] ", "[]");
}

TEST(json_that_is_none_is_refused_at_its_byte)
{
    Arena *a = arena_new();
    TemplateValue v;
    int64_t column;
    assert_error_has(value_from_json(a, str_of("{\"a\": \"\\ud800\"}"), &v, &column), "surrogate");
    assert_int_equal(column, 7);
    arena_free(a);
}
