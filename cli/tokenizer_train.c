/* tokenizer_train.c - `tokenizer train`: learns a vocabulary of the kind that is asked for. */
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/bad_lines.h"
#include "data/existing_file.h"
#include "data/progress.h"
#include "tokenizer/train.h"
#include <string.h>

static const char *const formats[] = { "auto", "jsonl", "lines", "file",
                                       NULL }; /* as CorpusFormat */
enum { ALPHABET_BYTES, ALPHABET_SEEN };
static const char *const alphabets[] = { "bytes", "seen", NULL };
static const char *const models[] = { "bpe", NULL }; /* names of trainer_kinds */

/* What only some kinds know may be NULL: not given. */
typedef struct Options {
    StringList input_path, special_tokens;
    const char *output_path, *text_key, *bad_line_report;
    int model, format, file_existence_policy, on_bad_line;
    const int *initial_alphabet;
    int64_t vocab_size, max_words, threads;
    const int64_t *min_frequency, *limit_alphabet, *max_token_length;
    const bool *add_prefix_space;
} Options;

static const Field options[] = {
    FIELD_STRINGS(Options, input_path, NULL, 1, INFINITY,
                  "texts: a file (plain, .gz or .zst), a folder of *.jsonl, a pattern, or - for "
                  "standard input"),
    FIELD_PATH(Options, output_path, NULL, "the file to write"),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when output_path is already there"),
    FIELD_CHOICE(Options, model, "bpe", models, "what is learnt"),
    FIELD_INT(Options, vocab_size, NULL, 1, 2e6, "ids at the end, special tokens included"),
    FIELD_CHOICE(Options, format, "auto", formats,
                 "jsonl: a text per line of JSON; lines: every line is a text; file: the file is "
                 "one text; auto: jsonl for *.jsonl, also compressed, else lines"),
    FIELD_STRING(Options, text_key, "text", "where the text is in a line of JSON"),
    FIELD_INT(Options, max_words, "50000000", 0, INFINITY,
              "different words to remember; beyond, the rarest half is forgotten; 0: all"),
    FIELD_CHOICE(Options, on_bad_line, "stop", bad_line_policies,
                 "a line without text is an error, or is named, counted and left out"),
    FIELD_PATH(Options, bad_line_report, "null",
               "file for all lines that were left out, as JSON lines"),
    FIELD_INT(Options, threads, "0", 0, 512, "0: all; the result is the same"),

    FIELD_STRINGS(Options, special_tokens, "[]", 0, 0,
                  "bpe: they get the first ids; <|endoftext|> if none is given"),
    FIELD_INT(Options, min_frequency, "null", 0, INFINITY,
              "bpe: a pair that is rarer is not merged; 2 if not given"),
    FIELD_CHOICE(Options, initial_alphabet, "null", alphabets,
                 "bpe: single bytes that get an id, all (bytes, if not given), or those in the "
                 "texts (seen)"),
    FIELD_INT(Options, limit_alphabet, "null", 0, INFINITY,
              "bpe: keep the so many most frequent characters; all if not given"),
    FIELD_INT(Options, max_token_length, "null", 0, INFINITY,
              "bpe: tokens have fewer characters than this; any number if not given"),
    FIELD_BOOL(Options, add_prefix_space, "null",
               "bpe: a text is read as if it started with a blank"),
    { 0 },
};

/* ---- which options a kind knows ---- */

static bool has_name(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names;
}

static const TrainerKind *find_kind(const char *name)
{
    const TrainerKind *const *kind = trainer_kinds;
    while (*kind && strcmp((*kind)->name, name) != 0) kind++;
    CHECK(*kind != NULL);
    return *kind;
}

static bool is_given(const Field *f, const Options *o)
{
    const char *at = (const char *)o + f->offset;
    if (f->type == FIELD_LIST) return ((const StringList *)at)->n > 0;
    return *(void *const *)at != NULL; /* a pointer, or text */
}

/* The kinds that know an option, as "bpe, wordpiece"; empty: it concerns all. */
static const char *kinds_with(Arena *a, const char *option)
{
    const char *list = "";
    for (const TrainerKind *const *kind = trainer_kinds; *kind; kind++) {
        if (has_name((*kind)->options, option))
            list = arena_printf(a, "%s%s%s", list, *list ? ", " : "", (*kind)->name);
    }
    return list;
}

