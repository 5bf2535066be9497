/* test_resumable.c - finished parts: found again, checked, refused when anything differs. */
#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/signal.h"
#include "data/resumable.h"
#include "data/resumable_state.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DATA, COUNTS, STEPS = 24 };
static const char IDENTITY[] = "work: testing\nsetting: 1\n";

static const char *at(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

/* What step i adds: up to three blocks. */
static Str bytes_of_step(Arena *a, int i)
{
    size_t n = (size_t)(rng_bits(7, (uint64_t)i) % (3 * STREAM_BLOCK));
    if (i % 5) n %= 300;
    char *bytes = arena_alloc(a, n + 1);
    for (size_t k = 0; k < n; k++) bytes[k] = (char)(i + (int)k % 251);
    return (Str){ bytes, n };
}

static Error *open_output(Arena *a, const char *identity, Resumable **out)
{
    const OutputStream stream[] = {
        [DATA] = { .path = at(a, "out"), .header = 5 }, [COUNTS] = { .suffix = ".counts" }
    };
    return resumable_open(at(a, "out"), identity, stream, 2, out);
}

/* As threads do: the second half is written before the first one. */
static Error *write_halves(Resumable *r, Str bytes)
{
    size_t half = bytes.len / 2;
    int64_t at = resumable_reserve(r, DATA, bytes.ptr, half),
            behind = resumable_reserve(r, DATA, bytes.ptr + half, bytes.len - half);
    TRY(resumable_write(r, DATA, bytes.ptr + half, bytes.len - half, behind));
    return resumable_write(r, DATA, bytes.ptr, half, at);
}

/* The steps from where the output is up to `end`; the first number counts them. Half of the runs
 * write for themselves. */
static Error *work(Arena *a, Resumable *r, int end)
{
    for (int i = (int)resumable_numbers(r)[0]; i < end; i++) {
        Str bytes = bytes_of_step(a, i);
        int64_t number[MOST_NUMBERS] = { i + 1, -i };
        TRY(end % 2 ? resumable_add(r, DATA, bytes.ptr, bytes.len) : write_halves(r, bytes));
        TRY(resumable_add(r, COUNTS, &i, sizeof i));
        TRY(resumable_reach(r, number));
    }
    return NULL;
}

static Error *finish(Resumable *r)
{
    FILE *tail;
    TRY(resumable_write_header(r, DATA, "head:", 5));
    TRY(resumable_tail(r, &tail));
    fputs("tail", tail);
    fclose(tail);
    return resumable_commit(r);
}

static void assert_whole(Arena *a)
{
    Str got;
    assert_no_error(file_read(a, at(a, "out"), &got));
    const char *p = got.ptr;
    assert_memory_equal(p, "head:", 5);
    p += 5;
    for (int i = 0; i < STEPS; i++) {
        Str bytes = bytes_of_step(a, i);
        assert_true(bytes.len <= got.len - (size_t)(p - got.ptr));
        assert_memory_equal(p, bytes.ptr, bytes.len);
        p += bytes.len;
    }
    assert_string_equal(p, "tail");
    PathList left = { 0 };
    assert_no_error(files_below(a, test_folder(), "", &left));
    assert_int_equal(left.n, 1);
}

/* Works in a process of its own that dies after step `end`. */
static void die_at(Arena *a, const char *part_bytes, int end)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        Resumable *r;
        setenv("MODALITIES_PART_BYTES", part_bytes, 1);
        Error *e = open_output(a, IDENTITY, &r);
        if (!e) e = work(a, r, end);
        if (e) fprintf(stderr, "%s\n", error_text(e));
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

TEST(a_killed_work_goes_on_behind_its_finished_parts)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    static const char *const part_bytes[] = { "1", "1000", "3000000" };
    for (int k = 0; k < 3; k++)
        for (int end = 1; end < STEPS; end += 12) {
            Resumable *r;
            die_at(a, part_bytes[k], end);
            assert_no_error(open_output(a, IDENTITY, &r));
            int64_t n = resumable_numbers(r)[0];
            assert_int_equal(resumable_numbers(r)[1], n ? 1 - n : 0);
            assert_int_equal(resumable_bytes(r, COUNTS), n * (int64_t)sizeof(int));
            assert_true(n <= end);
            /* A part needs bytes: waiting for the thread leaves at most the last four open. */
            if (k == 0) assert_true(n >= end - 5);
            if (k == 0) assert_true(resumable_parts(r) >= n - 5);
            assert_no_error(work(a, r, STEPS));
            assert_no_error(finish(r));
            assert_whole(a);
            assert_no_error(remove_tree(at(a, "out")));
        }
    arena_free(a);
}

/* The work does not wait for the disk. */
TEST(parts_are_made_by_a_thread_beside_the_work)
{
    Arena *a = arena_new();
    Resumable *r;
    assert_int_equal(setenv("MODALITIES_PART_BYTES", "1", 1), 0);
    assert_no_error(open_output(a, IDENTITY, &r));
    assert_false(r->has_thread);
    assert_no_error(work(a, r, STEPS));
    assert_true(r->has_thread);
    assert_false(pthread_equal(r->thread, pthread_self()));
    assert_no_error(finish(r));
    assert_whole(a);
    arena_free(a);
}

/* A work that is killed again and again gets there. */
TEST(a_work_may_be_killed_many_times)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    Resumable *r;
    for (int end = 5; end < STEPS; end += 5) die_at(a, "1", end);
    assert_no_error(open_output(a, IDENTITY, &r));
    assert_true(resumable_numbers(r)[0] >= STEPS - 10);
    assert_no_error(work(a, r, STEPS));
    assert_no_error(finish(r));
    assert_whole(a);
    arena_free(a);
}

