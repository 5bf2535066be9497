/* tokenizer_train.h - the options of `tokenizer train`, and the settings they stand for. */
#ifndef CLI_TOKENIZER_TRAIN_H
#define CLI_TOKENIZER_TRAIN_H
#include "config/field.h"
#include "tokenizer/train/pipeline.h"
#include "tokenizer/train/sentencepiece.h"

enum { ALPHABET_BYTES, ALPHABET_SEEN }; /* values of initial_alphabet */

/* What only some kinds know may be NULL: not given. */
typedef struct TrainOptions {
    StringList input_path, special_tokens;
    const char *output_path, *text_key, *bad_line_report;
    int model, format, file_existence_policy, on_bad_line;
    const char *unk_token, *continuing_subword_prefix, *end_of_word_suffix;
    const int *initial_alphabet, *pre_tokenizer, *normalizer;
    int64_t vocab_size, max_words, max_line_bytes, threads;
    const int64_t *min_frequency, *limit_alphabet, *max_token_length;
    const bool *add_prefix_space, *clean_text, *handle_chinese_chars, *strip_accents, *lowercase;

    /* SentencePiece's (tokenizer/train/sentencepiece_settings.h) */
    StringList control_symbols, user_defined_symbols;
    const int *normalization_rule_name;
    const char *required_chars, *unk_piece, *bos_piece, *eos_piece, *pad_piece, *unk_surface;
    const bool *add_dummy_prefix, *remove_extra_whitespaces, *byte_fallback, *split_by_whitespace,
        *split_by_unicode_script, *split_by_number, *split_digits, *treat_whitespace_as_suffix,
        *allow_whitespace_only_pieces, *shuffle_input_sentence, *hard_vocab_limit;
    const int64_t *unk_id, *bos_id, *eos_id, *pad_id, *max_sentencepiece_length,
        *max_sentence_length, *input_sentence_size, *seed_sentencepiece_size, *num_sub_iterations;
    const double *character_coverage, *shrinking_factor;
} TrainOptions;

/* What is not given is as in the library that the kind is from. */
BpeTrainSettings bpe_train_settings(const TrainOptions *o, bool is_wordpiece);
SpTrainSettings sentencepiece_train_settings(const TrainOptions *o);
/* Options that the chosen normalizer does not know. */
Error *refuse_flags_without_bert(const TrainOptions *o, const BpeTrainSettings *s);
#endif
