/* test_kill_data.c - data commands that are killed go on behind their finished parts, and their
 * outputs have the same bytes.
 *
 * kill_points.h says at which events. */
#include "base/clock.h"
#include "base/rng.h"
#include "compressed.h"
#include "data/packed_file.h"
#include "end_to_end/kill_points.h"
#include "test.h"
#include "tokenizer/small_tokenizer.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_LINES = 30, MOST_OUTPUTS = 5 };

/* A command and the files that it makes in the test's folder. */
typedef struct Case {
    const char *name, *args;
    const char *output[MOST_OUTPUTS];
    int n_parts; /* at least, in an uninterrupted run */
} Case;

#define PACK "data pack_encoded_data pack.yaml --file_existence_policy override "
#define REWRITE " --file_existence_policy override"

static const Case cases[] = {
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
    { "merging", "data merge_packed_data big.pbin big.pbin out.pbin", { "out.pbin" }, 4 },
    { "shuffling documents",
      "data shuffle_tokenized_data --input_data_path big.pbin --output_data_path out.pbin --seed "
      "1" REWRITE,
      { "out.pbin" },
      2 },
    { "shuffling lines",
      "data shuffle_jsonl_data --input_data_path big.jsonl --output_data_path out.jsonl --seed "
      "1" REWRITE,
      { "out.jsonl" },
      2 },
    { "a chunk",
      "data create_shuffled_dataset_chunk --input_file_list_path list --input_data_root_path . "
      "--output_chunk_file_path out.pbin --chunk_id 0 --num_chunks 1 --global_seed 3" REWRITE,
      { "out.pbin" },
      2 },
    { "filtering",
      "data filter big.pbin out.pbin --jq '.index % 3 != 1'" REWRITE,
      { "out.pbin" },
      4 },
    { "exporting", "data export_megatron big.pbin out" REWRITE, { "out.bin", "out.idx" }, 2 },
    { "importing", "data import_megatron big.bin out.pbin" REWRITE, { "out.pbin" }, 2 },
    { "converting conversations",
      "data prepare_instruction_tuning_data --config_file_path chat.yaml",
      { "chats_b3d13d9/t_train.b3d13d9.jsonl", "chats_b3d13d9/t_val.b3d13d9.jsonl",
        "chats_b3d13d9/t_train.b3d13d9.pbin", "chats_b3d13d9/t_val.b3d13d9.pbin", "report.jsonl" },
      2 },
};
enum { N_CASES = sizeof cases / sizeof *cases };

/* ---- inputs ---- */

