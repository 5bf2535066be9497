/* test_components.c - the registry takes every built-in component, and has those of the original.
 */
#include "base/file.h"
#include "components.h"
#include "test.h"
#include <string.h>

TEST(every_component_registers_with_a_sound_table)
{
    Arena *a = arena_new();
    Registry *r;
    assert_no_error(components_registry(a, &r));
    assert_true(registry_count(r) > 10);
    arena_free(a);
}

TEST(components_of_the_original_are_all_here)
{
    enum { ORIGINAL = 94 };
    Arena *a = arena_new();
    Registry *r;
    Str list;
    int n = 0, n_here = 0;
    assert_no_error(components_registry(a, &r));
    assert_no_error(file_read(a, "tests/original_components.txt", &list));
    char *rest = arena_string(a, list.ptr);
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *dot = strchr(line, '.');
        const ComponentDef *def;
        if (line[0] == '#' || !dot) continue;
        *dot = 0;
        n++;
        Error *e = registry_find(r, line, dot + 1, &def);
        if (e) printf("%s.%s: %s\n", line, dot + 1, error_text(e));
        n_here += !e;
        error_free(e);
    }
    test_note("%d of %d components of the original", n_here, n);
    assert_int_equal(n, ORIGINAL);
    assert_int_equal(n_here, ORIGINAL);
    arena_free(a);
}
