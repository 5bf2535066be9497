/* test_kill_packing.c - packing that is killed, interrupted or stopped by a bad line goes on after
 * its finished parts, and its output has the same bytes.
 *
 * kill_points.h says at which events. */
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "end_to_end/kill_case.h"
#include "end_to_end/kill_points.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const KillCase cases[] = {
    { "packing a plain file", PACK, { "out.pbin" }, 10 },
    { "packing a folder with bad lines",
      PACK "--set settings.src_path=in --set settings.on_bad_line=skip --set "
           "settings.bad_line_report=report.jsonl",
      { "out.pbin", "report.jsonl" },
      25 },
    { "packing a compressed file",
      PACK "--set settings.src_path=in/b.jsonl.gz",
      { "out.pbin" },
      10 },
};
enum { N_CASES = sizeof cases / sizeof *cases };

TEST(killed_packing_goes_on_with_the_same_bytes)
{
    kill_cases(cases, N_CASES);
}

/* The report is in place then, the packed file is not. */
TEST(killed_between_the_renames_of_its_files_packing_keeps_all_parts)
{
    Arena *a = arena_new();
    const KillCase *c = &cases[1];
    kill_make_inputs(a);
    const char *events = kill_log_events(a, c);
    KillOutputs whole = kill_read_outputs(a, c);
    int n_writes = kill_count_writes(events), n_renames = kill_count_text(events, "rename ");
    assert_int_equal(n_renames, 4); /* of two records, and two outputs */
    kill_case_at(c, "rename", n_renames, &whole, n_writes);

    /* something else at that place is not taken for it */
    const char *said;
    kill_remove_outputs(a, c);
    assert_int_equal(kill_run(a, KILL_SMALL_PARTS, "CRASH_AT=rename:4", c->args, &said),
                     128 + SIGKILL);
    kill_put(a, "report.jsonl",
             str_of("{\"file\": \"x\", \"line\": 1, \"byte\": 0, \"reason\": \"another\", "
                    "\"text\": \"y\"}\n"));
    assert_int_equal(kill_run(a, "", "", c->args, &said), 0);
    assert_contains(said, "part 1 of");
    KillOutputs got = kill_read_outputs(a, c);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(got.file[i].len, whole.file[i].len);
        assert_memory_equal(got.file[i].ptr, whole.file[i].ptr, got.file[i].len);
    }
    arena_free(a);
}

/* ---- other ends, and what is not used ---- */

/* Packing that was killed in the middle; returns the bytes of an uninterrupted run. */
static Str killed_packing(Arena *a, const char *args, const char *event)
{
    const char *said;
    Str whole;
    kill_make_inputs(a);
    kill_remove_outputs(a, &cases[0]);
    kill_must(a, args);
    assert_no_error(file_read(a, kill_path(a, "out.pbin"), &whole));
    kill_remove_outputs(a, &cases[0]);
    assert_true(kill_run(a, KILL_SMALL_PARTS,
                         arena_printf(a, "CRASH_AT=%s CRASH_PATH=out.pbin", event), args,
                         &said) >= 128);
    assert_true(kill_count_parts(a) > 5);
    return whole;
}

static void assert_packs(Arena *a, const char *args, const char *says, Str expected)
{
    const char *said;
    Str got;
    int status = kill_run(a, "", "", args, &said);
    if (status) fail_msg("%s: %s", args, said);
    assert_contains(said, says);
    assert_no_error(file_read(a, kill_path(a, "out.pbin"), &got));
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.ptr, expected.ptr, got.len);
    assert_int_equal(kill_count_files(a, "*.partial*"), 0);
}

