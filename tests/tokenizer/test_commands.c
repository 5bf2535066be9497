/* test_commands.c - the commands `tokenizer train`, `encode`, `decode` and `inspect`. */
#include "base/rng.h"
#include "test.h"
#include "tokenizer/small_tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Outcome {
    const char *text; /* stdout and stderr */
    int status;
} Outcome;

/* Runs `ENVIRONMENT tokenizer COMMAND` in the test's folder. */
static Outcome run_with(Arena *a, const char *environment, const char *command)
{
    const char *program = path_absolute(a, program_path());
    FILE *f = popen(arena_printf(a, "cd '%s' && %s '%s' tokenizer %s 2>&1", test_folder(),
                                 environment, program, command),
                    "r");
    Text text = { 0 };
    text_puts(&text, "");
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f));) text_add(&text, part, n);
    int status = pclose(f);
    Outcome o = { arena_string(a, text.ptr), WIFEXITED(status) ? WEXITSTATUS(status) : -1 };
    text_free(&text);
    return o;
}

static Outcome run(Arena *a, const char *command)
{
    return run_with(a, "", command);
}

static void write_file(Arena *a, const char *name, const char *text)
{
    assert_no_error(file_write(path_join(a, test_folder(), name), text, strlen(text)));
}

static const char *const merges[] = { "a b", "ab c", NULL };
static const char special[] =
    "[{\"id\":0,\"content\":\"<eod>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true}]";

TEST(texts_are_encoded_and_decoded_line_by_line)
{
    Arena *a = arena_new();
    small_tokenizer(a, merges, special);
    write_file(a, "in.jsonl",
               "{\"text\": \"abcab\"}\n{\"text\": \"\"}\n{\"text\": \"<eod>\\u00e9\"}");
    Outcome o =
        run(a, "encode --tokenizer . --input_path in.jsonl --output_path out.jsonl --threads 2");
    assert_string_equal(o.text, "");
    assert_int_equal(o.status, 0);
    Str out;
    assert_no_error(file_read(a, path_join(a, test_folder(), "out.jsonl"), &out));
    assert_string_equal(out.ptr,
                        "{\"ids\": [257, 256]}\n{\"ids\": []}\n{\"ids\": [258, 195, 169]}\n");
    o = run(a, "decode --tokenizer . --input_path out.jsonl");
    assert_string_equal(o.text,
                        "{\"text\": \"abcab\"}\n{\"text\": \"\"}\n{\"text\": \"<eod>\\u00e9\"}\n");
    o = run(a, "decode --tokenizer . --format text --skip_special_tokens <out.jsonl");
    assert_string_equal(o.text, "abcab\u00e9");
    o = run(a, "decode --tokenizer . --format text --skip_special_tokens true <out.jsonl");
    assert_string_equal(o.text, "abcab\u00e9");
    o = run(a, "decode --tokenizer . --format text --skip_special_tokens false <out.jsonl");
    assert_string_equal(o.text, "abcab<eod>\u00e9");
    o = run(a, "encode --tokenizer . --offsets --input_path in.jsonl");
    assert_string_equal(o.text, "{\"ids\": [257, 256], \"offsets\": [[0, 3], [3, 5]]}\n"
                                "{\"ids\": [], \"offsets\": []}\n"
                                "{\"ids\": [258, 195, 169], "
                                "\"offsets\": [[0, 5], [5, 6], [5, 6]]}\n");
    o = run(a, "encode --tokenizer . --offsets --format raw_u32 --input_path in.jsonl");
    assert_int_equal(o.status, 2);
    assert_contains(o.text, "--offsets needs --format jsonl");
    o = run(a, "encode --tokenizer tokenizer.json --input_format text --format raw_u32 <in.jsonl | "
               "od -An -tu4 | head -1");
    assert_contains(o.text, "123");
    arena_free(a);
}

TEST(many_lines_keep_their_order)
{
    Arena *a = arena_new();
    small_tokenizer(a, merges, special);
    Text in = { 0 }, expected = { 0 };
    for (int i = 0; i < 200000; i++) {
        text_printf(&in, "{\"text\": \"%c\"}\n", 'd' + i % 7);
        text_printf(&expected, "{\"ids\": [%d]}\n", 'd' + i % 7);
    }
    write_file(a, "in.jsonl", in.ptr);
    assert_int_equal(run(a, "encode --tokenizer . --threads 3 <in.jsonl >out.jsonl").status, 0);
    Str out;
    assert_no_error(file_read(a, path_join(a, test_folder(), "out.jsonl"), &out));
    assert_true(str_equal(out, (Str){ expected.ptr, expected.len }));
    text_free(&in);
    text_free(&expected);
    arena_free(a);
}

