/* test_override.c - --set and loading of files. */
#include "config/config.h"
#include "test.h"
#include <string.h>

static Error *load(Arena *a, const char *text, const char *override, Yaml **out)
{
    const char *path = path_join(a, test_folder(), "x.yaml");
    assert_no_error(file_write(path, text, strlen(text)));
    const char *item[] = { override };
    return config_load(a, path, (StringList){ item, override != NULL }, &(ResolverContext){ 0 },
                       out);
}

static const char text[] = "a: {b: 1, c: [1, 2], d: \"${a.b}\"}\ne: x\n";

TEST(overrides_are_yaml_and_come_before_interpolation)
{
    Arena *a = arena_new();
    Yaml *root;
    assert_no_error(load(a, text, "a.b=2.5", &root));
    assert_true(yaml_find(root, "a.d")->number == 2.5);
    assert_no_error(load(a, text, "a.c[1]=${e}", &root));
    assert_string_equal(yaml_find(root, "a.c[1]")->text, "x");
    assert_no_error(load(a, text, "a.c=[7, {x: y}]", &root));
    assert_string_equal(yaml_find(root, "a.c[1].x")->text, "y");
    assert_no_error(load(a, text, "a.new=1", &root));
    assert_int_equal(yaml_find(root, "a.new")->integer, 1);
    assert_no_error(load(a, text, "new={component_key: x}", &root));
    assert_non_null(yaml_find(root, "new.component_key"));
    assert_no_error(load(a, text, "e=", &root));
    assert_int_equal(yaml_get(root, "e")->type, YAML_NULL);
    assert_string_equal(yaml_place(a, yaml_get(root, "e")), "--set e=");
    arena_free(a);
}

TEST(overrides_that_lead_nowhere_are_refused_with_the_nearest_name)
{
    static const char *const row[][2] = {
        { "setting.x=1",
          "--set setting.x=1: there is no \"setting\" in the file; did you mean \"settings\"?" },
        { "a.b.c=1", "a.b is an integer and has no \"c\"" },
        { "a.c[5]=1", "there is no \"5\" in a.c" },
        { "f=1", "there is no \"f\" in the file" },
        { "a.b", "the form is --set key.path=value" },
        { "=1", "the form is --set key.path=value" },
        { "a..b=1", "is no key path" },
        { "a.b={x: 1, x: 2}", "the key \"x\" is here twice" },
    };
    Arena *a = arena_new();
    Yaml *root;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Error *e = load(a, "a: {b: 1, c: [1]}\nsettings: {x: 1}\n", row[i][0], &root);
        assert_int_equal(error_exit_status(e), 2);
        assert_error_has(e, row[i][1]);
    }
    arena_free(a);
}

TEST(a_file_that_is_no_mapping_is_refused)
{
    Arena *a = arena_new();
    Yaml *root;
    assert_error_has(load(a, "[1, 2]\n", NULL, &root), "a configuration is a mapping, not a list");
    assert_error_has(
        config_load(a, "/nowhere.yaml", (StringList){ 0 }, &(ResolverContext){ 0 }, &root),
        "/nowhere.yaml");
    arena_free(a);
}
