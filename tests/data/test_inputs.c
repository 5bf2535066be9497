/* test_inputs.c - texts as files, folders, patterns and standard input, plain and compressed: all
 * give the same, and what cannot be read is named. */
#include "base/text_input.h"
#include "cli/command_line.h"
#include "compressed.h"
#include "data/pbin.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static const char text[] = "{\"text\": \"one\"}\n{\"text\": \"two two\"}\r\n{\"text\": \"three\"}";

static const char *at(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

static void write_as(Arena *a, const char *name, const char *content)
{
    Str s = str_of(content);
    Compression kind = compression_of(name);
    if (kind) s = compressed(a, kind, s);
    assert_no_error(make_directories(path_folder(a, at(a, name))));
    assert_no_error(file_write(at(a, name), s.ptr, s.len));
}

/* Packs with GPT-2's tokenizer; `extra` are further words. */
static int pack(Arena *a, const char *source, const char *extra, const char **said)
{
    const char *yaml = arena_printf(
        a,
        "settings: {src_path: '%s', dst_path: %s, jq_pattern: .text, eod_token: <|endoftext|>, "
        "num_cpus: 2, processing_batch_size: 2, raw_samples_queue_size: 3, "
        "processed_samples_queue_size: 2}\n"
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, "
        "config: {pretrained_model_name_or_path: %s}}\n",
        source, at(a, "out.pbin"), shared_path(a, "data/tokenizers/gpt2"));
    assert_no_error(file_write(at(a, "pack.yaml"), yaml, strlen(yaml)));
    return command_line_run(
        a,
        arena_printf(a, "data pack_encoded_data %s --file_existence_policy override %s",
                     at(a, "pack.yaml"), extra),
        said);
}

static Str packed(Arena *a, const char *source, const char *extra)
{
    const char *said;
    Str bytes;
    int status = pack(a, source, extra, &said);
    if (status) fail_msg("%s: %s", source, said);
    assert_no_error(file_read(a, at(a, "out.pbin"), &bytes));
    return bytes;
}

static void assert_same(Str x, Str y)
{
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.ptr, y.ptr, x.len);
}

TEST(packing_takes_compressed_files_folders_patterns_and_standard_input)
{
    Arena *a = arena_new();
    const char *said;
    write_as(a, "plain/a.jsonl", text);
    write_as(a, "gz/a.jsonl.gz", text);
    write_as(a, "zst/a.jsonl.zst", text);
    assert_int_equal(
        command_line_run(a, arena_printf(a, "data create_raw_index %s", at(a, "plain/a.jsonl")),
                         &said),
        0);
    Str expected = packed(a, at(a, "plain/a.jsonl"), "");
    assert_same(packed(a, at(a, "gz/a.jsonl.gz"), ""), expected);
    assert_same(packed(a, at(a, "zst/a.jsonl.zst"), ""), expected);
    assert_same(packed(a, at(a, "plain"), ""), expected);
    assert_same(packed(a, at(a, "gz/*.gz"), ""), expected);
    assert_same(packed(a, "-", arena_printf(a, "< %s", at(a, "plain/a.jsonl"))), expected);
    /* several files, each once, in the order of their names */
    write_as(a, "all/b.jsonl.gz", "{\"text\": \"one\"}");
    write_as(a, "all/c/d.jsonl", "{\"text\": \"two two\"}\n");
    write_as(a, "all/e.jsonl.zst", "{\"text\": \"three\"}\n");
    write_as(a, "all/f.jsonl", "");
    write_as(a, "all/g.txt", "not looked at");
    assert_same(packed(a, at(a, "all"), ""), expected);
    PathList left = { 0 };
    assert_no_error(files_below(a, test_folder(), "", &left));
    for (int64_t i = 0; i < left.n; i++)
        assert_false(text_matches("*out.pbin?*", left.item[i])); /* no temporary file */
    arena_free(a);
}