TEST(a_bad_line_is_named_and_leaves_no_output)
{
    Arena *a = arena_new();
    small_tokenizer(a, merges, special);
    write_file(a, "in.jsonl", "{\"text\": \"a\"}\n{\"text\": 5}\n");
    Outcome o = run(a, "encode --tokenizer . --input_path in.jsonl --output_path out.jsonl");
    assert_int_equal(o.status, 1);
    assert_contains(o.text, "in.jsonl:2");
    assert_false(file_exists(path_join(a, test_folder(), "out.jsonl")));
    o = run(a, "encode --tokenizer . --input_path in.jsonl --text_key 'my key'");
    assert_contains(o.text, "in.jsonl:1");
    write_file(a, "ids.jsonl", "{\"ids\": [1]}\n{\"ids\": [-1]}\n");
    assert_contains(run(a, "decode --tokenizer . --input_path ids.jsonl").text,
                    "ids.jsonl:2: ids[0] is no id");
    assert_int_equal(run(a, "encode --tokenizer . --input_path none.jsonl").status, 2);
    assert_contains(run(a, "encode --tokenizer none <in.jsonl").text, "none");
    arena_free(a);
}

TEST(a_tokenizer_is_trained_and_inspected)
{
    Arena *a = arena_new();
    write_file(a, "a.txt", "low lower lowest low low\nnewer newest\n");
    write_file(a, "b.jsonl", "{\"text\": \"wider widest\"}\n");
    Outcome o = run(a, "train --input_path a.txt --input_path b.jsonl --output_path "
                       "made/tokenizer.json --vocab_size 265 "
                       "--special_tokens '<pad>' --special_tokens '<eod>'");
    assert_int_equal(o.status, 0);
    assert_contains(o.text, "265 ids, from 3 texts");
    o = run(a, "inspect made --text 'low<eod>'");
    assert_contains(o.text, "vocabulary      265");
    assert_contains(o.text, "\"<pad>\"  special");
    assert_contains(o.text,
                    "stage                                 pieces  text in quotes, [tokens]\n"
                    "text                                       1  \"low<eod>\"\n"
                    "added tokens                               2  \"low\" [<eod>]\n");
    assert_contains(o.text, "BPE                                        2  [low] [<eod>]\n"
                            "special tokens, length                     2  the same\n"
                            "\n"
                            "2 tokens\n"
                            "      id  token    characters  text\n");
    assert_contains(o.text, "       1  [<eod>]  3-8         \"<eod>\"\n");
    assert_contains(run(a, "train --input_path a.txt --output_path x.json --vocab_size 1").text,
                    "vocab_size 1");
    assert_contains(run(a, "train --output_path x.json --vocab_size 300").text, "input_path");
    arena_free(a);
}

TEST(training_names_and_reports_bad_lines)
{
    Arena *a = arena_new();
    write_file(a, "bad.jsonl", "{\"text\": \"low low\"}\n\n{\"text\": 5}\n{\"text\": 6}\n");
    const char *args = "train --input_path bad.jsonl --output_path x.json --vocab_size 300";
    Outcome o = run(a, args);
    assert_int_equal(o.status, 1);
    assert_contains(o.text, "bad.jsonl:2:1: an empty line is not JSON (byte 20 of the file");
    assert_contains(o.text, "with --on_bad_line skip such lines are named");
    o = run(a, arena_printf(a, "%s --on_bad_line skip --bad_line_report report.jsonl", args));
    assert_int_equal(o.status, 0);
    assert_contains(o.text, "x.json: 3 of 4 lines were left out");
    assert_contains(o.text, "2: there is no text under \"text\" (found number)");
    Str report;
    assert_no_error(file_read(a, path_join(a, test_folder(), "report.jsonl"), &report));
    assert_contains(report.ptr, "\"line\": 4, \"byte\": 33, \"reason\": \"there is no text");
    o = run(a, "train --input_path bad.jsonl --output_path x.json --vocab_size 300 "
               "--max_line_bytes 18 --file_existence_policy override");
    assert_int_equal(o.status, 1);
    assert_contains(o.text, "bad.jsonl:1: a line of more than 18 bytes (max_line_bytes)");
    arena_free(a);
}