TEST(after_a_kill_other_settings_and_changed_inputs_begin_anew)
{
    Arena *a = arena_new();
    Str whole = killed_packing(a, PACK, "fsync:40");
    assert_packs(a, PACK, "going on after", whole);
    killed_packing(a, PACK, "fsync:40");
    assert_int_equal(system(arena_printf(a, "touch %s", kill_path(a, "plain.jsonl"))), 0);
    assert_packs(a, PACK, "is not used and removed: it worked with \"input: ", whole);
    killed_packing(a, PACK, "fsync:40");
    const char *said;
    assert_int_equal(kill_run(a, "", "", PACK "--set settings.jq_pattern=.nothing", &said), 1);
    assert_contains(said,
                    "it worked with \"jq_pattern: .text\", now it is \"jq_pattern: .nothing\"");
    /* settings that only change the speed are no others */
    killed_packing(a, PACK, "fsync:40");
    assert_packs(a, PACK "--set settings.num_cpus=1 --set settings.processing_batch_size=7",
                 "going on after", whole);
    arena_free(a);
}

TEST(after_a_kill_existing_outputs_follow_their_policy_first)
{
    Arena *a = arena_new();
    const char *said;
    Str whole = killed_packing(a, PACK, "fsync:40");
    kill_put(a, "out.pbin", str_of("before"));
    assert_int_equal(kill_run(a, "", "", "data pack_encoded_data pack.yaml", &said), 1);
    assert_contains(said, "File already exists");
    assert_int_equal(
        kill_run(a, "", "", "data pack_encoded_data pack.yaml --file_existence_policy skip", &said),
        0);
    assert_contains(said, "Skipping ...");
    assert_true(kill_count_parts(a) > 5);
    assert_packs(a, PACK, "going on after", whole);
    arena_free(a);
}

/* A bad line late in the corpus: what was packed before it is not lost. */
TEST(a_bad_line_that_stops_keeps_the_parts_for_a_run_that_skips)
{
    Arena *a = arena_new();
    const char *said;
    kill_make_inputs(a);
    Text t = { 0 };
    Str good = kill_lines(a, 0, false);
    text_add(&t, good.ptr, good.len);
    text_puts(&t, "{\"text\": 5}\n");
    kill_put(a, "plain.jsonl", (Str){ t.ptr, t.len });
    text_free(&t);
    kill_must(a, "data create_raw_index plain.jsonl" REWRITE);
    assert_int_equal(kill_run(a, KILL_SMALL_PARTS, "", PACK, &said), 1);
    assert_contains(said, "plain.jsonl:31: ");
    assert_contains(said, "finished parts");
    assert_true(kill_count_parts(a) > 8);
    const char *skip = PACK "--set settings.on_bad_line=skip";
    assert_int_equal(
        kill_run(a, KILL_SMALL_PARTS, "CRASH_AT=rename:2 CRASH_PATH=out.pbin", skip, &said),
        128 + SIGKILL);
    assert_contains(said, "going on after");
    /* parts that left a line out are of no use to a run that must stop there */
    assert_int_equal(kill_run(a, "", "", PACK, &said), 1);
    assert_contains(said, "not used and removed: it left out bad lines");
    arena_free(a);
}

/* Waits until a part is finished: its line comes some syncs after the file. */
static void wait_for_part(Arena *a)
{
    double start = clock_seconds();
    while (!kill_count_parts(a) && clock_seconds() - start < 60) usleep(1000);
    assert_true(kill_count_parts(a) > 0);
}

static pid_t start_packing(Arena *a, const char *source)
{
    const char *program = path_absolute(a, program_path()),
               *set = arena_printf(a, "settings.src_path=%s", source);
    fflush(NULL);
    pid_t child = fork();
    if (child) return child;
    if (chdir(test_folder()) != 0 || !freopen("said", "w", stderr)) _exit(126);
    setenv("MODALITIES_PART_BYTES", "1", 1);
    execl(program, program, "data", "pack_encoded_data", "pack.yaml", "--file_existence_policy",
          "override", "--set", set, (char *)NULL);
    _exit(127);
}

/* So many lines that packing them in parts of two takes a while. */
static void put_many_lines(Arena *a)
{
    Text t = { 0 };
    for (int i = 0; i < 30000; i++) text_printf(&t, "{\"text\": \"line %d\"}\n", i);
    kill_put(a, "plain.jsonl", (Str){ t.ptr, t.len });
    kill_put(a, "packed.jsonl.gz", (Str){ t.ptr, t.len });
    text_free(&t);
    kill_must(a, "data create_raw_index plain.jsonl" REWRITE);
}