TEST(inputs_that_cannot_be_read_are_named)
{
    Arena *a = arena_new();
    const char *said;
    write_as(a, "plain.jsonl", text);
    assert_int_equal(pack(a, at(a, "plain.jsonl"), "", &said), 1);
    assert_contains(said, "plain.idx; `modalities data create_raw_index");
    assert_int_equal(pack(a, at(a, "nowhere*.jsonl"), "", &said), 1);
    assert_contains(said, "there is no file");
    write_as(a, "bad.jsonl.gz", "{\"text\": \"one\"}\n{\"text\": 2}\n");
    assert_int_equal(pack(a, at(a, "bad.jsonl.gz"), "", &said), 1);
    assert_contains(said, "bad.jsonl.gz:2: jq_pattern '.text' finds a number");
    assert_int_equal(pack(a, at(a, "bad.jsonl.gz"), "--set settings.on_bad_line=skip", &said), 0);
    assert_contains(said, "1 of 2 lines were left out");
    Str whole;
    assert_no_error(file_read(a, at(a, "bad.jsonl.gz"), &whole));
    assert_no_error(file_write(at(a, "cut.jsonl.gz"), whole.ptr, whole.len - 5));
    assert_int_equal(pack(a, at(a, "cut.jsonl.gz"), "", &said), 1);
    assert_contains(said, "cut.jsonl.gz: cut short");
    write_as(a, "p/x.parquet", "PAR1");
    assert_int_equal(pack(a, at(a, "p/x.parquet"), "", &said), 1);
    assert_contains(said, "Parquet is not read; convert it first:  duckdb -c \"COPY (FROM '");
    assert_int_equal(pack(a, at(a, "p"), "", &said), 1);
    assert_contains(said, "p/x.jsonl' (FORMAT json)\"");
    assert_no_error(make_directories(at(a, "empty")));
    assert_int_equal(pack(a, at(a, "empty"), "", &said), 1);
    assert_contains(said, "no *.jsonl, *.jsonl.gz or *.jsonl.zst below this folder");
    write_as(a, "other.jsonl", text);
    const char *extra = arena_printf(a, "--set settings.index_path=%s", at(a, "pack.yaml"));
    assert_int_equal(pack(a, at(a, "*.jsonl"), extra, &said), 1);
    assert_contains(said, "is the index of one file, but src_path");
    arena_free(a);
}

/* Lines far longer than what a stream holds of them, with and without a limit. */
TEST(long_lines_of_compressed_files_are_packed_or_named)
{
    enum { BYTES = 700000 };
    Arena *a = arena_new();
    const char *said;
    Text t = { 0 };
    text_puts(&t, "{\"text\": \"one\"}\n{\"text\": \"");
    for (int i = 0; i < BYTES / 4; i++) text_puts(&t, i % 1000 ? "two " : "2.\\n ");
    text_puts(&t, "\"}\n{\"text\": \"three\"}\n");
    write_as(a, "plain/a.jsonl", t.ptr);
    write_as(a, "a.jsonl.gz", t.ptr);
    assert_same(packed(a, at(a, "a.jsonl.gz"), ""), packed(a, at(a, "plain"), ""));
    text_free(&t);
    for (int limit = 100; limit < BYTES; limit += BYTES / 2) {
        const char *set = arena_printf(a, "--set settings.max_line_bytes=%d", limit);
        assert_int_equal(pack(a, at(a, "a.jsonl.gz"), set, &said), 1);
        assert_contains(said, arena_printf(a, "a.jsonl.gz:2: a line of more than %d bytes", limit));
        set = arena_printf(a, "%s --set settings.on_bad_line=skip", set);
        assert_int_equal(pack(a, at(a, "a.jsonl.gz"), set, &said), 0);
        assert_contains(said, "1 of 3 lines were left out");
    }
    arena_free(a);
}