static const char *at(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

static void put(Arena *a, const char *name, Str content)
{
    Compression kind = compression_of(name);
    if (kind) content = compressed(a, kind, content);
    assert_no_error(make_directories(path_folder(a, at(a, name))));
    assert_no_error(file_write(at(a, name), content.ptr, content.len));
}

/* Lines with texts; each seventh one is bad if `some_bad`. */
static Str lines(Arena *a, int first, bool some_bad)
{
    Text t = { 0 };
    for (int i = first; i < first + N_LINES; i++)
        text_printf(&t, some_bad && i % 7 == 0 ? "{\"text\": %d}\n" : "{\"text\": \"line %d\"}\n",
                    i);
    Str result = { arena_copy(a, t.ptr, t.len), t.len };
    text_free(&t);
    return result;
}

static Str conversations(Arena *a)
{
    Text t = { 0 };
    for (int i = 0; i < 6000; i++)
        text_printf(&t, "{\"m\": [{\"role\": \"%s\", \"content\": \"%d\"}]}\n",
                    i % 500 == 7 ? "unknown" : "a", i);
    Str result = { arena_copy(a, t.ptr, t.len), t.len };
    text_free(&t);
    return result;
}

static Str many_lines(Arena *a)
{
    enum { BYTES = 20 << 20, LINE = 1000 };
    char *bytes = arena_alloc(a, BYTES);
    for (int i = 0; i < BYTES; i++) bytes[i] = i % LINE == LINE - 1 ? '\n' : (char)('a' + i % 23);
    return (Str){ bytes, BYTES };
}

static const char *shim(void)
{
    static char path[4200];
    ssize_t n = readlink("/proc/self/exe", path, 4096);
    assert_true(n > 0);
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/crash_shim.so");
    return path;
}

/* Runs the program in the test's folder with variables in front; `faults` for the shim, or "".
 * Returns the exit status, 128 + n for signal n. */
static int run(Arena *a, const char *variables, const char *faults, const char *args,
               const char **said)
{
    Str text;
    const char *preload =
        *faults ? arena_printf(a, "LD_PRELOAD=%s ASAN_OPTIONS=verify_asan_link_order=0 %s", shim(),
                               faults)
                : "";
    int status = system(arena_printf(a, "cd %s && env %s %s %s %s > said 2>&1", test_folder(),
                                     variables, preload, path_absolute(a, program_path()), args));
    assert_no_error(file_read(a, at(a, "said"), &text));
    *said = text.ptr;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void must(Arena *a, const char *args)
{
    const char *said;
    if (run(a, "", "", args, &said)) fail_msg("%s: %s", args, said);
}

static void make_inputs(Arena *a)
{
    put(a, "in/a.jsonl", lines(a, 0, true));
    put(a, "in/b.jsonl.gz", lines(a, 100, false));
    put(a, "in/c.jsonl.zst", lines(a, 200, true));
    put(a, "plain.jsonl", lines(a, 300, false));
    put(a, "big.jsonl", many_lines(a));
    put(a, "list", str_of("big\n"));
    put(a, "chats.jsonl", conversations(a));
    int64_t *length = NEW_N(a, int64_t, 5000);
    for (int i = 0; i < 5000; i++) length[i] = 1 + i * 7919 % 2000;
    packed_file(a, "big.pbin", 4, 1, length, 5000);
    static const char *const merges[] = { "l i", "n e", NULL };
    small_tokenizer(
        a, merges,
        "[{\"id\": 258, \"content\": \"<|endoftext|>\", \"single_word\": false, "
        "\"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true}]");
    static const char tokenizer[] =
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, "
        "config: {pretrained_model_name_or_path: tokenizer.json}}\n";
    static const char settings[] =
        "settings: {src_path: plain.jsonl, dst_path: out.pbin, jq_pattern: %s, eod_token: "
        "<|endoftext|>, num_cpus: 2, processing_batch_size: %d, raw_samples_queue_size: 2, "
        "processed_samples_queue_size: 2}\n%s";
    put(a, "pack.yaml", str_of(arena_printf(a, settings, ".text", 2, tokenizer)));
    put(a, "pack_chats.yaml", str_of(arena_printf(a, settings, ".chat", 500, tokenizer)));
    put(a, "chat.yaml",
        str_of("settings: {src_path: chats.jsonl, dst_path: t.jsonl, messages_key: m, "
               "pbin_creation_config_file_path: pack_chats.yaml, on_bad_line: skip, "
               "bad_line_report: report.jsonl, split_config: {splitting: {train: "
               "80, val: 20, test: 0}, seed: 3}}\n"
               "instruction_data_transformation: {role_mapping: {a: b}}\n"
               "jinja2_chat_template: \"{{ messages[0].role }}: {{ messages[0].content }}\"\n"
               "chat_template_data: {}\n"));
    must(a, "data create_raw_index plain.jsonl" REWRITE);
    must(a, "data export_megatron big.pbin big" REWRITE);
}

/* ---- outputs ---- */

static void remove_outputs(Arena *a, const Case *c)
{
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
        assert_no_error(remove_tree(at(a, c->output[i])));
    assert_int_equal(system(arena_printf(a, "cd %s && rm -rf out* report* chats_*", test_folder())),
                     0);
}

typedef struct Contents {
    Str file[MOST_OUTPUTS];
} Contents;

static Contents read_outputs(Arena *a, const Case *c)
{
    Contents all = { 0 };
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
        assert_no_error(file_read(a, at(a, c->output[i]), &all.file[i]));
    return all;
}

static int64_t count_files(Arena *a, const char *pattern)
{
    PathList files = { 0 };
    int64_t n = 0;
    assert_no_error(files_below(a, test_folder(), "", &files));
    for (int64_t i = 0; i < files.n; i++) n += text_matches(pattern, path_name(files.item[i]));
    return n;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

/* Whole lines "part ..." of all records. */
static int count_parts(Arena *a)
{
    PathList files = { 0 };
    int n = 0;
    assert_no_error(files_below(a, test_folder(), ".parts", &files));
    for (int64_t i = 0; i < files.n; i++) {
        Str text;
        assert_no_error(file_read(a, files.item[i], &text));
        for (const char *p = text.ptr, *end; (end = strchr(p, '\n')); p = end + 1)
            n += !strncmp(p, "part ", 5);
    }
    return n;
}

/* ---- killing ---- */

/* Every place to go on from becomes a part. */
static const char SMALL_PARTS[] = "MODALITIES_PART_BYTES=1 MODALITIES_THREADS=1";

static const char *log_events(Arena *a, const Case *c)
{
    const char *said;
    Str events;
    assert_no_error(remove_tree(at(a, "events")));
    int status = run(a, SMALL_PARTS, "CRASH_LOG=events", c->args, &said);
    if (status) fail_msg("%s: %s", c->name, said);
    assert_no_error(file_read(a, at(a, "events"), &events));
    return events.ptr;
}

/* Lines "write PATH" of files in the making that hold data. */
static int count_writes(const char *events)
{
    int n = 0;
    for (const char *p = events, *end; (end = strchr(p, '\n')); p = end + 1)
        n += !strncmp(p, "write ", 6) && end - p > 8 && !strncmp(end - 8, ".partial", 8);
    return n;
}

/* Goes on after a kill: with the bytes of an uninterrupted run, without the finished parts. */
static void check_recovery(Arena *a, const Case *c, const char *where, const Contents *whole,
                           int n_writes)
{
    const char *said;
    int n_parts = count_parts(a);
    if (!strstr(c->args, "override"))
        for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
            if (file_exists(at(a, c->output[i])) && !strstr(c->args, "instruction")) return;
    assert_no_error(remove_tree(at(a, "events")));
    int status = run(a, SMALL_PARTS, "CRASH_LOG=events", c->args, &said);
    if (status) fail_msg("%s, %s: status %d: %s", c->name, where, status, said);
    Contents got = read_outputs(a, c);
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++) {
        if (got.file[i].len != whole->file[i].len ||
            memcmp(got.file[i].ptr, whole->file[i].ptr, got.file[i].len) != 0)
            fail_msg("%s, %s: %s differs", c->name, where, c->output[i]);
    }
    if (count_files(a, "*.partial*"))
        fail_msg("%s, %s: something is left, %s", c->name, where, said);
    if (!n_parts) return;
    Str events;
    assert_no_error(file_read(a, at(a, "events"), &events));
    if (strstr(said, "not used and removed: its output is in place already")) return;
    const char *says = arena_printf(a, "going on behind %d finished part", n_parts);
    if (!strstr(said, says)) fail_msg("%s, %s: %s\nbut said: %s", c->name, where, says, said);
    if (count_writes(events.ptr) > n_writes - n_parts + 4)
        fail_msg("%s, %s: %d writes behind %d parts, %d in all", c->name, where,
                 count_writes(events.ptr), n_parts, n_writes);
}

static void kill_at(const Case *c, const char *kind, int number, const Contents *whole,
                    int n_writes)
{
    Arena *a = arena_new(); /* its own: outputs are large */
    const char *said, *event = arena_printf(a, "%s:%d", kind, number);
    remove_outputs(a, c);
    int status = run(a, SMALL_PARTS, arena_printf(a, "CRASH_AT=%s", event), c->args, &said);
    if (status != 128 + SIGKILL) fail_msg("%s, %s: status %d: %s", c->name, event, status, said);
    check_recovery(a, c, event, whole, n_writes);
    arena_free(a);
}

static void kill_repeatedly(const Case *c, uint64_t seed)
{
    static const char *const kinds[] = { "write", "fsync", "rename", "remove" };
    Arena *a = arena_new();
    remove_outputs(a, c);
    const char *events = arena_printf(a, "\n%s", log_events(a, c));
    Contents whole = read_outputs(a, c);
    int n_writes = count_writes(events);
    assert_int_equal(count_files(a, "*.partial*"), 0);
    assert_true(count(events, "fsync ") >= 2 * c->n_parts);
    for (int k = 0; k < 4; k++) {
        int n = count(events, arena_printf(a, "\n%s ", kinds[k])), n_points = kill_points(n);
        for (int i = 0; i < n_points; i++)
            kill_at(c, kinds[k], kill_point(seed, i, n), &whole, n_writes);
        kill_progress(c->name, kinds[k], n_points, n);
    }
    arena_free(a);
}

static void kill_cases(int from, int to)
{
    Arena *a = arena_new();
    uint64_t seed = kill_seed();
    make_inputs(a);
    for (int i = from; i < to; i++) kill_repeatedly(&cases[i], seed);
    arena_free(a);
}

TEST(killed_packing_goes_on_with_the_same_bytes)
{
    kill_cases(0, 3);
}

TEST(killed_copying_goes_on_with_the_same_bytes)
{
    kill_cases(3, 7);
}

TEST(killed_filtering_exporting_and_importing_go_on_with_the_same_bytes)
{
    kill_cases(7, 10);
}

TEST(killed_converting_of_conversations_goes_on_with_the_same_bytes)
{
    kill_cases(10, N_CASES);
}

/* The report is in place then, the packed file is not. */
TEST(killed_between_the_renames_of_its_files_packing_keeps_all_parts)
{
    Arena *a = arena_new();
    const Case *c = &cases[1];
    make_inputs(a);
    const char *events = log_events(a, c);
    Contents whole = read_outputs(a, c);
    int n_writes = count_writes(events), n_renames = count(events, "rename ");
    assert_int_equal(n_renames, 3);
    kill_at(c, "rename", n_renames, &whole, n_writes);

    /* something else at that place is not taken for it */
    const char *said;
    remove_outputs(a, c);
    assert_int_equal(run(a, SMALL_PARTS, "CRASH_AT=rename:3", c->args, &said), 128 + SIGKILL);
    put(a, "report.jsonl", str_of("another report\n"));
    assert_int_equal(run(a, "", "", c->args, &said), 0);
    assert_contains(said, "part 1 of");
    Contents got = read_outputs(a, c);
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
    make_inputs(a);
    remove_outputs(a, &cases[0]);
    must(a, args);
    assert_no_error(file_read(a, at(a, "out.pbin"), &whole));
    remove_outputs(a, &cases[0]);
    assert_true(run(a, SMALL_PARTS, arena_printf(a, "CRASH_AT=%s CRASH_PATH=out.pbin", event), args,
                    &said) >= 128);
    assert_true(count_parts(a) > 5);
    return whole;
}

static void assert_packs(Arena *a, const char *args, const char *says, Str expected)
{
    const char *said;
    Str got;
    int status = run(a, "", "", args, &said);
    if (status) fail_msg("%s: %s", args, said);
    assert_contains(said, says);
    assert_no_error(file_read(a, at(a, "out.pbin"), &got));
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.ptr, expected.ptr, got.len);
    assert_int_equal(count_files(a, "*.partial*"), 0);
}

TEST(after_a_kill_other_settings_and_changed_inputs_begin_anew)
{
    Arena *a = arena_new();
    Str whole = killed_packing(a, PACK, "fsync:40");
    assert_packs(a, PACK, "going on behind", whole);
    killed_packing(a, PACK, "fsync:40");
    assert_int_equal(system(arena_printf(a, "touch %s", at(a, "plain.jsonl"))), 0);
    assert_packs(a, PACK, "is not used and removed: it worked with \"input: ", whole);
    killed_packing(a, PACK, "fsync:40");
    const char *said;
    assert_int_equal(run(a, "", "", PACK "--set settings.jq_pattern=.nothing", &said), 1);
    assert_contains(said,
                    "it worked with \"jq_pattern: .text\", now it is \"jq_pattern: .nothing\"");
    /* settings that only change the speed are no others */
    killed_packing(a, PACK, "fsync:40");
    assert_packs(a, PACK "--set settings.num_cpus=1 --set settings.processing_batch_size=7",
                 "going on behind", whole);
    arena_free(a);
}

TEST(after_a_kill_existing_outputs_follow_their_policy_first)
{
    Arena *a = arena_new();
    const char *said;
    Str whole = killed_packing(a, PACK, "fsync:40");
    put(a, "out.pbin", str_of("before"));
    assert_int_equal(run(a, "", "", "data pack_encoded_data pack.yaml", &said), 1);
    assert_contains(said, "File already exists");
    assert_int_equal(
        run(a, "", "", "data pack_encoded_data pack.yaml --file_existence_policy skip", &said), 0);
    assert_contains(said, "Skipping ...");
    assert_true(count_parts(a) > 5);
    assert_packs(a, PACK, "going on behind", whole);
    arena_free(a);
}

/* A bad line late in the corpus: what was packed before it is not lost. */
TEST(a_bad_line_that_stops_keeps_the_parts_for_a_run_that_skips)
{
    Arena *a = arena_new();
    const char *said;
    make_inputs(a);
    Text t = { 0 };
    Str good = lines(a, 0, false);
    text_add(&t, good.ptr, good.len);
    text_puts(&t, "{\"text\": 5}\n");
    put(a, "plain.jsonl", (Str){ t.ptr, t.len });
    text_free(&t);
    must(a, "data create_raw_index plain.jsonl" REWRITE);
    assert_int_equal(run(a, SMALL_PARTS, "", PACK, &said), 1);
    assert_contains(said, "plain.jsonl:31: ");
    assert_contains(said, "finished parts");
    assert_true(count_parts(a) > 8);
    const char *skip = PACK "--set settings.on_bad_line=skip";
    assert_int_equal(run(a, SMALL_PARTS, "CRASH_AT=rename:2 CRASH_PATH=out.pbin", skip, &said),
                     128 + SIGKILL);
    assert_contains(said, "going on behind");
    /* parts that left a line out are of no use to a run that must stop there */
    assert_int_equal(run(a, "", "", PACK, &said), 1);
    assert_contains(said, "not used and removed: it left out bad lines");
    arena_free(a);
}

/* Waits until the file is there. */
static void wait_for(Arena *a, const char *name)
{
    double start = clock_seconds();
    while (!file_exists(at(a, name)) && clock_seconds() - start < 60) usleep(1000);
    assert_true(file_exists(at(a, name)));
}

static pid_t start_packing(Arena *a)
{
    const char *program = path_absolute(a, program_path());
    fflush(NULL);
    pid_t child = fork();
    if (child) return child;
    if (chdir(test_folder()) != 0 || !freopen("said", "w", stderr)) _exit(126);
    setenv("MODALITIES_PART_BYTES", "1", 1);
    execl(program, program, "data", "pack_encoded_data", "pack.yaml", "--file_existence_policy",
          "override", (char *)NULL);
    _exit(127);
}

/* So many lines that packing them in parts of two takes a while. */
static void put_many_lines(Arena *a)
{
    Text t = { 0 };
    for (int i = 0; i < 30000; i++) text_printf(&t, "{\"text\": \"line %d\"}\n", i);
    put(a, "plain.jsonl", (Str){ t.ptr, t.len });
    text_free(&t);
    must(a, "data create_raw_index plain.jsonl" REWRITE);
}

TEST(killed_at_any_moment_or_interrupted_packing_goes_on_with_the_same_bytes)
{
    Arena *a = arena_new();
    Str whole;
    make_inputs(a);
    put_many_lines(a);
    must(a, PACK);
    assert_no_error(file_read(a, at(a, "out.pbin"), &whole));
    uint64_t seed = kill_seed();
    int n = is_long_kill_test() ? KILL_MOMENTS : 3;
    for (int i = 0; i < n; i++) {
        remove_outputs(a, &cases[0]);
        pid_t child = start_packing(a);
        int status;
        wait_for(a, "out.pbin.partial.parts");
        usleep((useconds_t)(rng_uniform(seed, (uint64_t)i) * 2e5));
        kill(child, i % 3 ? SIGKILL : SIGINT);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (i % 3 == 0) {
            Str said;
            assert_no_error(file_read(a, at(a, "said"), &said));
            assert_int_equal(WEXITSTATUS(status), 1);
            assert_contains(said.ptr, "stopped by a signal; out.pbin was not written");
            assert_contains(said.ptr, "the same command goes on behind");
        }
        assert_true(count_parts(a) > 0);
        assert_packs(a, PACK, "going on behind", whole);
        kill_progress("packing", "moment", i + 1, n);
    }
    arena_free(a);
}

TEST(killed_packing_of_standard_input_begins_anew)
{
    Arena *a = arena_new();
    const char *said;
    make_inputs(a);
    const char *args = PACK "--set 'settings.src_path=\"-\"' < plain.jsonl";
    must(a, args);
    assert_no_error(remove_tree(at(a, "out.pbin")));
    assert_int_equal(run(a, SMALL_PARTS, "CRASH_AT=rename:1 CRASH_PATH=out.pbin", args, &said),
                     128 + SIGKILL);
    assert_int_equal(count_parts(a), 0);
    must(a, args);
    assert_int_equal(count_files(a, "*.partial*"), 0);
    arena_free(a);
}

/* Its files are read at the rate of the disk: each begins anew, but those that are complete. */
TEST(killed_indexing_of_a_folder_goes_on_with_the_next_file)
{
    Arena *a = arena_new();
    const char *said;
    Str whole[3], got;
    static const char *const names[] = { "in/a.idx", "in/b.jsonl.idx", "in/c.jsonl.idx" };
    static const char index[] = "data create_raw_index in --file_existence_policy skip";
    make_inputs(a);
    must(a, index);
    for (int i = 0; i < 3; i++) {
        assert_no_error(file_read(a, at(a, names[i]), &whole[i]));
        assert_no_error(remove_tree(at(a, names[i])));
    }
    assert_int_equal(run(a, "", "CRASH_AT=rename:2", index, &said), 128 + SIGKILL);
    assert_int_equal(run(a, "", "CRASH_LOG=events", index, &said), 0);
    assert_contains(said, "File already exists at in/a.idx. Skipping ...");
    for (int i = 0; i < 3; i++) {
        assert_no_error(file_read(a, at(a, names[i]), &got));
        assert_int_equal(got.len, whole[i].len);
        assert_memory_equal(got.ptr, whole[i].ptr, got.len);
    }
    Str events;
    assert_no_error(file_read(a, at(a, "events"), &events));
    assert_int_equal(count(events.ptr, "rename "), 2);
    arena_free(a);
}

TEST(a_killed_shuffle_goes_on_with_the_seed_that_it_drew)
{
    static const char *const commands[] = {
        "data shuffle_tokenized_data --input_data_path big.pbin --output_data_path out.pbin",
        "data create_shuffled_dataset_chunk --input_file_list_path list --input_data_root_path . "
        "--output_chunk_file_path out.pbin --chunk_id 0 --num_chunks 1",
    };
    Arena *a = arena_new();
    const char *said;
    Str got, expected;
    make_inputs(a);
    for (int i = 0; i < 2; i++) {
        assert_no_error(remove_tree(at(a, "out.pbin")));
        assert_int_equal(
            run(a, SMALL_PARTS, "CRASH_AT=rename:2 CRASH_PATH=out.pbin", commands[i], &said),
            128 + SIGKILL);
        long long seed;
        assert_int_equal(
            sscanf(said, i ? "--global_seed %lld was drawn" : "--seed %lld was drawn", &seed), 1);
        assert_int_equal(run(a, "", "", commands[i], &said), 0);
        assert_contains(said, "out.pbin: the seed of an interrupted run is used again");
        assert_contains(said, "going on behind");
        assert_no_error(file_read(a, at(a, "out.pbin"), &got));
        must(a, arena_printf(a, "%s --%sseed %lld" REWRITE, commands[i], i ? "global_" : "", seed));
        assert_no_error(file_read(a, at(a, "out.pbin"), &expected));
        assert_int_equal(got.len, expected.len);
        assert_memory_equal(got.ptr, expected.ptr, got.len);
    }
    arena_free(a);
}
