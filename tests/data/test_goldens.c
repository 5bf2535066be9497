/* test_goldens.c - the data commands do what the original's did: every row of
 * goldens/data/expected.tsv in order, with the program itself. */
#include "base/md5.h"
#include "data/pbin.h"
#include "golden.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* id, command, exit status, files written, files removed, error, warnings */
enum { ID, COMMAND, EXIT, WRITTEN, REMOVED, ERROR, WARNINGS, N_COLUMNS };

typedef struct Row {
    char *column[N_COLUMNS];
} Row;

/* Rows where this program decides otherwise: what it says instead, with exit status 1, writing
 * nothing. */
static const char *const refused[][2] = {
    { "pack_bad_empty_text", "in/empty_text.jsonl:6: the text is empty" },
    { "pack_bad_missing_key", "in/missing_key.jsonl:5: jq_pattern '.text' finds nothing" },
    { "pack_bad_nonstring",
      "in/nonstring.jsonl:3: jq_pattern '.text' finds a number where a string is needed" },
    { "pack_bad_list_text",
      "in/list_text.jsonl:3: jq_pattern '.text' finds an array where a string is needed" },
    { "pack_bad_lone_surrogate",
      "in/lone_surrogate.jsonl:2:12: a surrogate \\uXXXX escape without its other half" },
    { "pack_bad_eod", "eod_token '<|no_such_token|>' is no token of the tokenizer" },
    { "instruction_unknown_role", "in/chat.jsonl:1: the role 'human_2' is not in role_mapping" },
};

/* Rows of library calls that have no command there. */
static const char *const commands[][2] = {
    { "filter_even",
      "data filter out/multi_gpt2.pbin out/filter_even.pbin --jq '.index % 2 == 0'" },
    { "filter_none", "data filter out/multi_gpt2.pbin out/filter_none.pbin --jq false" },
    { "filter_short",
      "data filter out/multi_gpt2.pbin out/filter_short.pbin --jq '.n_tokens < 40'" },
};

static int64_t read_rows(Arena *a, Row **out)
{
    Str text;
    assert_no_error(file_read(a, shared_path(a, "data/goldens/data/expected.tsv"), &text));
    int64_t n = 0, cap = 0;
    *out = NULL;
    char *rest = (char *)text.ptr, *line;
    strsep(&rest, "\n"); /* the header */
    while ((line = strsep(&rest, "\n")) && *line) {
        Row row = { 0 };
        for (int i = 0; i < N_COLUMNS; i++) row.column[i] = strsep(&line, "\t");
        assert_non_null(row.column[WARNINGS]);
        *out = arena_grow(a, *out, n, &cap, sizeof **out);
        (*out)[n++] = row;
    }
    return n;
}

GOLDEN_CASES(data_cases)
{
    Row *row;
    int64_t n = read_rows(to->arena, &row);
    for (int64_t i = 0; i < n; i++) golden_add(to, "data/%s", row[i].column[ID]);
}

/* A working directory as the goldens had it, with a folder of its own for what is written. */
static const char *make_workplace(Arena *a)
{
    const char *root = test_folder(), *work = path_join(a, root, "a/data");
    assert_no_error(make_directories(path_join(a, work, "out")));
    assert_int_equal(symlink(shared_path(a, "data/tokenizers"), path_join(a, root, "tokenizers")),
                     0);
    assert_int_equal(symlink(shared_path(a, "data/goldens/data/in"), path_join(a, work, "in")), 0);
    assert_int_equal(symlink(shared_path(a, "data/goldens/data/cfg"), path_join(a, work, "cfg")),
                     0);
    /* folders with copies of packed files, which no row writes */
    assert_int_equal(
        symlink(shared_path(a, "data/goldens/data/out/pb"), path_join(a, work, "out/pb")), 0);
    assert_int_equal(
        symlink(shared_path(a, "data/goldens/data/out/single"), path_join(a, work, "out/single")),
        0);
    return work;
}