TEST(options_of_other_kinds_of_trainers_are_refused_by_name)
{
    Arena *a = arena_new();
    write_file(a, "a.txt", "low lower lowest low low\nnewer newest\n");
    const char *args = "train --input_path a.txt --output_path x.json --vocab_size 90";
    Outcome o = run(a, arena_printf(a, "%s --model wordpiece --end_of_word_suffix '</w>'", args));
    assert_int_equal(o.status, 2);
    assert_contains(o.text, "option --end_of_word_suffix is for --model bpe, not for wordpiece");
    o = run(a, arena_printf(a, "%s --lowercase", args));
    assert_int_equal(o.status, 2);
    assert_contains(o.text, "are for --normalizer bert, not for none");
    o = run(a, arena_printf(a, "%s --pre_tokenizer bert --initial_alphabet bytes", args));
    assert_contains(o.text, "initial_alphabet bytes does not go with pre_tokenizer bert");
    o = run(a, arena_printf(a, "%s --end_of_word_suffix '</w>'", args));
    assert_contains(o.text, "end_of_word_suffix does not go with pre_tokenizer byte_level");
    o = run(a, arena_printf(a, "%s --pre_tokenizer bert --add_prefix_space", args));
    assert_contains(o.text, "add_prefix_space does not go with pre_tokenizer bert");
    o = run(a, arena_printf(a, "%s --model wordpiece --special_tokens x", args));
    assert_contains(o.text, "unk_token [UNK] is not among the special tokens");
    o = run(a, arena_printf(a, "%s --split_digits", args));
    assert_contains(o.text, "option --split_digits is for --model sentencepiece_bpe, "
                            "sentencepiece_unigram, not for bpe");
    o = run(a, arena_printf(a, "%s --model sentencepiece_bpe --shrinking_factor 0.5", args));
    assert_contains(o.text, "option --shrinking_factor is for --model sentencepiece_unigram, not");
    assert_false(file_exists(path_join(a, test_folder(), "x.json")));
    arena_free(a);
}

/* Trains, and gives what the tokenizer makes of a text and back. */
static const char *round_trip(Arena *a, const char *options)
{
    write_file(a, "a.txt", "Low lower lowest low low\nNewer newest, n\u00e9e\n");
    write_file(a, "in.jsonl", "{\"text\": \"Newest low, N\u00e9e.\"}\n");
    Outcome o = run(a, arena_printf(a,
                                    "train --input_path a.txt --output_path t.json --vocab_size 60 "
                                    "--file_existence_policy override %s",
                                    options));
    if (o.status) fail_msg("%s", o.text);
    o = run(a, "encode --tokenizer t.json <in.jsonl >ids && cat ids");
    assert_int_equal(o.status, 0);
    return run(a, "decode --tokenizer t.json <ids").text;
}

TEST(trained_tokenizers_of_all_kinds_give_texts_back)
{
    Arena *a = arena_new();
    assert_contains(round_trip(a, "--model wordpiece"), "newest low, nee [UNK]");
    assert_contains(round_trip(a, "--model wordpiece --lowercase=false"),
                    "Newest low, N\\u00e9e [UNK]");
    assert_contains(round_trip(a, "--model wordpiece --normalizer none --pre_tokenizer whitespace"),
                    "Newest low, N\\u00e9e [UNK]");
    assert_contains(round_trip(a, "--pre_tokenizer whitespace_split --end_of_word_suffix '</w>' "
                                  "--special_tokens '<unk>' --unk_token '<unk>'"),
                    "Newest low, N\\u00e9e<unk>");
    assert_contains(
        round_trip(a, "--pre_tokenizer cl100k --vocab_size 300 --initial_alphabet bytes"),
        "Newest low, N\\u00e9e.");
    assert_contains(round_trip(a, "--normalizer nfd --vocab_size 300 --add_prefix_space"),
                    " Newest low, Ne\\u0301e.");
    assert_contains(round_trip(a, "--model sentencepiece_bpe --byte_fallback --vocab_size 285"),
                    "Newest low, N\\u00e9e.");
    assert_contains(round_trip(a, "--model sentencepiece_unigram --hard_vocab_limit=false "
                                  "--normalization_rule_name nfkc_cf --unk_surface '?'"),
                    "newest low, n\\u00e9e?");
    arena_free(a);
}

