/* test_standard_output.c - a command whose output is cut short does not end with 0. */
#include "cli/command_line.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Runs the program in a shell with this redirection; returns the exit status. */
static int run_to(Arena *a, const char *args, const char *redirection, const char **said)
{
    const char *path = path_join(a, test_folder(), "said");
    Str text;
    int status =
        system(arena_printf(a, "exec %s %s 2> %s %s", program_path(), args, path, redirection));
    assert_no_error(file_read(a, path, &text));
    *said = text.ptr;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fails_to(const char *args, const char *redirection, const char *part)
{
    Arena *a = arena_new();
    const char *said;
    int status = run_to(a, args, redirection, &said);
    if (status != 1) fail_msg("%s %s: exit status %d: %s", args, redirection, status, said);
    assert_contains(said, part);
    arena_free(a);
}

/* Short texts fail when they are flushed at the end, long ones before that. */
TEST(a_full_disk_behind_standard_output_is_an_error)
{
    static const char *const pages[] = { "commands", "components", "ops", "schema" };
    for (int i = 0; i < 4; i++) {
        char args[64];
        snprintf(args, sizeof args, "docs %s", pages[i]);
        fails_to(args, "> /dev/full", "standard output: ");
    }
    fails_to("--help", "> /dev/full", "standard output: ");
}

TEST(a_long_configuration_resolved_to_a_full_disk_is_an_error)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "long.yaml");
    Text yaml = { 0 };
    for (int i = 0; i < 2000; i++) text_printf(&yaml, "key_%d: some text that takes space\n", i);
    assert_no_error(file_write(path, yaml.ptr, yaml.len));
    const char *args = arena_printf(a, "config resolve --config_file_path %s", path);
    fails_to(args, "> /dev/full", "standard output: ");
    fails_to(arena_printf(a, "%s --format json", args), "> /dev/full", "standard output: ");
    fails_to(args, ">&-", "standard output: ");
    text_free(&yaml);
    arena_free(a);
}

/* All commands: their help stands for what they print. */
TEST(no_command_ends_well_where_its_standard_output_is_full)
{
    Arena *a = arena_new();
    const char *page;
    assert_int_equal(command_line_run(a, "docs commands", &page), 0);
    for (const char *at = page; (at = strstr(at, "\n## "));) {
        at += 4;
        const char *name = arena_string_n(a, at, strcspn(at, "\n"));
        fails_to(arena_printf(a, "%s --help", name), "> /dev/full", "standard output: ");
    }
    arena_free(a);
}

/* What is printed must not go to the file that gets the number of the closed stream. */
TEST(a_closed_standard_stream_is_no_file_that_is_opened_later)
{
    Arena *a = arena_new();
    const char *said, *folder = test_folder(), *source = path_join(a, folder, "c.jsonl");
    assert_no_error(file_write(source, "{\"text\": \"a\"}\n", 14));
    const char *args = arena_printf(a, "data create_raw_index %s", source);
    const char *again = " --file_existence_policy override";
    assert_int_equal(run_to(a, args, "", &said), 0);
    Str expected, got;
    assert_no_error(file_read(a, path_join(a, folder, "c.idx"), &expected));
    args = arena_printf(a, "%s%s", args, again);
    for (int i = 0; i < 3; i++) {
        static const char *const closed[] = { ">&-", "<&-", "<&- >&- 2>&-" };
        assert_int_equal(run_to(a, args, closed[i], &said), 0); /* it prints nothing there */
        assert_no_error(file_read(a, path_join(a, folder, "c.idx"), &got));
        assert_int_equal(got.len, expected.len);
        assert_memory_equal(got.ptr, expected.ptr, got.len);
    }
    arena_free(a);
}