/* Runs `modalities ARGUMENTS` there; returns the exit status and what it said on stderr. */
static int run_program(Arena *a, const char *work, const char *arguments, const char **said)
{
    const char *log = path_join(a, test_folder(), "stderr");
    const char *command = arena_printf(a, "cd %s && %s %s 2> %s", work,
                                       path_absolute(a, program_path()), arguments, log);
    int status = system(command);
    Str text;
    assert_no_error(file_read(a, log, &text));
    *said = text.ptr;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The one file that a row writes, as the original wrote it and as it was written here. */
static void read_both(Arena *a, const char *work, const Row *row, const char *path[2], Str file[2])
{
    char name[200];
    assert_int_equal(sscanf(row->column[WRITTEN], "%199s", name), 1);
    path[0] = shared_path(a, arena_printf(a, "data/goldens/data/%s", name));
    path[1] = path_join(a, work, name);
    for (int i = 0; i < 2; i++) assert_no_error(file_read(a, path[i], &file[i]));
}

/* The original's merging counts the offsets of all files but the first wrongly. */
static void assert_merged(Arena *a, const char *work, const Row *row)
{
    const char *path[2];
    Str file[2];
    Pbin p[2];
    PbinDocuments d[2];
    read_both(a, work, row, path, file);
    for (int i = 0; i < 2; i++) {
        assert_no_error(pbin_open(a, path[i], &p[i]));
        assert_no_error(pbin_documents_open(a, &p[i], &d[i]));
    }
    assert_true(d[0].is_miscounted);
    assert_false(d[1].is_miscounted);
    size_t n_bytes = PBIN_HEADER + (size_t)p[0].n_tokens * (size_t)p[0].token_bytes;
    assert_memory_equal(file[0].ptr, file[1].ptr, n_bytes);
    assert_int_equal(d[0].n, d[1].n);
    for (IndexEntry x, y; pbin_documents_next(&d[0], &x);) {
        assert_true(pbin_documents_next(&d[1], &y));
        assert_int_equal(x.length, y.length);
    }
}

/* The original glues a last line without a newline to the line that follows it now. */
static void assert_shuffled_with_newline(Arena *a, const char *work, const Row *row)
{
    const char *path[2];
    Str file[2];
    size_t i = 0;
    read_both(a, work, row, path, file);
    assert_int_equal(file[1].len, file[0].len + 1);
    while (i < file[0].len && file[0].ptr[i] == file[1].ptr[i]) i++;
    assert_int_equal(file[1].ptr[i], '\n');
    assert_memory_equal(file[0].ptr + i, file[1].ptr + i + 1, file[0].len - i);
}

/* Rows whose output is right here and damaged there. */
static const struct {
    const char *id;
    void (*check)(Arena *a, const char *work, const Row *row);
} corrected[] = {
    { "merge_two", assert_merged },
    { "merge_three", assert_merged },
    { "merge_same_file_twice", assert_merged },
    { "merge_four_byte", assert_merged },
    { "merge_directory", assert_merged },
    { "shuffle_jsonl_no_newline_s0", assert_shuffled_with_newline },
    { "shuffle_jsonl_no_newline_s7", assert_shuffled_with_newline },
};

/* "path size md5; path size md5": each is there and has these bytes. */
static void assert_written(Arena *a, const char *work, const Row *row)
{
    for (size_t i = 0; i < sizeof corrected / sizeof *corrected; i++)
        if (!strcmp(corrected[i].id, row->column[ID])) {
            corrected[i].check(a, work, row);
            return;
        }
    char *rest = arena_string(a, row->column[WRITTEN]), *file;
    while ((file = strsep(&rest, ";"))) {
        char path[200], expected[33], got[33];
        long long size;
        if (sscanf(file, "%199s %lld %32s", path, &size, expected) != 3) continue;
        Str bytes;
        assert_no_error(file_read(a, path_join(a, work, path), &bytes));
        Md5 sum = { 0 };
        md5_add(&sum, bytes.ptr, bytes.len);
        md5_finish(&sum, got);
        if ((long long)bytes.len != size || strcmp(got, expected))
            fail_msg("%s: %s has %zu bytes, md5 %s; expected %lld, %s", row->column[ID], path,
                     bytes.len, got, size, expected);
    }
}

static void assert_nothing_half_written(Arena *a, const char *work)
{
    const char *command =
        arena_printf(a,
                     "test -z \"$(find %s/out -name '*.tmp.*' -o -name '*.idx.*' -o -name "
                     "'*.pbin.*')\"",
                     work);
    assert_int_equal(system(command), 0);
}

/* The second text of the row that begins with `id`, or NULL. */
static const char *look_up(const char *const (*table)[2], size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(table[i][0], id)) return table[i][1];
    return NULL;
}

static const char *command_of(const Row *row)
{
    const char *own = look_up(commands, sizeof commands / sizeof *commands, row->column[ID]);
    if (own) return own;
    assert_true(str_starts(str_of(row->column[COMMAND]), "modalities "));
    return row->column[COMMAND] + strlen("modalities ");
}