TEST(training_tells_what_it_forgot)
{
    Arena *a = arena_new();
    write_file(a, "a.txt", "one two three four five one two one\n");
    Outcome o = run(a, "train --input_path a.txt --output_path t.json --vocab_size 260 "
                       "--max_words 4");
    assert_int_equal(o.status, 0);
    assert_contains(o.text, "words that had occurred at most 1 times were forgotten on the way "
                            "(max_words 4)");
    arena_free(a);
}

/* Every change to the file system fails or kills in turn. */
TEST(full_disks_and_sudden_death_leave_no_half_written_tokenizer)
{
    Arena *a = arena_new();
    char self[4096] = { 0 };
    Str whole, got;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    write_file(a, "a.txt", "low lower lowest low low\nnewer newest\n");
    const char *train = "train --input_path a.txt --output_path t.json --vocab_size 300 "
                        "--file_existence_policy override --threads 1";
    const char *out = path_join(a, test_folder(), "t.json");
    assert_int_equal(run(a, train).status, 0);
    assert_no_error(file_read(a, out, &whole));
    int n_died = 0;
    for (int at = 1; at <= 10; at++) {
        assert_no_error(file_write(out, "before", 6));
        const char *crash = arena_printf(
            a,
            "LD_PRELOAD=%s/crash_shim.so ASAN_OPTIONS=verify_asan_link_order=0 CRASH_PATH=t.json "
            "CRASH_AT=any:%d CRASH_MODE=%s",
            path_folder(a, self), (at + 1) / 2, at % 2 ? "kill" : "ENOSPC");
        Outcome o = run_with(a, crash, train);
        assert_no_error(file_read(a, out, &got));
        bool is_new = str_equal(got, whole), is_old = str_is(got, "before");
        assert_true(is_new || (is_old && o.status != 0));
        n_died += o.status != 0;
    }
    assert_true(n_died >= 4);
    arena_free(a);
}

/* A signal at some moment: nothing, or the whole file. */
TEST(a_stopped_training_leaves_nothing_or_all)
{
    Arena *a = arena_new();
    Text corpus = { 0 };
    for (uint64_t i = 0; corpus.len < 1 << 20; i++) {
        uint64_t bits = rng_bits(7, i);
        for (uint64_t n = 2 + bits % 9; n; n--) text_putc(&corpus, (char)('a' + (bits >>= 4) % 13));
        text_putc(&corpus, ' ');
    }
    text_putc(&corpus, '\n');
    write_file(a, "a.txt", corpus.ptr);
    const char *train = "train --input_path a.txt --output_path t.json --vocab_size 2000 "
                        "--file_existence_policy override --threads 1";
    const char *out = path_join(a, test_folder(), "t.json");
    Str whole, got;
    assert_int_equal(run(a, train).status, 0);
    assert_no_error(file_read(a, out, &whole));
    for (int i = 0; i < 12; i++) {
        assert_no_error(file_write(out, "before", 6));
        const char *name = i % 2 ? "KILL" : "INT";
        const char *limit = arena_printf(a, "timeout -s %s 0.%02d ", name, 2 + 4 * i);
        Outcome o = run_with(a, limit, train);
        assert_no_error(file_read(a, out, &got));
        bool is_new = str_equal(got, whole), is_old = str_is(got, "before");
        assert_true(is_new || is_old);
        if (o.status == 0) assert_true(is_new);
        assert_int_equal(system(arena_printf(a, "rm -f '%s'.*", out)), 0);
    }
    text_free(&corpus);
    arena_free(a);
}

TEST(lines_over_the_limit_are_refused)
{
    Arena *a = arena_new();
    small_tokenizer(a, merges, special);
    write_file(a, "in.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"abcabcabc\"}\n");
    Outcome o = run(a, "encode --tokenizer . --input_path in.jsonl --max_line_bytes 16");
    assert_contains(o.text, "in.jsonl:2: a line of more than 16 bytes (max_line_bytes) (byte 15");
    assert_int_equal(o.status, 1);
    o = run(a, "encode --tokenizer . --input_path in.jsonl --max_line_bytes 22");
    assert_int_equal(o.status, 0);
    /* Endless input is not read to its end. */
    o = run(a, "decode --tokenizer . --max_line_bytes 1000000 </dev/zero");
    assert_contains(o.text, "standard input:1: a line of more than 1000000 bytes");
    assert_int_equal(o.status, 1);
    arena_free(a);
}
