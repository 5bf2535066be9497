/* bpe.c - the trainer `bpe`: byte pair encoding as a tokenizer.json. */
#include "tokenizer/train/bpe.h"
#include "tokenizer/train/pipeline.h"

json_t *train_vocab_json(const TokenNames *t)
{
    json_t *vocab = json_object();
    for (int64_t id = 0; id < t->n; id++)
        json_object_setn_new(vocab, t->name[id].ptr, t->name[id].len, json_integer(id));
    return vocab;
}

static json_t *merge_list(const TrainedBpe *b)
{
    json_t *list = json_array();
    Text both = { 0 };
    for (int64_t i = 0; i < b->n_merges; i++) {
        Str left = b->names.name[b->merge[i][0]], right = b->names.name[b->merge[i][1]];
        text_clear(&both);
        text_add(&both, left.ptr, left.len);
        text_putc(&both, ' ');
        text_add(&both, right.ptr, right.len);
        json_array_append_new(list, json_stringn(both.ptr, both.len));
    }
    text_free(&both);
    return list;
}

static json_t *model(const BpeTrainSettings *s, const TrainedBpe *b)
{
    return json_pack("{s:s, s:n, s:s?, s:s?, s:s?, s:b, s:b, s:b, s:o, s:o}", "type", "BPE",
                     "dropout", "unk_token", s->unk_token, "continuing_subword_prefix", s->prefix,
                     "end_of_word_suffix", s->suffix, "fuse_unk", false, "byte_fallback", false,
                     "ignore_merges", false, "vocab", train_vocab_json(&b->names), "merges",
                     merge_list(b));
}

Error *train_bpe_learn(const TrainSettings *s, const WordCounts *words,
                       json_t *(*model_of)(const BpeTrainSettings *s, const TrainedBpe *b),
                       Text *file, TrainSummary *summary)
{
    TrainedBpe b;
    Arena *a = arena_new();
    Error *e = train_merges(a, s, words, &b, summary);
    if (!e) train_write_json(&s->bpe, b.special, model_of(&s->bpe, &b), file);
    arena_free(a);
    return e;
}

static Error *learn(const TrainSettings *s, const WordCounts *words, Text *file,
                    TrainSummary *summary)
{
    return train_bpe_learn(s, words, model, file, summary);
}

static Error *check(const TrainSettings *s)
{
    return train_pipeline_check(&s->bpe);
}

static const char *const option_names[] = { "special_tokens",     "unk_token",
                                            "min_frequency",      "limit_alphabet",
                                            "max_token_length",   "continuing_subword_prefix",
                                            "pre_tokenizer",      "normalizer",
                                            "clean_text",         "handle_chinese_chars",
                                            "strip_accents",      "lowercase",
                                            "initial_alphabet",   "add_prefix_space",
                                            "end_of_word_suffix", NULL };

const TrainerKind trainer_bpe = {
    .name = "bpe",
    .doc = "byte pair encoding, as Hugging Face's BpeTrainer finds it: a tokenizer.json",
    .options = option_names,
    .check = check,
    .cutter_new = train_cutter_new,
    .learn = learn,
};