static void run_row(const char *work, const Row *row)
{
    Arena *a = arena_new();
    const char *said;
    const char *refusal = look_up(refused, sizeof refused / sizeof *refused, row->column[ID]);
    int status = run_program(a, work, command_of(row), &said);
    int expected = refusal ? 1 : atoi(row->column[EXIT]);
    if (status != expected)
        fail_msg("%s: exit status %d, expected %d; said: %s", row->column[ID], status, expected,
                 said);
    if (refusal) {
        char path[200];
        assert_contains(said, refusal);
        assert_int_equal(sscanf(row->column[WRITTEN], "%199s", path), 1);
        assert_false(file_exists(path_join(a, work, path)));
    } else {
        assert_written(a, work, row);
    }
    if (status) assert_true(*said != 0);
    assert_nothing_half_written(a, work);
    arena_free(a);
}

TEST(data_commands_do_what_the_originals_did)
{
    Arena *a = arena_new();
    Row *row;
    int64_t n = read_rows(a, &row);
    const char *work = make_workplace(a);
    for (int64_t i = 0; i < n; i++)
        if (!golden_later(a, arena_printf(a, "data/%s", row[i].column[ID]))) run_row(work, &row[i]);
    arena_free(a);
}

/* Index and tokens of the original's own corpora, byte for byte. */
static void assert_corpus(const char *name)
{
    Arena *a = arena_new();
    const char *folder = shared_path(a, "data/modalities/data"), *out = test_folder(), *said;
    const char *yaml = arena_printf(
        a,
        "settings: {src_path: %s/%s.jsonl, index_path: %s/%s.idx, dst_path: %s/%s.pbin, "
        "jq_pattern: .text, eod_token: <|endoftext|>, num_cpus: 3, "
        "processing_batch_size: 7, raw_samples_queue_size: 3, "
        "processed_samples_queue_size: 2}\n"
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, "
        "config: {pretrained_model_name_or_path: %s}}\n",
        folder, name, out, name, out, name, shared_path(a, "data/tokenizers/gpt2"));
    assert_no_error(file_write(path_join(a, out, "pack.yaml"), yaml, strlen(yaml)));
    const char *index = arena_printf(a, "data create_raw_index %s/%s.jsonl --index_path %s/%s.idx",
                                     folder, name, out, name);
    if (run_program(a, out, index, &said) ||
        run_program(a, out, "data pack_encoded_data pack.yaml", &said))
        fail_msg("%s: %s", name, said);
    static const char *const suffix[] = { "idx", "pbin" };
    for (int i = 0; i < 2; i++) {
        Str expected, got;
        assert_no_error(
            file_read(a, arena_printf(a, "%s/%s.%s", folder, name, suffix[i]), &expected));
        assert_no_error(file_read(a, arena_printf(a, "%s/%s.%s", out, name, suffix[i]), &got));
        assert_int_equal(got.len, expected.len);
        assert_memory_equal(got.ptr, expected.ptr, got.len);
    }
    arena_free(a);
}

TEST(the_originals_corpora_are_indexed_and_packed_byte_for_byte)
{
    assert_corpus("lorem_ipsum");
    assert_corpus("lorem_ipsum_long");
}

TEST(bad_lines_are_left_out_by_the_commands_when_told_so)
{
    Arena *a = arena_new();
    const char *work = make_workplace(a), *said;
    assert_int_equal(
        run_program(a, work,
                    "data create_raw_index in/missing_key.jsonl --index_path out/missing_key.idx",
                    &said),
        0);
    assert_int_equal(
        run_program(
            a, work,
            "data pack_encoded_data cfg/bad_missing_key.yaml --set settings.on_bad_line=skip",
            &said),
        0);
    assert_contains(said, "skipped: in/missing_key.jsonl:5: jq_pattern '.text' finds nothing");
    assert_contains(said, "out/bad_missing_key.pbin: 1 of 13 lines were left out");
    assert_int_equal(run_program(a, work,
                                 "data create_raw_index in/blank_middle.jsonl --index_path "
                                 "out/blank.idx --on_bad_line skip",
                                 &said),
                     0);
    assert_contains(said, "skipped: in/blank_middle.jsonl:2:1: an empty line is not JSON");
    assert_contains(
        said, "in/blank_middle.jsonl: 1 of 3 lines were left out\n  1: an empty line is not JSON");
    assert_int_not_equal(
        run_program(a, work,
                    "data pack_encoded_data cfg/third_gpt2.yaml --set settings.on_bad_line=drop",
                    &said),
        0);
    assert_contains(said, "settings.on_bad_line: \"drop\"; did you mean");
    arena_free(a);
}
