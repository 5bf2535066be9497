/* test_interpolate.c - ${...}: values, relative keys, nesting, escapes, resolvers, and what fails
 * how.
 *
 * The expected values are those of OmegaConf 2.3. */
#include "config/interpolate.h"
#include "config/yaml_emit.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char base[] =
    "a: {b: 1, c: [10, 20, {d: x}], e: \"${.b}\", f: \"${..g}\"}\n"
    "g: hello\nh: null\ni: true\nj: 1.0e-05\nk: \"???\"\nkey: b\nn: {one: 1, two: \"${g}\"}\n";

static Error *resolve(Arena *a, const char *text, Yaml **out)
{
    static const Rank rank = { .rank = 3, .local_rank = 1, .world_size = 8 };
    static const ResolverContext context = { .rank = &rank,
                                             .config_file_path = "/cfg/x.yaml",
                                             .experiments_root_path = "exp",
                                             .experiment_id = "eid",
                                             .num_cpus = 2 };
    Yaml *root;
    TRY(yaml_parse(a, str_of(text), "x.yaml", &root));
    return interpolate(a, root, &context, out);
}

/* The document above with one more key, as JSON or as error. */
static void gives(const char *expression, const char *json)
{
    Arena *a = arena_new();
    Yaml *root;
    Error *e = resolve(a, arena_printf(a, "%sz: '%s'\n", base, expression), &root);
    if (e) fail_msg("%s: %s", expression, error_text(e));
    Text t = { 0 };
    yaml_emit_json(yaml_get(root, "z"), 0, &t);
    if (strcmp(t.ptr, json)) fail_msg("%s gives %s, expected %s", expression, t.ptr, json);
    text_free(&t);
    arena_free(a);
}

static void fails(const char *text, const char *part)
{
    Arena *a = arena_new();
    Yaml *root;
    assert_error_has(resolve(a, text, &root), part);
    arena_free(a);
}