static int64_t found_after(Arena *a, const char *identity)
{
    Resumable *r;
    assert_no_error(open_output(a, identity, &r));
    int64_t n = resumable_numbers(r)[0];
    assert_int_equal(resumable_bytes(r, COUNTS), n * (int64_t)sizeof(int));
    assert_no_error(work(a, r, STEPS));
    assert_no_error(finish(r));
    assert_whole(a);
    assert_no_error(remove_tree(at(a, "out")));
    return n;
}

TEST(parts_of_another_work_are_not_used)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    static const char *const others[] = { "work: testing\nsetting: 2\n", "work: testing\n",
                                          "work: testing\nsetting: 1\nmore: 1\n", "", NULL };
    for (int i = 0; i < 5; i++) {
        die_at(a, "1", 20);
        assert_int_equal(found_after(a, others[i]), 0);
    }
    die_at(a, "1", 20);
    assert_true(found_after(a, IDENTITY) > 14);
    arena_free(a);
}

/* Changes one byte of a file, `back` bytes before its end. */
static void damage(const char *path, int64_t back)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, -back, SEEK_END);
    int c = fgetc(f);
    fseek(f, -back, SEEK_END);
    fputc(c ^ 4, f);
    fclose(f);
}

TEST(a_damaged_part_and_what_follows_is_done_again)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    die_at(a, "1", 20);
    damage(at(a, "out.partial.counts"), 10 * sizeof(int));
    assert_in_range(found_after(a, IDENTITY), 5, 11);
    die_at(a, "1", 20);
    assert_int_equal(truncate(at(a, "out.partial"), 5 + 100), 0);
    assert_true(found_after(a, IDENTITY) < 2);
    die_at(a, "1", 20);
    damage(at(a, "out.partial.parts"), 100); /* the last line of the record */
    assert_in_range(found_after(a, IDENTITY), 14, 19);
    die_at(a, "1", 20);
    assert_int_equal(truncate(at(a, "out.partial.parts"), 70), 0);
    assert_int_equal(found_after(a, IDENTITY), 0);
    arena_free(a);
}

TEST(two_runs_do_not_write_one_output)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    Resumable *r, *other;
    assert_no_error(open_output(a, IDENTITY, &r));
    assert_error_has(open_output(a, IDENTITY, &other),
                     "out: another run is writing this file just now");
    assert_no_error(work(a, r, STEPS));
    assert_no_error(finish(r));
    assert_whole(a);
    arena_free(a);
}

/* At a stop the place that was reached becomes a part; other failures keep the parts there are. */
static void stop_at(Arena *a, int end)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        Resumable *r;
        Error *e = open_output(a, IDENTITY, &r);
        if (!e) e = work(a, r, end);
        signal_catch();
        raise(SIGINT);
        if (!e) e = resumable_abandon(r, error_new("stopped"));
        _exit(strstr(error_text(e), "stopped\n1 finished part (") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(a_stop_keeps_all_that_was_done)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    Resumable *r;
    stop_at(a, 17);
    assert_no_error(open_output(a, IDENTITY, &r));
    assert_int_equal(resumable_parts(r), 1);
    assert_int_equal(resumable_numbers(r)[0], 17);
    assert_no_error(resumable_add(r, DATA, "half a step", 11));
    assert_error_has(resumable_abandon(r, error_new("failed")), "failed\n1 finished part (");
    assert_int_equal(found_after(a, IDENTITY), 17);
    arena_free(a);
}

TEST(a_failure_without_finished_parts_leaves_nothing)
{
    Arena *a = arena_new();
    Resumable *r;
    assert_no_error(open_output(a, IDENTITY, &r));
    assert_no_error(work(a, r, 17));
    assert_error_has(resumable_abandon(r, error_new("failed")), "failed");
    PathList left = { 0 };
    assert_no_error(files_below(a, test_folder(), "", &left));
    assert_int_equal(left.n, 0);
    arena_free(a);
}

TEST(notes_are_found_until_the_end)
{
    Arena *a = arena_new();
    Resumable *r;
    log_set_level(LOG_SILENT);
    die_at(a, "1", 20);
    assert_no_error(open_output(a, IDENTITY, &r));
    assert_no_error(work(a, r, STEPS));
    assert_no_error(resumable_place(r));
    assert_null(resumable_find_note(r, "one is done"));
    assert_no_error(resumable_note(r, "one is done"));
    assert_no_error(file_write(at(a, "made"), "1", 1));
    assert_no_error(resumable_note_made(r, at(a, "made")));
    assert_error_has(resumable_abandon(r, error_new("failed")), "failed");
    assert_no_error(open_output(a, IDENTITY, &r));
    assert_string_equal(resumable_find_note(r, "one is"), " done");
    assert_null(resumable_find_note(r, "two is done"));
    assert_int_equal(resumable_parts(r), 0);
    assert_true(resumable_is_made(r, at(a, "made")));
    assert_no_error(file_write(at(a, "made"), "22", 2));
    assert_false(resumable_is_made(r, at(a, "made")));
    assert_false(resumable_is_made(r, at(a, "not made")));
    assert_error_has(resumable_abandon(r, error_new("x")), "what is complete stays");
    assert_no_error(open_output(a, "another", &r));
    assert_null(resumable_find_note(r, "one is done"));
    assert_null(resumable_abandon(r, NULL));
    arena_free(a);
}
