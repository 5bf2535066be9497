/* test_fifo.c - pipes by name: read where standard input is, refused elsewhere, and never waited
 * for after a stop. */
#include "base/text_input.h"
#include "test.h"
#include "tokenizer/small_tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *fifo(Arena *a)
{
    const char *path = path_join(a, test_folder(), "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    return path;
}

TEST(a_fifo_is_read_as_standard_input_is)
{
    Arena *a = arena_new();
    const char *path = fifo(a);
    TextInput input;
    assert_int_equal(
        system(arena_printf(a, "(sleep 0.3; printf 'one\\ntwo\\n'; sleep 0.3; echo three) > %s &",
                            path)),
        0);
    assert_no_error(text_input_open(a, path, path_join(a, test_folder(), "beside"), &input));
    assert_int_equal(input.text.len, 14);
    assert_memory_equal(input.text.ptr, "one\ntwo\nthree\n", 14);
    arena_free(a);
}

/* It waited for a writer. */
TEST(a_fifo_where_a_file_is_needed_is_refused_without_waiting)
{
    Arena *a = arena_new();
    const char *path = fifo(a);
    Str text;
    assert_error_has(file_view(a, path, &text), "it is a pipe; a file is needed");
    assert_error_has(file_read(a, path, &text), "it is a pipe; a file is needed");
    arena_free(a);
}

TEST(a_fifo_without_a_writer_does_not_outlast_a_stop)
{
    Arena *a = arena_new();
    const char *path = fifo(a), *log = path_join(a, test_folder(), "said");
    /* `timeout` kills 5 seconds after the stop; its status is 124 only when it need not */
    int status = system(arena_printf(a,
                                     "timeout -k 5 -s TERM 1 %s data create_raw_index %s "
                                     "--index_path %s.idx > %s 2>&1",
                                     program_path(), path, path, log));
    Str said;
    assert_int_equal(WEXITSTATUS(status), 124);
    assert_no_error(file_read(a, log, &said));
    assert_contains(said.ptr, "pipe: stopped by a signal");
    arena_free(a);
}

/* Nobody types what is to be encoded or decoded. */
TEST(a_standard_input_without_a_writer_does_not_outlast_a_stop)
{
    static const char *const commands[] = { "encode", "decode" };
    static const char *const merges[] = { "a b", NULL };
    Arena *a = arena_new();
    const char *path = fifo(a), *tokenizer = small_tokenizer(a, merges, "[]"),
               *out = path_join(a, test_folder(), "out");
    for (int k = 0; k < 2; k++) {
        const char *line = arena_printf(a,
                                        "exec 7<>%s; timeout -k 5 -s TERM 1 %s tokenizer %s "
                                        "--tokenizer %s --output_path %s <&7",
                                        path, program_path(), commands[k], tokenizer, out);
        assert_int_equal(WEXITSTATUS(system(line)), 124);
        assert_false(file_exists(out));
    }
    arena_free(a);
}
