/* sentencepiece.c - the trainers `sentencepiece_unigram` and `sentencepiece_bpe`: a .model
 * file as SentencePiece's trainer makes it. */
#include "tokenizer/train/sentencepiece.h"
#include "base/utf8.h"
#include "tokenizer/model/vocab.h"
#include "tokenizer/normalize/charsmap_build.h"
#include "tokenizer/sentencepiece/rules.h"

static void find_names(Arena *a, SpPrepared *p)
{
    Str *name = NEW_N(a, Str, p->n_meta + 1);
    uint32_t *id = NEW_N(a, uint32_t, p->n_meta + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < p->n_meta; i++) {
        name[n] = sp_matching_name(a, &p->file, p->meta[i].name);
        if (!name[n].ptr) continue;
        p->starts[(uint8_t)name[n].ptr[0]] = true;
        id[n++] = (uint32_t)p->meta[i].id;
    }
    p->found = trie_new(a, name, id, n);
}

static Error *prepare(Arena *a, const TrainSettings *s, SpKind kind, const void **out)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    SpPrepared *p = NEW(a, SpPrepared);
    p->kind = kind;
    p->n_too_long = NEW(a, _Atomic int64_t);
    p->n_reserved = NEW(a, _Atomic int64_t);
    p->file.rules = (SpRules){ .add_dummy_prefix = sp->add_dummy_prefix,
                               .remove_extra_whitespaces = sp->remove_extra_whitespaces,
                               .escape_whitespaces = true };
    TRY(sp_meta_pieces(a, s, &p->meta, &p->n_meta));
    find_names(a, p);
    Arena *work = arena_new();
    CharRules rules;
    Error *e = charsmap_rules(work, sp->normalization_rule_name, &rules);
    if (!e) p->charsmap = charsmap_build(a, &rules);
    arena_free(work);
    if (!e && p->charsmap.len) e = charsmap_read(a, p->charsmap, &p->file.rules.charsmap);
    if (!e) e = sp_choose_lines(s, p);
    *out = p;
    return e;
}

static Error *prepare_unigram(Arena *a, const TrainSettings *s, const void **out)
{
    return prepare(a, s, SP_UNIGRAM, out);
}

static Error *prepare_bpe(Arena *a, const TrainSettings *s, const void **out)
{
    return prepare(a, s, SP_BPE, out);
}

/* A character that is a meta piece's whole name cannot be a piece, too. */
static Error *check_chars(const SpPrepared *p, const SpUnits *u)
{
    for (int64_t i = 0; i < u->n_chars; i++) {
        char name[4];
        Str ch = { name, (size_t)utf8_encode(u->ch[i].code, name) };
        for (int64_t k = 0; k < p->n_meta; k++) {
            if (str_equal(ch, p->meta[k].name))
                return error_new("\"%.*s\" is a symbol and one of required_chars", (int)ch.len,
                                 ch.ptr);
        }
    }
    return NULL;
}

static Error *learn_pieces(Arena *a, const TrainSettings *s, const WordCounts *words,
                           SpPieces *pieces)
{
    const SpPrepared *p = s->prepared;
    SpUnits units;
    TRY(sp_units_make(a, s, words, p->kind == SP_UNIGRAM, &units));
    TRY(check_chars(p, &units));
    int64_t wanted = s->vocab_size - p->n_meta, least = units.n_chars + p->n_meta;
    if (least > s->vocab_size) {
        return error_new(
            "vocab_size %lld is less than the %lld pieces for characters and symbols: raise it, or "
            "lower character_coverage",
            (long long)s->vocab_size, (long long)least);
    }
    if (p->kind == SP_BPE) return sp_learn_bpe(a, s, &units, wanted, pieces);
    if (!units.n_units) return error_new("the texts hold no character to learn from");
    return sp_learn_unigram(a, s, &units, wanted, pieces);
}

static Error *learn(const TrainSettings *s, const WordCounts *words, Text *file,
                    TrainSummary *summary)
{
    const SpPrepared *p = s->prepared;
    summary->n_too_long = atomic_load(p->n_too_long);
    summary->n_reserved = atomic_load(p->n_reserved);
    Arena *a = arena_new();
    SpPieces pieces = { 0 };
    Error *e = learn_pieces(a, s, words, &pieces);
    int64_t n = pieces.n + p->n_meta;
    if (!e && s->sentencepiece.hard_vocab_limit && n < s->vocab_size) {
        e = error_new("vocab_size %lld is too high: the texts give %lld pieces; lower it, or set "
                      "hard_vocab_limit to false",
                      (long long)s->vocab_size, (long long)n);
    }
    if (!e) e = sp_write_model(s, &pieces, file, &summary->n_ids);
    arena_free(a);
    return e;
}

/* The first three are of unigram alone. */
static const char *const options[] = {
    "seed_sentencepiece_size",
    "num_sub_iterations",
    "shrinking_factor",
    "normalization_rule_name",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "character_coverage",
    "required_chars",
    "byte_fallback",
    "control_symbols",
    "user_defined_symbols",
    "unk_id",
    "bos_id",
    "eos_id",
    "pad_id",
    "unk_piece",
    "bos_piece",
    "eos_piece",
    "pad_piece",
    "unk_surface",
    "split_by_whitespace",
    "split_by_unicode_script",
    "split_by_number",
    "split_digits",
    "treat_whitespace_as_suffix",
    "allow_whitespace_only_pieces",
    "max_sentencepiece_length",
    "max_sentence_length",
    "input_sentence_size",
    "shuffle_input_sentence",
    "hard_vocab_limit",
    NULL,
};
enum { N_UNIGRAM_OPTIONS = 3 };

const TrainerKind trainer_sentencepiece_unigram = {
    .name = "sentencepiece_unigram",
    .doc = "a SentencePiece .model of kind unigram",
    .options = options,
    .check = sp_train_check,
    .prepare = prepare_unigram,
    .cutter_new = sp_cutter_new,
    .learn = learn,
};

const TrainerKind trainer_sentencepiece_bpe = {
    .name = "sentencepiece_bpe",
    .doc = "a SentencePiece .model of kind bpe, with the pieces that SentencePiece's trainer finds",
    .options = options + N_UNIGRAM_OPTIONS,
    .check = sp_train_check,
    .prepare = prepare_bpe,
    .cutter_new = sp_cutter_new,
    .learn = learn,
};
