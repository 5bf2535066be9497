/* test_prompt_template.c - names, braces and answers. */
#include "test.h"
#include "train/prompt_template.h"

/* The text filled with answers, or NULL when it is refused. */
static const char *fill(Arena *a, const char *text, int n_names, const char *const *answer)
{
    PromptTemplate t;
    assert_no_error(prompt_template_parse(a, text, &t));
    assert_int_equal(t.n_names, n_names);
    return prompt_template_fill(a, &t, answer);
}

TEST(a_template_asks_for_its_names_in_order)
{
    Arena *a = arena_new();
    PromptTemplate t;
    assert_no_error(prompt_template_parse(a, "{first}, {second name}: {first}", &t));
    assert_int_equal(t.n_names, 3);
    assert_string_equal(t.name[0], "first");
    assert_string_equal(t.name[1], "second name");
    assert_string_equal(t.name[2], "first");
    arena_free(a);
}

TEST(a_template_is_filled_with_answers)
{
    Arena *a = arena_new();
    const char *const answer[] = { "x", "y{}", "z" };
    assert_string_equal(fill(a, "{a}", 1, answer), "x");
    assert_string_equal(fill(a, "<{a}|{b}>", 2, answer), "<x|y{}>");
    assert_string_equal(fill(a, "{a}{b}{a}", 3, answer), "zy{}z"); /* the last answer counts */
    assert_string_equal(fill(a, "{{a}} {a}}}{{", 1, answer), "{a} x}{");
    assert_string_equal(fill(a, "no names", 0, answer), "no names");
    assert_string_equal(fill(a, "", 0, answer), "");
    arena_free(a);
}

TEST(a_template_with_wrong_braces_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "ab {x", "\"{\" at character 4 is not closed" },
        { "a}b", "\"}\" at character 2 closes nothing" },
        { "{}", "\"{}\" at character 1: allowed are {name}" },
        { "a{x.y}", "\"{x.y}\" at character 2" },
        { "{x[0]}", "\"{x[0]}\" at character 1" },
        { "{x!r}", "\"{x!r}\"" },
        { "{x:>10}", "\"{x:>10}\"" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        PromptTemplate t;
        assert_error_has(prompt_template_parse(a, cases[i].text, &t), cases[i].message);
    }
    arena_free(a);
}