TEST(interpolations_give_the_values_of_omegaconf)
{
    unsetenv("NOPE");
    setenv("FOO", "bar", 1);
    static const char *const row[][2] = {
        { "${a.b}", "1" },
        { "${a.b}\\\\", "\"1\\\\\\\\\"" }, /* what is not before ${ stays */
        { "${a.c[0]}", "10" },
        { "${a.c.1}", "20" },
        { "${a[c][2][d]}", "\"x\"" },
        { "${a.c}", "[10, 20, {\"d\": \"x\"}]" },
        { "${.g}", "\"hello\"" },
        { "${a.${key}}", "1" },
        { "x${a.b}y", "\"x1y\"" },
        { "${h}${i}${j}", "\"NoneTrue1e-05\"" },
        { "${h}", "null" },
        { "${ a.b }", "1" },
        { "\\${a.b}", "\"${a.b}\"" },
        { "\\\\${a.b}", "\"\\\\1\"" },
        { "x\\y${a.b}", "\"x\\\\y1\"" },
        { "no \\ interpolation $ here", "\"no \\\\ interpolation $ here\"" },
        { "${n}", "{\"one\": 1, \"two\": \"hello\"}" },
        { "${a.c}x", "\"[10, 20, {'d': 'x'}]x\"" },
        { "${oc.env:FOO}", "\"bar\"" },
        { "${oc.env:NOPE,5}", "\"5\"" },
        { "${oc.env:NOPE,null}", "null" },
        { "${oc.env:NOPE, a b }", "\"a b\"" },
        { "${oc.env:NOPE,\"x, y\"}", "\"x, y\"" },
        { "${oc.env:NOPE,${g}-x}", "\"hello-x\"" },
        { "${oc.env:${oc.env:NOPE,FOO}}", "\"bar\"" },
        { "${oc.decode:\"[1,2.5,a]\"}", "[1, 2.5, \"a\"]" },
        { "${oc.decode:\"{a: 1}\"}", "{\"a\": 1}" },
        { "${oc.select:nope,7}", "7" },
        { "${oc.select:a.b}", "1" },
        { "${oc.select:nope}", "null" },
        { "${oc.create:[1,x]}", "[1, \"x\"]" },
        { "${oc.dict.keys:n}", "[\"one\", \"two\"]" },
        { "${oc.dict.values:n}", "[1, \"hello\"]" },
        { "${oc.deprecated:g}", "\"hello\"" },
        { "${modalities_env:config_folder_path}", "\"/cfg\"" },
        { "${modalities_env:experiments_root_path}/${modalities_env:experiment_id}",
          "\"exp/eid\"" },
        { "${node_env:num_cpus}", "2" },
        { "${node_env:other}", "null" },
        { "${cuda_env:NOPE}", "null" },
        { "${cuda_env:FOO}", "\"bar\"" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) gives(row[i][0], row[i][1]);
}

TEST(ranks_are_those_of_the_context)
{
    gives("${cuda_env:RANK}", "3");
    gives("${cuda_env:LOCAL_RANK}", "1");
    gives("${cuda_env:WORLD_SIZE}", "8");
}

TEST(text_from_outside_is_not_interpolated_again)
{
    setenv("FOO", "${g}", 1);
    gives("${oc.env:FOO}", "\"${g}\"");
    gives("${oc.env:NOPE,\"\\${a.b}\"}", "\"${a.b}\"");
}

TEST(relative_keys_mean_what_they_mean_at_home)
{
    Arena *a = arena_new();
    Yaml *root;
    assert_no_error(resolve(
        a, "g: 1\nc: {d: \"${.e}\", f: \"${..g}\", e: 4}\nh: {i: \"${c}\", g: 2}\n", &root));
    assert_int_equal(yaml_find(root, "h.i.d")->integer, 4);
    assert_int_equal(yaml_find(root, "h.i.f")->integer, 1);
    const Yaml *copied = yaml_find(root, "h.i");
    assert_string_equal(yaml_place(a, copied), "x.yaml:3:8");
    assert_string_equal(yaml_place(a, copied->from), "x.yaml:2:4");
    arena_free(a);
}

TEST(failures_name_key_place_and_nearest_name)
{
    fails("model: {n_layer: 1}\nz: ${model.n_laeyr}\n",
          "x.yaml:2:4: z: there is no key \"n_laeyr\" in model; did you mean \"n_layer\" (line 1)? "
          "(in "
          "\"${model.n_laeyr}\")");
    fails("a: ${b}\nb: ${c}\nc: ${a}\n", "the value depends on itself: a -> b -> c -> a");
    fails("a: {b: \"${a}\"}\n", "the value depends on itself");
    fails("a: [x, \"${b}\"]\nb: {c: \"${a}\"}\n", "the value depends on itself");
    fails("a: ${oc.evn:X}\n", "there is no resolver \"oc.evn\"; did you mean \"oc.env\"?");
    fails("a: ${oc.env:NOPE}\n", "the environment variable NOPE is not set");
    fails("a: ${b\n", "is malformed at character 4: \"}\" is expected");
    fails("a: ${oc.env}\n", "there is no key \"oc\"");
    fails("a: ${oc.env:'x}\n", "a quote is not closed");
    fails("a: ${modalities_env:experiment}\n", "did you mean \"experiment_id\"?");
    fails("a: ${warmstart_env:checkpoint_paths}\n",
          "only when the program resumes from a checkpoint");
    fails("a: \"???\"\nb: ${a}\n", "a value that must be set first");
    fails("a: ${cuda_env:RANK,1}\n", "cuda_env takes 1 argument, not 2");
}

TEST(all_failures_are_reported_at_once)
{
    Arena *a = arena_new();
    Yaml *root;
    Error *e = resolve(a, "a: ${x}\nb: ${y}\nc: ${a}\n", &root);
    assert_non_null(strstr(error_text(e), "x.yaml:1:4"));
    assert_non_null(strstr(error_text(e), "x.yaml:2:4"));
    assert_null(strstr(error_text(e), "x.yaml:3:4")); /* c only follows a */
    error_free(e);
    arena_free(a);
}

static Error *twice(void *context, Arena *a, int64_t n, Yaml *const *arg, Yaml **out)
{
    (void)context;
    if (n != 1 || arg[0]->type != YAML_INT) return error_new("twice takes an integer");
    *out = yaml_int(a, 2 * arg[0]->integer);
    return NULL;
}

TEST(further_resolvers_can_be_given)
{
    Arena *a = arena_new();
    Yaml *root, *out;
    const Resolver more[] = { { "twice", twice, NULL }, { 0 } };
    assert_no_error(yaml_parse(a, str_of("a: 21\nb: ${twice:${a}}\n"), "x.yaml", &root));
    assert_no_error(interpolate(a, root, &(ResolverContext){ .more = more }, &out));
    assert_int_equal(yaml_get(out, "b")->integer, 42);
    arena_free(a);
}

TEST(interpolations_cannot_grow_without_bound)
{
    Text t = { 0 };
    text_puts(&t, "a0: [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        text_printf(&t, "a%d: [", i);
        for (int k = 0; k < 10; k++) text_printf(&t, "%s\"${a%d}\"", k ? ", " : "", i - 1);
        text_puts(&t, "]\n");
    }
    fails(t.ptr, "more than 1000000 nodes after interpolation");
    text_free(&t);
}

TEST(texts_cannot_double_without_bound)
{
    Text t = { 0 };
    text_puts(&t, "a0: xxxxxxxxxxxxxxxx\n");
    for (int i = 1; i <= 40; i++) text_printf(&t, "a%d: \"${a%d}${a%d}\"\n", i, i - 1, i - 1);
    fails(t.ptr, "x.yaml:22:6: a21: more than 64 MiB of text after interpolation");
    text_clear(&t);
    text_puts(&t, "a: ");
    for (int i = 0; i < 100000; i++) text_putc(&t, 'x');
    text_puts(&t, "\nb: \"${oc.create:[");
    for (int i = 0; i < 10000; i++) text_puts(&t, i ? ",${a}" : "${a}");
    text_puts(&t, "]}\"\n");
    fails(t.ptr, "more than 64 MiB of text after interpolation");
    text_free(&t);
}

TEST(thousands_of_failures_are_counted_but_not_told)
{
    Text t = { 0 };
    for (int i = 0; i < 20000; i++) text_printf(&t, "a%d: ${b%d}\n", i, i);
    fails(t.ptr, "and 19500 more");
    text_free(&t);
}

/* Each key was compared with all before it: half a minute. */
TEST(many_keys_take_time_in_proportion)
{
    enum { N = 200000 };
    Arena *a = arena_new();
    Text t = { 0 };
    Yaml *root;
    for (int i = 0; i < N; i++) text_printf(&t, i % 2 ? "k%d: ${k%d}\n" : "k%d: 1\n", i, i - 1);
    clock_t start = clock();
    assert_no_error(resolve(a, t.ptr, &root));
    assert_int_equal(yaml_get(root, "k199999")->integer, 1);
    assert_null(yaml_get(root, "k200000"));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 15) fail_msg("%d keys took %.1f s", N, seconds);
    text_clear(&t);
    for (int i = 0; i < N; i++) text_printf(&t, "k%d: 1\n", i);
    text_puts(&t, "k77: 2\n");
    assert_error_has(
        yaml_parse(a, str_of(t.ptr), "x.yaml", &root),
        "x.yaml:200001:1: the key \"k77\" is here twice; it was set in line 78 before");
    text_free(&t);
    arena_free(a);
}
