/* test_table.c - columns that line up, and what gives way where the width does not suffice. */
#include "monitor/table.h"
#include "test.h"

static const char *write(Arena *a, const Table *t, int width)
{
    Text text = { 0 };
    table_write(t, width, &text);
    const char *made = arena_string(a, text.ptr);
    text_free(&text);
    return made;
}

TEST(columns_line_up_and_give_way_from_the_right)
{
    Arena *a = arena_new();
    Table t = { .arena = a, .n_columns = 4, .left = 1 };
    table_add(&t, (const char *const[]){ "run", "steps", "", "loss" });
    table_add(&t, (const char *const[]){ "2026-01-31__12-00-00_übung", "1", "", "2.5" });
    assert_string_equal(write(a, &t, 80), "run                         steps  loss\n"
                                          "2026-01-31__12-00-00_übung      1   2.5\n");
    assert_string_equal(write(a, &t, 33), "run                   steps  loss\n"
                                          "2026-01-3~0-00_übung      1   2.5\n");
    assert_string_equal(write(a, &t, 20), "run            steps\n"
                                          "2026-0~_übung      1\n");
    arena_free(a);
}
