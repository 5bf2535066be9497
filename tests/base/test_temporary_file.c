/* test_temporary_file.c - files in the making: never over another file, and swept when their writer
 * is dead. */
#include "base/temporary_file.h"
#include "end_to_end/kill_inputs.h"
#include "test.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char DEAD[] = "x.tmp.0123456789ab";

static int count_files(const char *part)
{
    Arena *a = arena_new();
    PathList files = { 0 };
    int n = 0;
    assert_no_error(files_below(a, test_folder(), "", &files));
    for (int64_t i = 0; i < files.n; i++) n += strstr(path_name(files.item[i]), part) != NULL;
    arena_free(a);
    return n;
}

static void write_x(Arena *a)
{
    assert_no_error(file_write(kill_path(a, "x"), "new", 3));
}

TEST(a_dead_writers_file_is_swept_and_a_living_ones_is_not)
{
    Arena *a = arena_new();
    NewFile mine;
    kill_put(a, DEAD, str_of("old"));
    assert_no_error(file_create(kill_path(a, "x"), &mine));
    assert_int_equal(count_files("x.tmp."), 1);
    assert_false(file_exists(kill_path(a, DEAD)));
    write_x(a); /* another writer of the same file */
    assert_int_equal(count_files("x.tmp."), 1);
    fputs("mine", mine.stream);
    assert_no_error(file_commit(&mine));
    assert_int_equal(count_files("x.tmp."), 0);
    Str got;
    assert_no_error(file_read(a, kill_path(a, "x"), &got));
    assert_string_equal(got.ptr, "mine");
    /* the lock says who lives: the number of a process says nothing */
    kill_put(a, DEAD, str_of("old"));
    int fd = open(kill_path(a, DEAD), O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    write_x(a);
    assert_true(file_exists(kill_path(a, DEAD)));
    close(fd);
    write_x(a);
    assert_false(file_exists(kill_path(a, DEAD)));
    arena_free(a);
}

TEST(files_of_others_are_not_swept)
{
    static const char *const others[] = {
        "x.tmp.backup",       "x.tmp.1234",  "x.tmp",
        "x.tmp.0123456789aB", "x.y.tmp.012", "xx.tmp.0123456789ab"
    };
    Arena *a = arena_new();
    for (int i = 0; i < 6; i++) kill_put(a, others[i], str_of("a user's"));
    kill_put(a, "kept", str_of("a user's"));
    assert_int_equal(symlink(kill_path(a, "kept"), kill_path(a, "x.tmp.111111111111")), 0);
    assert_int_equal(link(kill_path(a, "kept"), kill_path(a, "x.tmp.222222222222")), 0);
    assert_int_equal(mkfifo(kill_path(a, "x.tmp.333333333333"), 0600), 0);
    write_x(a);
    for (int i = 0; i < 6; i++) assert_true(file_exists(kill_path(a, others[i])));
    assert_true(file_exists(kill_path(a, "x.tmp.111111111111")));
    assert_true(file_exists(kill_path(a, "x.tmp.222222222222")));
    assert_true(file_exists(kill_path(a, "x.tmp.333333333333")));
    arena_free(a);
}

TEST(a_name_that_is_taken_is_tried_again)
{
    Arena *a = arena_new();
    const char *said;
    kill_put(a, "c.jsonl", str_of("{\"text\": 1}\n"));
    assert_int_equal(kill_run(a, "", "CRASH_AT=create:1 CRASH_MODE=EEXIST",
                              "data create_raw_index c.jsonl", &said),
                     0);
    assert_true(file_exists(kill_path(a, "c.idx")));
    /* another reason is none to try again */
    kill_put(a, "d.jsonl", str_of("{\"text\": 1}\n"));
    assert_int_equal(kill_run(a, "", "CRASH_AT=create:1 CRASH_MODE=EACCES",
                              "data create_raw_index d.jsonl", &said),
                     1);
    assert_contains(said, "Permission denied");
    assert_false(file_exists(kill_path(a, "d.idx")));
    arena_free(a);
}

TEST(what_a_killed_command_left_is_swept_by_the_next_one)
{
    Arena *a = arena_new();
    const char *said;
    kill_put(a, "c.jsonl", str_of("{\"text\": 1}\n"));
    assert_int_equal(kill_run(a, "", "CRASH_AT=rename:1", "data create_raw_index c.jsonl", &said),
                     128 + SIGKILL);
    assert_int_equal(count_files("c.idx.tmp."), 1);
    kill_must(a, "data create_raw_index c.jsonl");
    assert_int_equal(count_files("c.idx.tmp."), 0);
    arena_free(a);
}

/* ---- files that grow under a name that can be guessed ---- */

static void is_in_the_way(Arena *a, const char *name, const char *why)
{
    const char *said, *args = "data shuffle_jsonl_data --input_data_path c.jsonl "
                              "--output_data_path out.jsonl --seed 1";
    Str kept;
    assert_int_equal(kill_run(a, "", "", args, &said), 1);
    assert_contains(said, name);
    assert_contains(said, why);
    assert_no_error(file_read(a, kill_path(a, "kept"), &kept));
    assert_string_equal(kept.ptr, "a user's");
    assert_int_equal(unlink(kill_path(a, name)), 0);
    kill_must(a, args);
    assert_int_equal(unlink(kill_path(a, "out.jsonl")), 0);
}

TEST(a_growing_file_takes_no_link_and_no_other_kind_of_file)
{
    Arena *a = arena_new();
    kill_put(a, "c.jsonl", str_of("{\"text\": 1}\n{\"text\": 2}\n"));
    kill_put(a, "kept", str_of("a user's"));
    const char *partial = kill_path(a, "out.jsonl.partial"), *kept = kill_path(a, "kept");
    assert_int_equal(symlink(kept, partial), 0);
    is_in_the_way(a, "out.jsonl.partial", "it is a symbolic link");
    assert_int_equal(symlink(kill_path(a, "nowhere"), partial), 0);
    is_in_the_way(a, "out.jsonl.partial", "it is a symbolic link");
    assert_false(file_exists(kill_path(a, "nowhere")));
    assert_int_equal(link(kept, partial), 0);
    is_in_the_way(a, "out.jsonl.partial", "it has another name, too");
    assert_int_equal(mkfifo(partial, 0600), 0);
    is_in_the_way(a, "out.jsonl.partial", "it is no regular file");
    if (geteuid() == 0) {
        kill_put(a, "out.jsonl.partial", str_of("another user's"));
        assert_int_equal(chown(partial, 65534, 65534), 0);
        is_in_the_way(a, "out.jsonl.partial", "it belongs to another user");
    }
    arena_free(a);
}
