/* tokenizer_train.c - `tokenizer train`: learns a vocabulary of the kind that is asked for. */
#include "tokenizer_train.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/bad_lines.h"
#include "data/existing_file.h"
#include "data/progress.h"
#include "tokenizer/normalize/charsmap_rules.h"
#include <string.h>

static const char *const formats[] = { "auto", "jsonl", "lines", "file",
                                       NULL }; /* as CorpusFormat */
static const char *const alphabets[] = { "bytes", "seen", NULL };
static const char *const models[] = { "bpe", "wordpiece", "sentencepiece_bpe",
                                      "sentencepiece_unigram", NULL }; /* names of trainer_kinds */

static const Field input_item = { .type = FIELD_STRING, .role = PATH_READ_TEXTS };

static const Field options[] = {
    FIELD_LIST(TrainOptions, input_path, StringList, &input_item, NULL, 1, INFINITY,
               "texts: a file (plain, .gz or .zst), a folder of *.jsonl, a pattern, or - for "
               "standard input"),
    FIELD_PATH(TrainOptions, output_path, NULL, "the file to write", .role = PATH_WRITTEN),
    FIELD_CHOICE(TrainOptions, file_existence_policy, "error", existing_policies,
                 "when output_path is already there"),
    FIELD_CHOICE(TrainOptions, model, "bpe", models, "what is learnt"),
    FIELD_INT(TrainOptions, vocab_size, NULL, 1, 2e6, "ids at the end, special tokens included"),
    FIELD_CHOICE(TrainOptions, format, "auto", formats,
                 "jsonl: a text per line of JSON; lines: every line is a text; file: the file is "
                 "one text; auto: jsonl for *.jsonl, also compressed, else lines"),
    FIELD_STRING(TrainOptions, text_key, "text", "where the text is in a line of JSON"),
    FIELD_INT(TrainOptions, max_words, "50000000", 0, INFINITY,
              "different words to remember, about 350 bytes each; beyond, the rarest half is "
              "forgotten; 0: all"),
    FIELD_INT(TrainOptions, max_line_bytes, "1073741824", 1, INFINITY,
              "a longer line is a bad line"),
    FIELD_CHOICE(TrainOptions, on_bad_line, "stop", bad_line_policies,
                 "a line without text is an error, or is named, counted and left out"),
    FIELD_PATH(TrainOptions, bad_line_report, "null",
               "file for all lines that were left out, as JSON lines", .role = PATH_WRITTEN),
    FIELD_INT(TrainOptions, threads, "0", 0, 512, "0: all; the result is the same"),

    FIELD_STRINGS(TrainOptions, special_tokens, "[]", 0, 0,
                  "bpe, wordpiece: they get the first ids; if none is given, <|endoftext|> for "
                  "bpe, [PAD] [UNK] [CLS] [SEP] [MASK] for wordpiece"),
    FIELD_STRING(TrainOptions, unk_token, "null",
                 "bpe, wordpiece: the special token for characters without a token; if not given, "
                 "none for bpe, [UNK] for wordpiece"),
    FIELD_INT(TrainOptions, min_frequency, "null", 0, INFINITY,
              "bpe, wordpiece: a pair that is rarer is not merged; 2 if not given"),
    FIELD_INT(TrainOptions, limit_alphabet, "null", 0, INFINITY,
              "bpe, wordpiece: keep the so many most frequent characters; all if not given"),
    FIELD_INT(TrainOptions, max_token_length, "null", 0, INFINITY,
              "bpe, wordpiece: tokens have fewer characters than this; any number if not given"),
    FIELD_CHOICE(TrainOptions, pre_tokenizer, "null", train_pre_tokenizers,
                 "bpe, wordpiece: how texts are cut into words: as for GPT-2 (byte_level), Llama 3 "
                 "(cl100k), BERT, at \\w+|[^\\w\\s]+ (whitespace), or at white space alone; if "
                 "not given, byte_level for bpe, bert for wordpiece"),
    FIELD_STRING(TrainOptions, continuing_subword_prefix, "null",
                 "bpe, wordpiece: in front of tokens that go on in a word; if not given, none for "
                 "bpe, ## for wordpiece"),
    FIELD_CHOICE(TrainOptions, normalizer, "null", train_normalizers,
                 "bpe, wordpiece: what texts go through first; if not given, none for bpe, bert "
                 "for wordpiece"),
    FIELD_BOOL(TrainOptions, clean_text, "null",
               "bpe, wordpiece: normalizer bert removes control characters; true if not given"),
    FIELD_BOOL(TrainOptions, handle_chinese_chars, "null",
               "bpe, wordpiece: normalizer bert sets Chinese characters apart; true if not given"),
    FIELD_BOOL(TrainOptions, strip_accents, "null",
               "bpe, wordpiece: normalizer bert removes accents; as lowercase if not given"),
    FIELD_BOOL(TrainOptions, lowercase, "null",
               "bpe, wordpiece: normalizer bert writes small letters; true if not given"),
    FIELD_CHOICE(TrainOptions, initial_alphabet, "null", alphabets,
                 "bpe: single bytes that get an id, all, or those in the texts (seen); if not "
                 "given, all when words are bytes"),
    FIELD_BOOL(TrainOptions, add_prefix_space, "null",
               "bpe: pre_tokenizer byte_level reads a text as if it started with a blank"),
    FIELD_STRING(TrainOptions, end_of_word_suffix, "null",
                 "bpe: after tokens that end a word, as </w>; if not given, none"),

    FIELD_CHOICE(TrainOptions, normalization_rule_name, "null", charsmap_rule_names,
                 "sentencepiece: how texts are normalized; nmt_nfkc if not given"),
    FIELD_BOOL(TrainOptions, add_dummy_prefix, "null",
               "sentencepiece: a line starts with a blank; true if not given"),
    FIELD_BOOL(TrainOptions, remove_extra_whitespaces, "null",
               "sentencepiece: blanks at both ends and repeated ones go; true if not given"),
    FIELD_FLOAT(
        TrainOptions, character_coverage, "null", 0.98, 1,
        "sentencepiece: share of all characters that get a piece, the most frequent; 0.9995 "
        "if not given"),
    FIELD_STRING(TrainOptions, required_chars, "null",
                 "sentencepiece: characters that get a piece in any case"),
    FIELD_BOOL(TrainOptions, byte_fallback, "null",
               "sentencepiece: characters without a piece become bytes; false if not given"),
    FIELD_STRINGS(TrainOptions, control_symbols, "[]", 0, 0,
                  "sentencepiece: pieces that texts never give"),
    FIELD_STRINGS(TrainOptions, user_defined_symbols, "[]", 0, 0,
                  "sentencepiece: pieces that are found first, wherever they stand"),
    FIELD_INT(TrainOptions, unk_id, "null", 0, 2e6,
              "sentencepiece: of the unknown; 0 if not given"),
    FIELD_INT(TrainOptions, bos_id, "null", -1, 2e6,
              "sentencepiece: of the beginning; -1: there is none; 1 if not given"),
    FIELD_INT(TrainOptions, eos_id, "null", -1, 2e6,
              "sentencepiece: of the end; -1: there is none; 2 if not given"),
    FIELD_INT(TrainOptions, pad_id, "null", -1, 2e6,
              "sentencepiece: of padding; -1, which is used if not given: there is none"),
    FIELD_STRING(TrainOptions, unk_piece, "null", "sentencepiece: its name; <unk> if not given"),
    FIELD_STRING(TrainOptions, bos_piece, "null", "sentencepiece: its name; <s> if not given"),
    FIELD_STRING(TrainOptions, eos_piece, "null", "sentencepiece: its name; </s> if not given"),
    FIELD_STRING(TrainOptions, pad_piece, "null", "sentencepiece: its name; <pad> if not given"),
    FIELD_STRING(TrainOptions, unk_surface, "null",
                 "sentencepiece: what the unknown is in decoded text; U+2047 between blanks if not "
                 "given"),
    FIELD_BOOL(TrainOptions, split_by_whitespace, "null",
               "sentencepiece: no piece reaches over a blank; true if not given"),
    FIELD_BOOL(TrainOptions, split_by_unicode_script, "null",
               "sentencepiece: a piece is of one script; true if not given"),
    FIELD_BOOL(TrainOptions, split_by_number, "null",
               "sentencepiece: numbers are a script of their own; true if not given"),
    FIELD_BOOL(TrainOptions, split_digits, "null",
               "sentencepiece: each digit is a piece; false if not given"),
    FIELD_BOOL(TrainOptions, treat_whitespace_as_suffix, "null",
               "sentencepiece: blanks belong to the word before; false if not given"),
    FIELD_BOOL(TrainOptions, allow_whitespace_only_pieces, "null",
               "sentencepiece: several blanks may be a piece; false if not given"),
    FIELD_INT(TrainOptions, max_sentencepiece_length, "null", 1, 512,
              "sentencepiece: characters of the longest piece; 16 if not given"),
    FIELD_INT(TrainOptions, max_sentence_length, "null", 10, 1073741824,
              "sentencepiece: longer lines, in bytes, are left out; 4192 if not given"),
    FIELD_INT(TrainOptions, input_sentence_size, "null", 0, INFINITY,
              "sentencepiece: learn from so many lines, more than 100; 0, which is used if not "
              "given: all"),
    FIELD_BOOL(TrainOptions, shuffle_input_sentence, "null",
               "sentencepiece: these lines are drawn by chance, else the first; true if not given"),
    FIELD_BOOL(TrainOptions, hard_vocab_limit, "null",
               "sentencepiece: fewer pieces than vocab_size are an error; true if not given"),
    FIELD_INT(TrainOptions, seed_sentencepiece_size, "null", 1, 1e9,
              "sentencepiece_unigram: pieces to start with; 1000000 if not given"),
    FIELD_INT(TrainOptions, num_sub_iterations, "null", 1, 10,
              "sentencepiece_unigram: times that scores are fitted between two prunings; 2 if not "
              "given"),
    FIELD_FLOAT(
        TrainOptions, shrinking_factor, "null", 0.5, 0.95,
        "sentencepiece_unigram: share of the pieces that a pruning keeps; 0.75 if not given"),
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

static bool is_given(const Field *f, const TrainOptions *o)
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

static Error *refuse_options_of_others(Arena *a, const TrainOptions *o, const TrainerKind *kind)
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
    CommandProgress progress;
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

static void tell(const TrainOptions *o, const TrainSummary *s)
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
    if (s->n_too_long) {
        log_warning("%lld lines were left out, as longer than max_sentence_length",
                    (long long)s->n_too_long);
    }
    if (s->n_reserved) {
        log_warning("%lld lines were left out: they hold U+2585, which stands for unknown "
                    "characters",
                    (long long)s->n_reserved);
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

static Error *train(const TrainOptions *o, const TrainerKind *kind)
{
    Display display = { 0 };
    Refusals refusals = { 0 };
    TrainSettings s = {
        .corpus = { .path = o->input_path.item,
                    .n_paths = o->input_path.n,
                    .beside = o->output_path,
                    .format = (CorpusFormat)o->format,
                    .key = o->text_key,
                    .max_line_bytes = o->max_line_bytes,
                    .bad_text = refuse_line,
                    .bad_text_arg = &refusals },
        .vocab_size = o->vocab_size,
        .max_words = o->max_words,
        .n_threads = (int)o->threads,
        .progress = { show, &display },
        .bpe = bpe_train_settings(o, kind == &trainer_wordpiece),
        .sentencepiece = sentencepiece_train_settings(o),
    };
    TRY(refuse_flags_without_bert(o, &s.bpe));
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
    const TrainOptions *o = given;
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
    .details =
        "--model bpe: byte pair encoding, by default of bytes, cut into words as for GPT-2; "
        "wordpiece: BERT's. Both write a Hugging Face tokenizer.json with the merges or tokens "
        "that Hugging Face's trainers find. sentencepiece_bpe, sentencepiece_unigram: a "
        "SentencePiece "
        ".model; each line of a text is a sentence, options have SentencePiece's names. "
        "Options "
        "whose text begins with models are for these alone; sentencepiece stands for both.",
    .examples = "modalities tokenizer train --input_path corpus.jsonl --output_path "
                "tokenizer/tokenizer.json --vocab_size 32000\n"
                "modalities tokenizer train --input_path a.txt --input_path b.txt --format file "
                "--output_path tokenizer.json --vocab_size 8192 --special_tokens '<|endoftext|>' "
                "--special_tokens '<pad>'\n"
                "modalities tokenizer train --model wordpiece --input_path corpus --output_path "
                "tokenizer.json --vocab_size 30522 --lowercase=false\n"
                "modalities tokenizer train --model sentencepiece_unigram --input_path corpus.txt "
                "--output_path tokenizer.model --vocab_size 32000 --byte_fallback --split_digits "
                "--character_coverage 0.9999",
    .options = options,
    .options_size = sizeof(TrainOptions),
    .run = run,
};
