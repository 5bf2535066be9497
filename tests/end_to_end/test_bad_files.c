/* test_bad_files.c - files that are damaged, or of another kind: one clear error that names the
 * file, nothing half-written, nothing lost. */
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- packed tokens ---- */

enum { N_TOKENS = 3000, HEADER = 12, DATA = 2 * N_TOKENS };

typedef struct Cut {
    const char *region;
    int keep; /* bytes; below 0: so many are missing at the end */
    const char *says;
} Cut;

static const Cut cuts[] = {
    { "everything", 0, "tokens.pbin: not a .pbin file: 0 bytes, its header alone has 12" },
    { "header", 5, "tokens.pbin: not a .pbin file: 5 bytes" },
    { "data, all", HEADER, "cut short: its header announces 6000 bytes of tokens, the file has 0" },
    { "data", HEADER + DATA / 2 + 1, "announces 6000 bytes of tokens, the file has 3001" },
    { "index, all", HEADER + DATA, "the index of documents after the 6000 bytes" },
    { "index", HEADER + DATA + 3, "the index of documents after the 6000 bytes" },
    { "index, its end", -1,
      "the index of documents after the 6000 bytes of tokens is missing or "
      "cut short" },
};

/* Commands that read packed tokens; $PBIN is the file. */
static const char *const readers[] = {
    "run --config_file_path tests/end_to_end/train.yaml --experiments_root_path $ROOT"
    " --experiment_id x --set settings.paths.train_dataset_path=$PBIN",
    "run --config_file_path tests/end_to_end/train.yaml --experiments_root_path $ROOT"
    " --experiment_id x --set settings.paths.eval_dataset_path=$PBIN",
    "data bigram_loss $PBIN $PBIN",
    "data merge_packed_data $PBIN $ROOT/out.pbin",
    "data shuffle_tokenized_data --input_data_path $PBIN --output_data_path $ROOT/out.pbin",
};

static void assert_all_refuse(const Bench *b, const char *region, const char *says)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const char *output;
        int status = command_line_run(b->arena, readers[i], &output);
        if (status != 1 || !strstr(output, says))
            fail_msg("%s: %s: status %d, or not \"%s\": %s", region, readers[i], status, says,
                     output);
        assert_false(file_exists(path_join(b->arena, b->root, "out.pbin")));
        assert_false(bench_has_checkpoint(b, "x"));
    }
}

static Bench bench_with_variables(void)
{
    Bench b = bench_new();
    const char *damaged = path_join(b.arena, path_absolute(b.arena, test_folder()), "bad");
    assert_no_error(make_directories(damaged));
    assert_int_equal(setenv("PBIN", path_join(b.arena, damaged, "tokens.pbin"), 1), 0);
    assert_int_equal(setenv("TRAIN_PBIN", b.pbin, 1), 0);
    assert_int_equal(setenv("ROOT", b.root, 1), 0);
    return b;
}

TEST(bad_files_of_packed_tokens_that_are_cut_short_are_refused)
{
    Bench b = bench_with_variables();
    Str whole;
    assert_no_error(file_read(b.arena, b.pbin, &whole));
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        size_t keep = cuts[i].keep < 0 ? whole.len - 1 : (size_t)cuts[i].keep;
        assert_no_error(file_write(getenv("PBIN"), whole.ptr, keep));
        assert_all_refuse(&b, cuts[i].region, cuts[i].says);
    }
    arena_free(b.arena);
}

TEST(bad_files_of_packed_tokens_with_another_token_size_are_refused)
{
    Bench b = bench_with_variables();
    Str whole;
    assert_no_error(file_read(b.arena, b.pbin, &whole));
    ((char *)whole.ptr)[8] = 3;
    assert_no_error(file_write(getenv("PBIN"), whole.ptr, whole.len));
    assert_all_refuse(&b, "token size", "token size 3 in the header, allowed are 1, 2 and 4 bytes");
    arena_free(b.arena);
}

/* One id is as large as the vocabulary: wherever it lies, the first batch that holds it names it,
 * and what was learnt before is saved, although no checkpoint was due. */