TEST(indexes_are_made_of_folders_compressed_files_and_standard_input)
{
    Arena *a = arena_new();
    const char *said;
    Str one, other;
    write_as(a, "in/a.jsonl", text);
    write_as(a, "in/b.jsonl.gz", text);
    assert_int_equal(
        command_line_run(a, arena_printf(a, "data create_raw_index %s", at(a, "in")), &said), 0);
    assert_no_error(file_read(a, at(a, "in/a.idx"), &one));
    assert_no_error(file_read(a, at(a, "in/b.jsonl.idx"), &other));
    assert_same(one, other);
    assert_int_equal(
        command_line_run(a,
                         arena_printf(a, "data create_raw_index - --index_path %s < %s",
                                      at(a, "c.idx"), at(a, "in/a.jsonl")),
                         &said),
        0);
    assert_no_error(file_read(a, at(a, "c.idx"), &other));
    assert_same(one, other);
    /* an index that leaves a line out, of a compressed file */
    write_as(a, "d.jsonl.gz", "broken\n{\"text\": \"one\"}\n");
    assert_int_equal(command_line_run(a,
                                      arena_printf(a,
                                                   "data create_raw_index %s --index_path %s "
                                                   "--on_bad_line skip",
                                                   at(a, "d.jsonl.gz"), at(a, "d.idx")),
                                      &said),
                     0);
    Str bytes = packed(a, at(a, "d.jsonl.gz"),
                       arena_printf(a, "--set settings.index_path=%s", at(a, "d.idx")));
    assert_int_equal(bytes.ptr[0], 4); /* a token and the end of the document */
    assert_int_equal(command_line_run(a, arena_printf(a, "data create_raw_index -"), &said), 2);
    assert_contains(said, "--index_path is needed for standard input");
    assert_int_equal(command_line_run(a,
                                      arena_printf(a, "data create_raw_index %s --index_path %s",
                                                   at(a, "in"), at(a, "x.idx")),
                                      &said),
                     2);
    assert_contains(said, "stands for 2");
    arena_free(a);
}

TEST(tokenizers_are_trained_from_compressed_files_and_folders)
{
    Arena *a = arena_new();
    const char *said;
    Str expected, got;
    write_as(a, "in/a.jsonl", text);
    write_as(a, "gz/a.jsonl.gz", text);
    const char *args = "tokenizer train --vocab_size 270 --output_path %s/t.json "
                       "--file_existence_policy override --input_path %s";
    for (int i = 0; i < 4; i++) {
        const char *const inputs[] = { at(a, "in/a.jsonl"), at(a, "in"), at(a, "gz/*"),
                                       arena_printf(a, "- --format jsonl < %s",
                                                    at(a, "in/a.jsonl")) };
        int status = command_line_run(a, arena_printf(a, args, test_folder(), inputs[i]), &said);
        if (status) fail_msg("%s: %s", inputs[i], said);
        assert_no_error(file_read(a, at(a, "t.json"), i ? &got : &expected));
        if (i) assert_same(got, expected);
    }
    arena_free(a);
}

TEST(lines_that_were_added_after_the_index_are_counted_in_a_warning)
{
    static const char lines[] = "{\"text\": \"one\"}\n{\"text\": \"two\"}\n";
    static const struct {
        const char *more, *says; /* NULL: nothing */
    } cases[] = {
        { "no JSON\n\n", NULL }, /* an index leaves such lines out itself */
        { "no JSON\n{\"text\": \"four\"}", ": 1 line after the last one in " },
        { "{\"text\": \"four\"}\n{\"text\": \"five\"}\n{\"te", ": 3 lines after the last one in " },
    };
    Arena *a = arena_new();
    const char *said;
    write_as(a, "x.jsonl", lines);
    assert_int_equal(
        command_line_run(a, arena_printf(a, "data create_raw_index %s", at(a, "x.jsonl")), &said),
        0);
    Str expected = packed(a, at(a, "x.jsonl"), "");
    for (int i = 0; i < 3; i++) {
        write_as(a, "x.jsonl", arena_printf(a, "%s%s", lines, cases[i].more));
        assert_same(packed(a, at(a, "x.jsonl"), ""), expected);
        assert_int_equal(
            command_line_run(a, arena_printf(a, "data verify %s", at(a, "x.jsonl")), &said), 0);
        if (cases[i].says)
            assert_contains(said, cases[i].says);
        else
            assert_null(strstr(said, "after the last one"));
    }
    arena_free(a);
}
