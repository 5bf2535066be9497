/* tokenizer_train.c - `tokenizer train`: learns a vocabulary of the kind that is asked for. */
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/bad_lines.h"
#include "data/existing_file.h"
#include "data/progress.h"
#include "tokenizer/charsmap_rules.h"
#include "tokenizer/sentencepiece_train.h"
#include "tokenizer/train_pipeline.h"
#include <string.h>

static const char *const formats[] = { "auto", "jsonl", "lines", "file",
                                       NULL }; /* as CorpusFormat */
enum { ALPHABET_BYTES, ALPHABET_SEEN };
static const char *const alphabets[] = { "bytes", "seen", NULL };
static const char *const models[] = { "bpe", "wordpiece", "sentencepiece_bpe",
                                      "sentencepiece_unigram", NULL }; /* names of trainer_kinds */

/* What only some kinds know may be NULL: not given. */
typedef struct Options {
    StringList input_path, special_tokens;
    const char *output_path, *text_key, *bad_line_report;
    int model, format, file_existence_policy, on_bad_line;
    const char *unk_token, *continuing_subword_prefix, *end_of_word_suffix;
    const int *initial_alphabet, *pre_tokenizer, *normalizer;
    int64_t vocab_size, max_words, max_line_bytes, threads;
    const int64_t *min_frequency, *limit_alphabet, *max_token_length;
    const bool *add_prefix_space, *clean_text, *handle_chinese_chars, *strip_accents, *lowercase;

    /* SentencePiece's (tokenizer/sentencepiece_settings.h) */
    StringList control_symbols, user_defined_symbols;
    const int *normalization_rule_name;
    const char *required_chars, *unk_piece, *bos_piece, *eos_piece, *pad_piece, *unk_surface;
    const bool *add_dummy_prefix, *remove_extra_whitespaces, *byte_fallback, *split_by_whitespace,
        *split_by_unicode_script, *split_by_number, *split_digits, *treat_whitespace_as_suffix,
        *allow_whitespace_only_pieces, *shuffle_input_sentence, *hard_vocab_limit;
    const int64_t *unk_id, *bos_id, *eos_id, *pad_id, *max_sentencepiece_length,
        *max_sentence_length, *input_sentence_size, *seed_sentencepiece_size, *num_sub_iterations;
    const double *character_coverage, *shrinking_factor;
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
              "different words to remember, about 350 bytes each; beyond, the rarest half is "
              "forgotten; 0: all"),
    FIELD_INT(Options, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is a bad line"),
    FIELD_CHOICE(Options, on_bad_line, "stop", bad_line_policies,
                 "a line without text is an error, or is named, counted and left out"),
    FIELD_PATH(Options, bad_line_report, "null",
               "file for all lines that were left out, as JSON lines"),
    FIELD_INT(Options, threads, "0", 0, 512, "0: all; the result is the same"),

    FIELD_STRINGS(Options, special_tokens, "[]", 0, 0,
                  "bpe, wordpiece: they get the first ids; if none is given, <|endoftext|> for "
                  "bpe, [PAD] [UNK] [CLS] [SEP] [MASK] for wordpiece"),
    FIELD_STRING(Options, unk_token, "null",
                 "bpe, wordpiece: the special token for characters without a token; if not given, "
                 "none for bpe, [UNK] for wordpiece"),
    FIELD_INT(Options, min_frequency, "null", 0, INFINITY,
              "bpe, wordpiece: a pair that is rarer is not merged; 2 if not given"),
    FIELD_INT(Options, limit_alphabet, "null", 0, INFINITY,
              "bpe, wordpiece: keep the so many most frequent characters; all if not given"),
    FIELD_INT(Options, max_token_length, "null", 0, INFINITY,
              "bpe, wordpiece: tokens have fewer characters than this; any number if not given"),
    FIELD_CHOICE(Options, pre_tokenizer, "null", train_pre_tokenizers,
                 "bpe, wordpiece: how texts are cut into words: as for GPT-2 (byte_level), Llama 3 "
                 "(cl100k), BERT, at \\w+|[^\\w\\s]+ (whitespace), or at white space alone; if "
                 "not given, byte_level for bpe, bert for wordpiece"),
    FIELD_STRING(Options, continuing_subword_prefix, "null",
                 "bpe, wordpiece: in front of tokens that go on in a word; if not given, none for "
                 "bpe, ## for wordpiece"),
    FIELD_CHOICE(Options, normalizer, "null", train_normalizers,
                 "bpe, wordpiece: what texts go through first; if not given, none for bpe, bert "
                 "for wordpiece"),
    FIELD_BOOL(Options, clean_text, "null",
               "bpe, wordpiece: normalizer bert removes control characters; true if not given"),
    FIELD_BOOL(Options, handle_chinese_chars, "null",
               "bpe, wordpiece: normalizer bert sets Chinese characters apart; true if not given"),
    FIELD_BOOL(Options, strip_accents, "null",
               "bpe, wordpiece: normalizer bert removes accents; as lowercase if not given"),
    FIELD_BOOL(Options, lowercase, "null",
               "bpe, wordpiece: normalizer bert writes small letters; true if not given"),
    FIELD_CHOICE(Options, initial_alphabet, "null", alphabets,
                 "bpe: single bytes that get an id, all, or those in the texts (seen); if not "
                 "given, all when words are bytes"),
    FIELD_BOOL(Options, add_prefix_space, "null",
               "bpe: pre_tokenizer byte_level reads a text as if it started with a blank"),
    FIELD_STRING(Options, end_of_word_suffix, "null",
                 "bpe: behind tokens that end a word, as </w>; if not given, none"),

    FIELD_CHOICE(Options, normalization_rule_name, "null", charsmap_rule_names,
                 "sentencepiece: how texts are normalized; nmt_nfkc if not given"),
    FIELD_BOOL(Options, add_dummy_prefix, "null",
               "sentencepiece: a line starts with a blank; true if not given"),
    FIELD_BOOL(Options, remove_extra_whitespaces, "null",
               "sentencepiece: blanks at both ends and repeated ones go; true if not given"),
    FIELD_FLOAT(
        Options, character_coverage, "null", 0.98, 1,
        "sentencepiece: share of all characters that get a piece, the most frequent; 0.9995 "
        "if not given"),
    FIELD_STRING(Options, required_chars, "null",
                 "sentencepiece: characters that get a piece in any case"),
    FIELD_BOOL(Options, byte_fallback, "null",
               "sentencepiece: characters without a piece become bytes; false if not given"),
    FIELD_STRINGS(Options, control_symbols, "[]", 0, 0,
                  "sentencepiece: pieces that texts never give"),
    FIELD_STRINGS(Options, user_defined_symbols, "[]", 0, 0,
                  "sentencepiece: pieces that are found first, wherever they stand"),
    FIELD_INT(Options, unk_id, "null", 0, 2e6, "sentencepiece: of the unknown; 0 if not given"),
    FIELD_INT(Options, bos_id, "null", -1, 2e6,
              "sentencepiece: of the beginning; -1: there is none; 1 if not given"),
    FIELD_INT(Options, eos_id, "null", -1, 2e6,
              "sentencepiece: of the end; -1: there is none; 2 if not given"),
    FIELD_INT(Options, pad_id, "null", -1, 2e6,
              "sentencepiece: of padding; -1, which is used if not given: there is none"),
    FIELD_STRING(Options, unk_piece, "null", "sentencepiece: its name; <unk> if not given"),
    FIELD_STRING(Options, bos_piece, "null", "sentencepiece: its name; <s> if not given"),
    FIELD_STRING(Options, eos_piece, "null", "sentencepiece: its name; </s> if not given"),
    FIELD_STRING(Options, pad_piece, "null", "sentencepiece: its name; <pad> if not given"),
    FIELD_STRING(Options, unk_surface, "null",
                 "sentencepiece: what the unknown is in decoded text; U+2047 between blanks if not "
                 "given"),
    FIELD_BOOL(Options, split_by_whitespace, "null",
               "sentencepiece: no piece reaches over a blank; true if not given"),
    FIELD_BOOL(Options, split_by_unicode_script, "null",
               "sentencepiece: a piece is of one script; true if not given"),
    FIELD_BOOL(Options, split_by_number, "null",
               "sentencepiece: numbers are a script of their own; true if not given"),
    FIELD_BOOL(Options, split_digits, "null",
               "sentencepiece: each digit is a piece; false if not given"),
    FIELD_BOOL(Options, treat_whitespace_as_suffix, "null",
               "sentencepiece: blanks belong to the word before; false if not given"),
    FIELD_BOOL(Options, allow_whitespace_only_pieces, "null",
               "sentencepiece: several blanks may be a piece; false if not given"),
    FIELD_INT(Options, max_sentencepiece_length, "null", 1, 512,
              "sentencepiece: characters of the longest piece; 16 if not given"),
    FIELD_INT(Options, max_sentence_length, "null", 10, 1073741824,
              "sentencepiece: longer lines, in bytes, are left out; 4192 if not given"),
    FIELD_INT(Options, input_sentence_size, "null", 0, INFINITY,
              "sentencepiece: learn from so many lines, more than 100; 0, which is used if not "
              "given: all"),
    FIELD_BOOL(Options, shuffle_input_sentence, "null",
               "sentencepiece: these lines are drawn by chance, else the first; true if not given"),
    FIELD_BOOL(Options, hard_vocab_limit, "null",
               "sentencepiece: fewer pieces than vocab_size are an error; true if not given"),
    FIELD_INT(Options, seed_sentencepiece_size, "null", 1, 1e9,
              "sentencepiece_unigram: pieces to start with; 1000000 if not given"),
    FIELD_INT(Options, num_sub_iterations, "null", 1, 10,
              "sentencepiece_unigram: times that scores are fitted between two prunings; 2 if not "
              "given"),
    FIELD_FLOAT(
        Options, shrinking_factor, "null", 0.5, 0.95,
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

static int64_t number_or(const int64_t *given, int64_t otherwise)
{
    return given ? *given : otherwise;
}

static bool flag_or(const bool *given, bool otherwise)
{
    return given ? *given : otherwise;
}

static BpeTrainSettings bpe_settings(const Options *o, bool is_wordpiece)
{
    static const char *const end_of_text[] = { "<|endoftext|>" };
    static const char *const of_bert[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
    BpeTrainSettings s = {
        .min_frequency = number_or(o->min_frequency, 2),
        .special_tokens = is_wordpiece ? of_bert : end_of_text,
        .n_special_tokens = is_wordpiece ? 5 : 1,
        .unk_token = is_wordpiece ? "[UNK]" : NULL,
        .limit_alphabet = number_or(o->limit_alphabet, 0),
        .max_token_length = number_or(o->max_token_length, 0),
        .prefix = is_wordpiece ? "##" : NULL,
        .suffix = o->end_of_word_suffix,
        .pre_tokenizer = is_wordpiece ? TRAIN_BERT : TRAIN_BYTE_LEVEL,
        .normalizer = is_wordpiece ? TRAIN_BERT_NORMALIZER : TRAIN_AS_IT_IS,
        .add_prefix_space = flag_or(o->add_prefix_space, false),
        .clean_text = flag_or(o->clean_text, true),
        .handle_chinese_chars = flag_or(o->handle_chinese_chars, true),
        .lowercase = flag_or(o->lowercase, true),
    };
    if (o->special_tokens.n) {
        s.special_tokens = o->special_tokens.item;
        s.n_special_tokens = o->special_tokens.n;
    }
    if (o->unk_token) s.unk_token = o->unk_token;
    if (o->continuing_subword_prefix) s.prefix = o->continuing_subword_prefix;
    if (o->pre_tokenizer) s.pre_tokenizer = (TrainPreTokenizer)*o->pre_tokenizer;
    if (o->normalizer) s.normalizer = (TrainNormalizer)*o->normalizer;
    s.strip_accents = flag_or(o->strip_accents, s.lowercase);
    s.all_bytes = o->initial_alphabet ? *o->initial_alphabet == ALPHABET_BYTES
                                      : train_is_byte_level(s.pre_tokenizer);
    return s;
}

static double real_or(const double *given, double otherwise)
{
    return given ? *given : otherwise;
}

static const char *text_or(const char *given, const char *otherwise)
{
    return given ? given : otherwise;
}

static SpTrainSettings sentencepiece_settings(const Options *o)
{
    SpTrainSettings d = sp_train_defaults();
    if (o->normalization_rule_name)
        d.normalization_rule_name = charsmap_rule_names[*o->normalization_rule_name];
    return (SpTrainSettings){
        .normalization_rule_name = d.normalization_rule_name,
        .add_dummy_prefix = flag_or(o->add_dummy_prefix, d.add_dummy_prefix),
        .remove_extra_whitespaces =
            flag_or(o->remove_extra_whitespaces, d.remove_extra_whitespaces),
        .character_coverage = real_or(o->character_coverage, d.character_coverage),
        .required_chars = text_or(o->required_chars, d.required_chars),
        .byte_fallback = flag_or(o->byte_fallback, d.byte_fallback),
        .control_symbols = o->control_symbols.item,
        .n_control_symbols = o->control_symbols.n,
        .user_defined_symbols = o->user_defined_symbols.item,
        .n_user_defined_symbols = o->user_defined_symbols.n,
        .unk_id = number_or(o->unk_id, d.unk_id),
        .bos_id = number_or(o->bos_id, d.bos_id),
        .eos_id = number_or(o->eos_id, d.eos_id),
        .pad_id = number_or(o->pad_id, d.pad_id),
        .unk_piece = text_or(o->unk_piece, d.unk_piece),
        .bos_piece = text_or(o->bos_piece, d.bos_piece),
        .eos_piece = text_or(o->eos_piece, d.eos_piece),
        .pad_piece = text_or(o->pad_piece, d.pad_piece),
        .unk_surface = text_or(o->unk_surface, d.unk_surface),
        .split_by_whitespace = flag_or(o->split_by_whitespace, d.split_by_whitespace),
        .split_by_unicode_script = flag_or(o->split_by_unicode_script, d.split_by_unicode_script),
        .split_by_number = flag_or(o->split_by_number, d.split_by_number),
        .split_digits = flag_or(o->split_digits, d.split_digits),
        .treat_whitespace_as_suffix =
            flag_or(o->treat_whitespace_as_suffix, d.treat_whitespace_as_suffix),
        .allow_whitespace_only_pieces =
            flag_or(o->allow_whitespace_only_pieces, d.allow_whitespace_only_pieces),
        .max_sentencepiece_length =
            number_or(o->max_sentencepiece_length, d.max_sentencepiece_length),
        .max_sentence_length = number_or(o->max_sentence_length, d.max_sentence_length),
        .input_sentence_size = number_or(o->input_sentence_size, d.input_sentence_size),
        .shuffle_input_sentence = flag_or(o->shuffle_input_sentence, d.shuffle_input_sentence),
        .hard_vocab_limit = flag_or(o->hard_vocab_limit, d.hard_vocab_limit),
        .seed_sentencepiece_size = number_or(o->seed_sentencepiece_size, d.seed_sentencepiece_size),
        .num_sub_iterations = number_or(o->num_sub_iterations, d.num_sub_iterations),
        .shrinking_factor = real_or(o->shrinking_factor, d.shrinking_factor),
    };
}

static Error *refuse_flags_without_bert(const Options *o, const BpeTrainSettings *s)
{
    bool given = o->clean_text || o->handle_chinese_chars || o->strip_accents || o->lowercase;
    if (!given || s->normalizer == TRAIN_BERT_NORMALIZER) return NULL;
    return error_usage("--clean_text, --handle_chinese_chars, --strip_accents and --lowercase are "
                       "for --normalizer bert, not for %s",
                       train_normalizers[s->normalizer]);
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
                    .max_line_bytes = o->max_line_bytes,
                    .bad_text = refuse_line,
                    .bad_text_arg = &refusals },
        .vocab_size = o->vocab_size,
        .max_words = o->max_words,
        .n_threads = (int)o->threads,
        .progress = { show, &display },
        .bpe = bpe_settings(o, kind == &trainer_wordpiece),
        .sentencepiece = sentencepiece_settings(o),
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
    .details =
        "--model bpe: byte pair encoding, by default of bytes, cut into words as for GPT-2; "
        "wordpiece: BERT's. Both write a Hugging Face tokenizer.json with the merges or tokens "
        "that Hugging Face's trainers find. sentencepiece_bpe, sentencepiece_unigram: a "
        "SentencePiece "
        ".model; each line of a text is a sentence, options have SentencePiece's names. Options "
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
    .options_size = sizeof(Options),
    .run = run,
};
