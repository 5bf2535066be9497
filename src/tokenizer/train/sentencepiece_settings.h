/* sentencepiece_settings.h - the options of SentencePiece's trainer, by its names. */
#ifndef TOKENIZER_TRAIN_SENTENCEPIECE_SETTINGS_H
#define TOKENIZER_TRAIN_SENTENCEPIECE_SETTINGS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct SpTrainSettings {
    const char *normalization_rule_name; /* of normalize/charsmap_rules.h */
    bool add_dummy_prefix, remove_extra_whitespaces;
    double character_coverage; /* share of the characters that get a piece; the rarest get none */
    const char *required_chars;
    bool byte_fallback;
    const char *const *control_symbols, *const *user_defined_symbols;
    int64_t n_control_symbols, n_user_defined_symbols;
    int64_t unk_id, bos_id, eos_id, pad_id; /* -1: there is none */
    const char *unk_piece, *bos_piece, *eos_piece, *pad_piece, *unk_surface;

    /* Which texts may be pieces. */
    bool split_by_whitespace, split_by_unicode_script, split_by_number, split_digits;
    bool treat_whitespace_as_suffix, allow_whitespace_only_pieces;
    int64_t max_sentencepiece_length; /* characters */

    int64_t max_sentence_length; /* bytes; a longer line is left out */
    int64_t input_sentence_size; /* learn from so many lines; 0: all */
    bool shuffle_input_sentence; /* drawn by chance, else the first */
    bool hard_vocab_limit;       /* fewer pieces than vocab_size are an error */

    /* Of unigram. */
    int64_t seed_sentencepiece_size, num_sub_iterations;
    double shrinking_factor;
} SpTrainSettings;

/* SentencePiece's defaults. */
SpTrainSettings sp_train_defaults(void);
#endif
