/* trained_sentencepiece.h - SentencePiece models that tests train. */
#ifndef TESTS_TRAINED_SENTENCEPIECE_H
#define TESTS_TRAINED_SENTENCEPIECE_H
#include "tokenizer/train/sentencepiece.h"

#define BLANK "\xE2\x96\x81"
enum { BPE, UNIGRAM };

/* SentencePiece's defaults, one thread. */
TrainSettings trained_settings(const char *const *path, int64_t vocab_size);
const TrainerKind *trained_kind(int which);
/* Writes a text to learn from; its path. */
const char *trained_text(Arena *a, const char *text);
/* The trained file's bytes; it is left at *path. */
Str trained_bytes(Arena *a, int which, const TrainSettings *s, const char **path,
                  TrainSummary *summary);
SpFile trained_model(Arena *a, int which, const TrainSettings *s);
SpFile trained_model_of(Arena *a, int which, const TrainSettings *s, const char *text);
bool trained_has(const SpFile *f, const char *name);
SpType trained_type(const SpFile *f, const char *name);
/* Characters of a piece. */
int trained_chars(Str s);
/* Words of few letters, in lines; some digits, blanks, marks, and other scripts. */
const char *trained_lines(Arena *a, uint64_t seed, int n_lines);
#endif