TEST(bad_files_of_packed_tokens_with_an_id_beyond_the_vocabulary_are_refused)
{
    static const int places[] = { 0, 1500, N_TOKENS - 60 };
    static const char *const words[] = {
        "--set", "settings.training_target.num_target_steps=46",
        "--set", "settings.training_target.num_target_tokens=2944",
        "--set", "settings.intervals.checkpointing_interval_in_steps=100",
        "--set", "settings.intervals.evaluation_interval_in_steps=100",
        NULL
    };
    Bench b = bench_with_variables();
    Str whole;
    int64_t n_steps = 0, saved;
    assert_no_error(file_read(b.arena, b.pbin, &whole));
    for (int i = 0; i < 3; i++) {
        const char *id = arena_printf(b.arena, "x%d", i);
        unsigned char *token = (unsigned char *)whole.ptr + HEADER + 2 * places[i];
        unsigned char kept = *token;
        *token = 64;
        assert_no_error(file_write(b.pbin, whole.ptr, whole.len));
        *token = kept;
        Outcome o = bench_run(&b, id, NULL, words, NULL);
        assert_refused(o, 1, "the model's vocabulary allows 0 to 63");
        assert_contains(o.text, "has the id 64 at place ");
        assert_contains(o.text, "tokens.pbin");
        int64_t steps = 0;
        while (strstr(o.text, arena_printf(b.arena, "step: %d |", (int)steps + 1))) steps++;
        n_steps += steps;
        if (steps) assert_true(is_directory(bench_last_checkpoint(&b, id, &saved)));
        if (steps) assert_int_equal(saved, steps);
    }
    assert_true(n_steps > 0);
    arena_free(b.arena);
}

/* ---- tokenizers ---- */

#define BPE(more)                                                                                  \
    "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "                  \
    "\"trim_offsets\": "                                                                           \
    "true, \"use_regex\": true}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, "            \
    "\"<|endoftext|>\": 1}, \"merges\": []" more "}}"

static const struct {
    const char *content, *says;
} tokenizers[] = {
    { "", "no JSON" },
    { "{\"model\": ", "no JSON" },
    { "\x0a\x0e\x0a\x05<unk>\x15\x00\x00", "no JSON" }, /* as a SentencePiece model begins */
    { "IQ== 0\nIg== 1\n", "no JSON" },                  /* as a tiktoken vocabulary begins */
    { "{\"hello\": 0, \"world\": 1}", "hello: is not a known key here" },
    { "{\"model_type\": \"gpt2\", \"n_embd\": 768}", "model_type: is not a known key here" },
    { "{\"version\": \"1.0\"}", "no member \"model\"" },
    { "{\"model\": {\"type\": \"Ngram\", \"vocab\": []}}", "\"Ngram\" is not supported" },
    { BPE(", \"merges\": [\"a b\"]"), "tokenizer.json" },
    { BPE(""), NULL }, /* the good one: the others fail by what they differ in */
};

TEST(bad_files_in_place_of_a_tokenizer_are_refused)
{
    Bench b = bench_with_variables();
    Arena *a = b.arena;
    const char *here = path_absolute(a, test_folder()), *text = "{\"text\": \"aa\"}\n", *output;
    assert_int_equal(setenv("HERE", here, 1), 0);
    assert_no_error(file_write(path_join(a, here, "text.jsonl"), text, strlen(text)));
    assert_no_error(make_directories(path_join(a, here, "tokenizer")));
    assert_int_equal(command_line_run(a, "data create_raw_index $HERE/text.jsonl", &output), 0);
    for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers; i++) {
        assert_no_error(file_write(path_join(a, here, "tokenizer/tokenizer.json"),
                                   tokenizers[i].content, strlen(tokenizers[i].content)));
        int status = command_line_run(
            a,
            "data pack_encoded_data configs/data/pack.yaml --set settings.src_path=$HERE/text.jsonl"
            " --set settings.index_path=$HERE/text.idx --set settings.dst_path=$ROOT/out.pbin"
            " --set tokenizer.config.pretrained_model_name_or_path=$HERE/tokenizer",
            &output);
        bool is_good = !tokenizers[i].says;
        if (status != !is_good) fail_msg("%s: %s", tokenizers[i].content, output);
        if (!is_good) assert_contains(output, "tokenizer/tokenizer.json");
        if (!is_good) assert_contains(output, tokenizers[i].says);
        assert_int_equal(file_exists(path_join(a, b.root, "out.pbin")), is_good);
    }
    arena_free(a);
}

