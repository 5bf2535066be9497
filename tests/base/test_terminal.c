/* test_terminal.c - the locale, the width, and files added to. */
#include "base/terminal.h"
#include "test.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

TEST(the_first_locale_variable_that_is_set_decides)
{
    setenv("LC_ALL", "", 1);
    setenv("LC_CTYPE", "C", 1);
    setenv("LANG", "en_US.UTF-8", 1);
    assert_false(terminal_is_utf8());
    setenv("LC_ALL", "de_DE.utf8", 1);
    assert_true(terminal_is_utf8());
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    assert_true(terminal_is_utf8());
}

TEST(a_file_is_no_terminal)
{
    setenv("TERM", "xterm", 1);
    setenv("COLUMNS", "123", 1);
    assert_false(is_terminal(1)); /* the runner's output is a file */
    assert_string_equal(terminal_erase(1), "");
    assert_int_equal(terminal_width(1), 123);
    setenv("COLUMNS", "wide", 1);
    assert_int_equal(terminal_width(1), 80);
}

TEST(a_file_that_cannot_grow_keeps_its_old_length)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "lines");
    assert_no_error(file_append(path, "one\n", 4));
    assert_no_error(file_append(path, "two\n", 4));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){ .rlim_cur = 10, .rlim_max = old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    Error *e = file_append(path, "three\n", 6);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_error_has(e, "lines");
    Str text;
    assert_no_error(file_read(a, path, &text));
    assert_string_equal(text.ptr, "one\ntwo\n");
    assert_error_has(file_append(test_folder(), "x", 1), "cannot open");
    arena_free(a);
}

TEST(counts_are_shown_with_three_digits)
{
    static const struct {
        double n;
        const char *text;
    } row[] = { { 0, "0" },          { 3.7, "3.70" },      { 950, "950" },     { 999.4, "999" },
                { 999.6, "1.00k" },  { 12345, "12.3k" },   { 99949, "99.9k" }, { 123456, "123k" },
                { 999600, "1.00M" }, { 1.237e9, "1.24G" }, { -1500, "-1.50k" } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[32];
        format_count(row[i].n, text);
        assert_string_equal(text, row[i].text);
    }
}
