/* tokenizer_train.c - `tokenizer train`: learns a byte-level BPE vocabulary. */
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/bad_line.h"
#include "data/existing_file.h"
#include "data/progress.h"
#include "tokenizer/train.h"
#include <string.h>

static const char *const formats[] = { "auto", "jsonl", "lines", "file",
                                       NULL }; /* as CorpusFormat */
enum { ALPHABET_BYTES, ALPHABET_SEEN };
static const char *const alphabets[] = { "bytes", "seen", NULL };

typedef struct Options {
    StringList input_path, special_tokens;
    const char *output_path, *text_key;
    int format, file_existence_policy, on_bad_line, initial_alphabet;
    int64_t vocab_size, min_frequency, limit_alphabet, max_token_length, max_words, threads;
    bool add_prefix_space;
} Options;

static const Field options[] = {
    FIELD_STRINGS(Options, input_path, NULL, 1, INFINITY,
                  "texts: a file (plain, .gz or .zst), a folder of *.jsonl, a pattern, or - for "
                  "standard input"),
    FIELD_PATH(Options, output_path, NULL, "the tokenizer.json to write"),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when output_path is already there"),
    FIELD_INT(Options, vocab_size, NULL, 1, 2e6, "ids at the end, special tokens included"),
    FIELD_CHOICE(Options, format, "auto", formats,
                 "jsonl: a text per line of JSON; lines: every line is a text; file: the file is "
                 "one text; auto: jsonl for "
                 "*.jsonl, also compressed, else lines"),
    FIELD_STRING(Options, text_key, "text", "where the text is in a line of JSON"),
    FIELD_STRINGS(Options, special_tokens, "[\"<|endoftext|>\"]", 0, 0, "they get the first ids"),
    FIELD_INT(Options, min_frequency, "2", 0, INFINITY, "a pair that is rarer is not merged"),
    FIELD_CHOICE(Options, initial_alphabet, "bytes", alphabets,
                 "single bytes that get an id: all, or those in the texts"),
    FIELD_INT(Options, limit_alphabet, "0", 0, 256, "keep the so many most frequent bytes; 0: all"),
    FIELD_INT(Options, max_token_length, "0", 0, INFINITY,
              "tokens have fewer bytes than this; 0: any number"),
    FIELD_BOOL(Options, add_prefix_space, "false", "a text is read as if it started with a blank"),
    FIELD_INT(Options, max_words, "50000000", 0, INFINITY,
              "different words to remember; beyond, the rarest half is forgotten; 0: all"),
    FIELD_CHOICE(Options, on_bad_line, "stop", bad_line_policies,
                 "a line without text is an error, or is counted and left out"),
    FIELD_INT(Options, threads, "0", 0, 512, "0: all; the result is the same"),
    { 0 },
};

/* One display per phase. */
typedef struct Display {
    const char *what;
    Progress progress;
} Display;

static void show(void *arg, const char *what, int64_t done, int64_t total)
{
    Display *d = arg;
    if (d->what != what) {
        if (d->what) progress_end(&d->progress);
        d->what = what;
        d->progress =
            progress_start(what, total, strstr(what, "count") ? PROGRESS_BYTES : PROGRESS_ITEMS);
    }
    progress_update(&d->progress, done);
}

static void tell(const Options *o, const TrainSummary *s)
{
    char bytes[32];
    format_bytes((double)s->n_bytes, bytes);
    log_info("%s: %lld ids, %lld merges, from %lld texts (%s, %lld different words)",
             o->output_path, (long long)s->n_ids, (long long)s->n_merges, (long long)s->n_texts,
             bytes, (long long)s->n_words);
    if (s->n_skipped) log_warning("%lld bad lines were left out", (long long)s->n_skipped);
    if (s->dropped_count) {
        log_warning(
            "words that had occurred at most %lld times were forgotten on the way (max_words %lld)",
            (long long)s->dropped_count, (long long)o->max_words);
    }
    if (s->n_ids < o->vocab_size) {
        log_warning("the texts have no more pairs that occur %lld times: %lld ids instead of %lld",
                    (long long)(o->min_frequency > 1 ? o->min_frequency : 1), (long long)s->n_ids,
                    (long long)o->vocab_size);
    }
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Display display = { 0 };
    TrainSettings s = {
        .corpus = { .path = o->input_path.item,
                    .n_paths = o->input_path.n,
                    .beside = o->output_path,
                    .format = (CorpusFormat)o->format,
                    .key = o->text_key,
                    .skips_bad = o->on_bad_line == BAD_LINE_SKIP },
        .vocab_size = o->vocab_size,
        .min_frequency = o->min_frequency,
        .special_tokens = o->special_tokens.item,
        .n_special_tokens = o->special_tokens.n,
        .all_bytes = o->initial_alphabet == ALPHABET_BYTES,
        .limit_alphabet = o->limit_alphabet,
        .max_token_length = o->max_token_length,
        .add_prefix_space = o->add_prefix_space,
        .max_words = o->max_words,
        .n_threads = (int)o->threads,
        .progress = { show, &display },
    };
    bool write;
    TRY(existing_file(o->output_path, (ExistingPolicy)o->file_existence_policy, &write));
    if (!write) return NULL;
    TRY(make_directories(path_folder(a, o->output_path)));
    signal_catch();
    TrainSummary summary;
    Error *e = tokenizer_train(&s, o->output_path, &summary);
    if (display.what) progress_end(&display.progress);
    if (!e) tell(o, &summary);
    return e;
}

const Command command_tokenizer_train = {
    .group = "tokenizer",
    .name = "train",
    .doc = "Learns a byte-level BPE vocabulary and writes it as a Hugging Face tokenizer.json.",
    .details = "Texts are cut into words as for GPT-2. Merges and ids are those that Hugging "
               "Face's trainer finds.",
    .examples = "modalities tokenizer train --input_path corpus.jsonl --output_path "
                "tokenizer/tokenizer.json "
                "--vocab_size 32000\n"
                "modalities tokenizer train --input_path a.txt --input_path b.txt --format file "
                "--output_path "
                "tokenizer.json --vocab_size 8192 --special_tokens '<|endoftext|>' "
                "--special_tokens '<pad>'",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
