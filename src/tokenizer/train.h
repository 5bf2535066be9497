/* train.h - learns a byte-level BPE vocabulary from texts, as the library's BpeTrainer does.
 *
 * Words are counted in all files by threads, then merges are chosen by their counts. The result
 * does not depend on the number of threads. */
#ifndef TOKENIZER_TRAIN_H
#define TOKENIZER_TRAIN_H
#include "tokenizer/corpus.h"
#include "tokenizer/word_counts.h"

/* Told what is being done and how far it is; `done` of `total`. Called by the calling thread alone.
 */
typedef struct TrainProgress {
    void (*show)(void *arg, const char *what, int64_t done, int64_t total);
    void *arg;
} TrainProgress;

typedef struct TrainSettings {
    CorpusSettings corpus;
    int64_t vocab_size;                /* ids at the end, if the texts give that many */
    int64_t min_frequency;             /* a rarer pair is not merged */
    const char *const *special_tokens; /* they get the first ids */
    int64_t n_special_tokens;
    bool all_bytes;           /* every byte gets a token, not only those that occur */
    int64_t limit_alphabet;   /* keep so many characters, the most frequent; 0: all */
    int64_t max_token_length; /* tokens are shorter than this, in bytes; 0: any length */
    bool add_prefix_space;    /* of the pre-tokenizer: a text starts with a blank */
    int64_t max_words; /* beyond so many different words the rarest are forgotten; 0: never */
    int n_threads;     /* 0: all */
    TrainProgress progress;
} TrainSettings;

typedef struct TrainSummary {
    int64_t n_bytes, n_texts, n_skipped, n_words; /* of the corpus; different words */
    int64_t dropped_count; /* words that occurred up to so often may have been forgotten; 0: none */
    int64_t n_ids, n_merges;
    int64_t min_count; /* of the pair merged last */
} TrainSummary;

/* Counts words; the caller frees `out`. */
Error *train_count(const TrainSettings *s, WordCounts *out, TrainSummary *summary);

/* What was learnt. Names are in the byte alphabet. */
typedef struct TrainedBpe {
    const char **name; /* by id */
    int64_t n_ids;
    uint32_t (*merge)[2];
    int64_t n_merges;
} TrainedBpe;

/* Chooses the merges; everything belongs to the arena. */
Error *train_merges(Arena *a, const TrainSettings *s, const WordCounts *words, TrainedBpe *out,
                    TrainSummary *summary);

/* Both, and writes a tokenizer.json that Hugging Face's library loads. */
Error *tokenizer_train(const TrainSettings *s, const char *output_path, TrainSummary *summary);
#endif