/* ---- checkpoints ---- */

/* Where a bit flips: a byte from the start (or, below 0, the end) of a file of the checkpoint. */
static const struct {
    const char *file;
    long at;
    const char *says;
} flips[] = {
    { "__0_0.distcp", 0, "__0_0.distcp" }, /* an object's archive */
    { "__0_0.distcp", 90, "__0_0.distcp" },     { "__0_0.distcp", 9000, "__0_0.distcp" },
    { "__0_0.distcp", -1, "__0_0.distcp" }, /* the last archive's directory */
    { "__0_0.distcp", -60000, "__0_0.distcp" }, { ".metadata", 0, ".metadata" },
    { ".metadata", 3000, ".metadata" },         { "manifest.json", 2, "manifest.json" },
    { "manifest.json", 60, "manifest.json" },   { "manifest.json", 900, "manifest.json" },
    { "manifest.json", -5, "manifest.json" }, /* its own checksum */
};

TEST(bad_files_in_a_checkpoint_are_refused_and_what_is_there_stays)
{
    Bench b = bench_with_variables();
    Arena *a = b.arena;
    static const char *const further[] = { "--set", "settings.training_target.num_target_steps=12",
                                           "--set",
                                           "settings.training_target.num_target_tokens=768", NULL };
    assert_ended_well(bench_run(&b, "whole", NULL, NULL, NULL));
    const char *folder = bench_last_checkpoint(&b, "whole", NULL);
    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        const char *path = path_join(a, folder, flips[i].file);
        Str file, after;
        assert_no_error(file_read(a, path, &file));
        size_t at = flips[i].at < 0 ? file.len - (size_t)-flips[i].at : (size_t)flips[i].at;
        assert_true(at < file.len);
        ((char *)file.ptr)[at] ^= 4;
        assert_no_error(file_write(path, file.ptr, file.len));
        Outcome o = bench_run(&b, "on", "whole", further, NULL);
        assert_refused(o, 1, flips[i].says);
        assert_contains(o.text, folder);
        assert_null(strstr(o.text, "step: 9 |"));
        assert_false(bench_has_checkpoint(&b, "on"));
        assert_no_error(file_read(a, path, &after));
        assert_true(str_equal(file, after));
        ((char *)file.ptr)[at] ^= 4;
        assert_no_error(file_write(path, file.ptr, file.len));
    }
    assert_ended_well(bench_run(&b, "on", "whole", further, NULL)); /* all flipped back */
    arena_free(a);
}

/* last_checkpoint_info.json has no checksum, but whatever is read from it must fit. */
TEST(bad_files_in_place_of_last_checkpoint_info_are_refused)
{
    static const struct {
        const char *content, *says;
    } infos[] = {
        { "", "last_checkpoint_info.json: no JSON" },
        { "{\"checkpoint_folder_path\": \"/x", "last_checkpoint_info.json: no JSON" },
        { "[]", "checkpoint_folder_path" },
        { "{}", "checkpoint_folder_path" },
        { "{\"checkpoint_folder_path\": 7}", "checkpoint_folder_path" },
        { "{\"checkpoint_folder_path\": \"/none/x\"}", "/none/x" },
        { "{\"checkpoint_folder_path\": \"/none/eid_x-seen_steps_-seen_tokens_256-target_steps_8-"
          "target_tokens_512\"}",
          "seen_steps_" },
    };
    Bench b = bench_new();
    const char *folder = path_join(b.arena, b.root, "former/checkpoints");
    assert_no_error(make_directories(folder));
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        assert_no_error(file_write(path_join(b.arena, folder, "last_checkpoint_info.json"),
                                   infos[i].content, strlen(infos[i].content)));
        assert_refused(bench_run(&b, "on", "former", NULL, NULL), 1, infos[i].says);
        assert_false(bench_has_checkpoint(&b, "on"));
    }
    arena_free(b.arena);
}
