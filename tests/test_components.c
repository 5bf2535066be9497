/* test_components.c - the registry takes every built-in component. */
#include "components.h"
#include "test.h"

TEST(every_component_registers_with_a_sound_table)
{
    Arena *a = arena_new();
    Registry *r;
    assert_no_error(components_registry(a, &r));
    assert_true(registry_count(r) > 10);
    arena_free(a);
}
