/* test_later.c - no line of tests/golden_later.txt is stale. */
#include "golden.h"

TEST(every_line_of_golden_later_holds_back_a_case)
{
    Arena *a = arena_new();
    shared_path(a, "");
    const char *pattern = golden_without_case(a);
    if (pattern) fail_msg("no case matches \"%s\" of tests/golden_later.txt", pattern);
    arena_free(a);
}