static Error *refuse_options_of_others(Arena *a, const Options *o, const TrainerKind *kind)
{
    Error *all = NULL;
    for (const Field *f = options; f->type != FIELD_END; f++) {
        const char *kinds = kinds_with(a, f->name);
        if (!*kinds || has_name(kind->options, f->name) || !is_given(f, o)) continue;
        all = error_join(all, error_usage("option --%s is for --model %s, not for %s", f->name,
                                          kinds, kind->name));
    }
    return all;
}

/* ---- what is told ---- */

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
    log_info("%s: %lld ids, from %lld texts (%s, %lld different words)", o->output_path,
             (long long)s->n_ids, (long long)s->n_texts, bytes, (long long)s->n_words);
    if (s->dropped_count) {
        log_warning(
            "words that had occurred at most %lld times were forgotten on the way (max_words %lld)",
            (long long)s->dropped_count, (long long)o->max_words);
    }
    if (s->n_ids < o->vocab_size) {
        log_warning("the texts give no more than %lld ids, instead of %lld", (long long)s->n_ids,
                    (long long)o->vocab_size);
    }
}

/* Bad lines, and where the last one was. */
typedef struct Refusals {
    BadLines bad;
    LineCounter lines;
} Refusals;

static Error *refuse_line(void *arg, BadText b)
{
    Refusals *r = arg;
    int64_t offset = b.line.ptr - b.file.ptr;
    if (r->lines.text.ptr != b.file.ptr) r->lines = (LineCounter){ .text = b.file };
    return bad_lines_add(&r->bad, b.path, line_at(&r->lines, offset), offset, b.line, b.column,
                         b.reason);
}

/* ---- running ---- */

static int64_t number_or(const int64_t *given, int64_t otherwise)
{
    return given ? *given : otherwise;
}

static BpeTrainSettings bpe_settings(const Options *o)
{
    static const char *const end_of_text[] = { "<|endoftext|>" };
    bool is_default = !o->special_tokens.n;
    return (BpeTrainSettings){
        .min_frequency = number_or(o->min_frequency, 2),
        .special_tokens = is_default ? end_of_text : o->special_tokens.item,
        .n_special_tokens = is_default ? 1 : o->special_tokens.n,
        .all_bytes = !o->initial_alphabet || *o->initial_alphabet == ALPHABET_BYTES,
        .limit_alphabet = number_or(o->limit_alphabet, 0),
        .max_token_length = number_or(o->max_token_length, 0),
        .add_prefix_space = o->add_prefix_space && *o->add_prefix_space,
    };
}

static Error *train(const Options *o, const TrainerKind *kind)
{
    Display display = { 0 };
    Refusals refusals = { 0 };
    TrainSettings s = {
        .corpus = { .path = o->input_path.item,
                    .n_paths = o->input_path.n,
                    .beside = o->output_path,
                    .format = (CorpusFormat)o->format,
                    .key = o->text_key,
                    .bad_text = refuse_line,
                    .bad_text_arg = &refusals },
        .vocab_size = o->vocab_size,
        .max_words = o->max_words,
        .n_threads = (int)o->threads,
        .progress = { show, &display },
        .bpe = bpe_settings(o),
    };
    TRY(bad_lines_open((BadLinePolicy)o->on_bad_line, o->bad_line_report, &refusals.bad));
    TrainSummary summary;
    Error *e = tokenizer_train(kind, &s, o->output_path, &summary);
    if (display.what) progress_end(&display.progress);
    if (!e) tell(o, &summary);
    if (!e) bad_lines_tell(&refusals.bad, o->output_path, summary.n_texts + summary.n_skipped);
    return error_join(e, bad_lines_close(&refusals.bad, !e));
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    const TrainerKind *kind = find_kind(models[o->model]);
    bool write;
    TRY(refuse_options_of_others(a, o, kind));
    TRY(existing_file(o->output_path, (ExistingPolicy)o->file_existence_policy, &write));
    if (!write) return NULL;
    TRY(make_directories(path_folder(a, o->output_path)));
    signal_catch();
    return train(o, kind);
}

const Command command_tokenizer_train = {
    .group = "tokenizer",
    .name = "train",
    .doc = "Learns a vocabulary from texts and writes it as a tokenizer.",
    .details = "--model bpe: a Hugging Face tokenizer.json of byte-level BPE; texts are cut into "
               "words as for GPT-2; merges and ids are those that Hugging Face's trainer finds. "
               "Options whose text begins with kinds of models are for these alone.",
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
