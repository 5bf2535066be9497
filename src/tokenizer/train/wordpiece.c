/* wordpiece.c - the trainer `wordpiece`: BERT's vocabulary as a tokenizer.json.
 *
 * As in the library, the tokens are those that merges find when all characters of a word but the
 * first have the prefix; the merges themselves are forgotten. */
#include "tokenizer/train/bpe.h"
#include "tokenizer/train/pipeline.h"

enum { LONGEST_WORD = 100 }; /* in characters; a longer one becomes the unknown token */

static json_t *model(const BpeTrainSettings *s, const TrainedBpe *b)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:o}", "type", "WordPiece", "unk_token", s->unk_token,
                     "continuing_subword_prefix", s->prefix, "max_input_chars_per_word",
                     LONGEST_WORD, "vocab", train_vocab_json(&b->names));
}

static Error *learn(const TrainSettings *s, const WordCounts *words, Text *file,
                    TrainSummary *summary)
{
    return train_bpe_learn(s, words, model, file, summary);
}

static Error *check(const TrainSettings *s)
{
    TRY(train_pipeline_check(&s->bpe));
    if (!s->bpe.unk_token) return error_new("wordpiece needs an unk_token");
    if (!s->bpe.prefix) return error_new("wordpiece needs a continuing_subword_prefix");
    return NULL;
}

static const char *const option_names[] = { "special_tokens",
                                            "unk_token",
                                            "min_frequency",
                                            "limit_alphabet",
                                            "max_token_length",
                                            "continuing_subword_prefix",
                                            "pre_tokenizer",
                                            "normalizer",
                                            "clean_text",
                                            "handle_chinese_chars",
                                            "strip_accents",
                                            "lowercase",
                                            NULL };

const TrainerKind trainer_wordpiece = {
    .name = "wordpiece",
    .doc = "BERT's pieces of words, as Hugging Face's WordPieceTrainer finds them: a "
           "tokenizer.json",
    .options = option_names,
    .check = check,
    .cutter_new = train_cutter_new,
    .learn = learn,
};
