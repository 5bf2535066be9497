/* test_lost_pages.c - a mapped file that becomes shorter is named. */
#include "base/file.h"
#include "base/lost_pages.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Maps two files, cuts the second one short, and reads its last byte. */
static void read_what_is_gone(const char *path, const char *said)
{
    FileMap other, map;
    if (!freopen(said, "w", stderr)) _exit(99);
    lost_pages_catch();
    if (file_map("/proc/self/exe", &other) || file_map(path, &map)) _exit(99);
    if (truncate(path, 100) != 0) _exit(99);
    _exit(*(volatile const char *)(map.ptr + map.len - 1));
}

TEST(reading_a_mapped_file_that_became_shorter_is_an_error_that_names_it)
{
    enum { BYTES = 100000 };
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "a file"),
               *said = path_join(a, test_folder(), "said");
    char *bytes = arena_alloc(a, BYTES);
    int status;
    Str text;
    assert_no_error(file_write(path, bytes, BYTES));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) read_what_is_gone(path, said);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_no_error(file_read(a, said, &text));
    const char *expected =
        "a file: the file became shorter while it was read, or its disk failed\n";
    assert_contains(text.ptr, expected);
    assert_int_equal(strncmp(text.ptr, "cannot read /", 13), 0);
    arena_free(a);
}