/* A plain file, and one that is decompressed meanwhile, take turns. */
TEST(killed_at_any_moment_or_interrupted_packing_goes_on_with_the_same_bytes)
{
    static const char *const sources[] = { "plain.jsonl", "packed.jsonl.gz" };
    Arena *a = arena_new();
    Str whole;
    kill_make_inputs(a);
    put_many_lines(a);
    kill_must(a, PACK);
    assert_no_error(file_read(a, kill_path(a, "out.pbin"), &whole));
    uint64_t seed = kill_seed();
    int n = is_long_kill_test() ? KILL_MOMENTS : 4;
    for (int i = 0; i < n; i++) {
        const char *source = sources[i % 2];
        kill_remove_outputs(a, &cases[0]);
        pid_t child = start_packing(a, source);
        int status;
        wait_for_part(a);
        usleep((useconds_t)(rng_uniform(seed, (uint64_t)i) * 2e5));
        kill(child, i % 3 ? SIGKILL : SIGINT);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (i % 3 == 0) {
            Str said;
            assert_no_error(file_read(a, kill_path(a, "said"), &said));
            assert_int_equal(WEXITSTATUS(status), EXIT_STOPPED);
            assert_contains(said.ptr, "stopped by a signal; out.pbin was not written");
            assert_contains(said.ptr, "the same command goes on after");
        }
        assert_true(kill_count_parts(a) > 0);
        assert_packs(a, arena_printf(a, PACK "--set settings.src_path=%s", source),
                     "going on after", whole);
        kill_progress("packing", "moment", i + 1, n);
    }
    arena_free(a);
}

TEST(killed_packing_of_standard_input_begins_anew)
{
    Arena *a = arena_new();
    const char *said;
    kill_make_inputs(a);
    const char *args = PACK "--set 'settings.src_path=\"-\"' < plain.jsonl";
    kill_must(a, args);
    assert_no_error(remove_tree(kill_path(a, "out.pbin")));
    assert_int_equal(
        kill_run(a, KILL_SMALL_PARTS, "CRASH_AT=rename:1 CRASH_PATH=out.pbin", args, &said),
        128 + SIGKILL);
    assert_int_equal(kill_count_parts(a), 0);
    kill_must(a, args);
    assert_int_equal(kill_count_files(a, "*.partial*"), 0);
    arena_free(a);
}

TEST(a_user_s_file_with_the_name_of_a_growing_one_stays)
{
    static const char *const names[] = { "out.pbin.partial", "out.pbin.partial.lengths",
                                         "report.jsonl.partial" };
    Arena *a = arena_new();
    const char *said;
    Str there;
    kill_make_inputs(a);
    for (int i = 0; i < 3; i++) {
        kill_put(a, names[i], str_of("precious"));
        assert_int_equal(kill_run(a, "", "", cases[1].args, &said), 1);
        assert_contains(said, "is in the way of the file in the making, and no run of this");
        assert_no_error(file_read(a, kill_path(a, names[i]), &there));
        assert_true(str_is(there, "precious"));
        assert_no_error(remove_tree(kill_path(a, names[i])));
    }
    kill_must(a, cases[1].args);
    arena_free(a);
}

TEST(growing_files_that_the_next_run_has_not_are_swept)
{
    Arena *a = arena_new();
    const char *said;
    kill_make_inputs(a);
    assert_int_equal(kill_run(a, KILL_SMALL_PARTS, "CRASH_AT=rename:3", cases[1].args, &said),
                     128 + SIGKILL);
    assert_true(file_exists(kill_path(a, "report.jsonl.partial")));
    assert_int_equal(kill_run(a, "", "", cases[0].args, &said), 0);
    assert_false(file_exists(kill_path(a, "report.jsonl.partial")));
    assert_false(file_exists(kill_path(a, "out.pbin.partial.parts")));
    arena_free(a);
}
