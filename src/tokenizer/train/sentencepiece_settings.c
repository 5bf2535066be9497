/* sentencepiece_settings.c - what is not given is as in SentencePiece; and which settings cannot be
 * met. */
#include "tokenizer/train/sentencepiece_settings.h"
#include "base/utf8.h"
#include "tokenizer/train/sentencepiece.h"
#include <string.h>

SpTrainSettings sp_train_defaults(void)
{
    return (SpTrainSettings){
        .normalization_rule_name = "nmt_nfkc",
        .add_dummy_prefix = true,
        .remove_extra_whitespaces = true,
        .character_coverage = 0.9995,
        .required_chars = "",
        .unk_id = 0,
        .bos_id = 1,
        .eos_id = 2,
        .pad_id = -1,
        .unk_piece = "<unk>",
        .bos_piece = "<s>",
        .eos_piece = "</s>",
        .pad_piece = "<pad>",
        .unk_surface = " \xE2\x81\x87 ",
        .split_by_whitespace = true,
        .split_by_unicode_script = true,
        .split_by_number = true,
        .max_sentencepiece_length = 16,
        .max_sentence_length = 4192,
        .shuffle_input_sentence = true,
        .hard_vocab_limit = true,
        .seed_sentencepiece_size = 1000000,
        .num_sub_iterations = 2,
        .shrinking_factor = 0.75,
    };
}

static Error *check_range(const char *name, double x, double least, double most)
{
    if (x >= least && x <= most) return NULL;
    return error_new("%s %g is not from %g to %g", name, x, least, most);
}

static Error *check_text(const char *name, const char *text, bool may_be_empty)
{
    Str s = str_of(text);
    if (!s.len && !may_be_empty) return error_new("%s is empty", name);
    if (utf8_valid_length(s) < s.len) return error_new("%s is no UTF-8", name);
    return NULL;
}

static Error *check_names(const SpTrainSettings *s)
{
    TRY(check_text("unk_piece", s->unk_piece, false));
    TRY(check_text("bos_piece", s->bos_piece, false));
    TRY(check_text("eos_piece", s->eos_piece, false));
    TRY(check_text("pad_piece", s->pad_piece, false));
    TRY(check_text("unk_surface", s->unk_surface, true));
    TRY(check_text("required_chars", s->required_chars, true));
    for (int64_t i = 0; i < s->n_control_symbols; i++)
        TRY(check_text("one of control_symbols", s->control_symbols[i], false));
    for (int64_t i = 0; i < s->n_user_defined_symbols; i++)
        TRY(check_text("one of user_defined_symbols", s->user_defined_symbols[i], false));
    if (strchr(s->required_chars, ' ') || strchr(s->required_chars, '\t'))
        return error_new("required_chars has a blank or a tab, which no piece can be");
    if (strstr(s->required_chars, "\xE2\x96\x85"))
        return error_new("required_chars has U+2585, which stands for unknown characters");
    return NULL;
}

/* A line that is read twice, so not from standard input. */
static Error *check_sampling(const TrainSettings *s)
{
    int64_t n = s->sentencepiece.input_sentence_size;
    if (!n) return NULL;
    if (n <= 100)
        return error_new("input_sentence_size %lld is neither 0 nor above 100", (long long)n);
    for (int64_t i = 0; i < s->corpus.n_paths; i++) {
        if (!strcmp(s->corpus.path[i], "-")) {
            return error_new(
                "input_sentence_size needs to read the texts twice, and standard input "
                "can be read once: give a file");
        }
    }
    return NULL;
}

Error *sp_train_check(const TrainSettings *s)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    TRY(check_range("character_coverage", sp->character_coverage, 0.98, 1));
    TRY(check_range("max_sentencepiece_length", (double)sp->max_sentencepiece_length, 1, 512));
    TRY(check_range("max_sentence_length", (double)sp->max_sentence_length, 10, 1073741824));
    TRY(check_range("num_sub_iterations", (double)sp->num_sub_iterations, 1, 10));
    TRY(check_range("shrinking_factor", sp->shrinking_factor, 0.5, 0.95));
    TRY(check_range("seed_sentencepiece_size", (double)sp->seed_sentencepiece_size, 1, 1e9));
    if (s->corpus.format == CORPUS_WHOLE)
        return error_new("format file: SentencePiece learns from lines, and whole files have none");
    TRY(check_names(sp));
    TRY(check_sampling(s));
    Arena *a = arena_new();
    SpMeta *meta;
    int64_t n;
    Error *e = sp_meta_pieces(a, s, &meta, &n);
    arena_free(a);
    return e;
}
