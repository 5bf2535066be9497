/* train.h - learns a vocabulary from texts and writes it as a tokenizer.
 *
 * Words are counted in all files by threads, then a trainer learns from the counts: its kind is a
 * row of a table, and a file. The result does not depend on the number of threads. */
#ifndef TOKENIZER_TRAIN_TRAIN_H
#define TOKENIZER_TRAIN_TRAIN_H
#include "tokenizer/train/corpus.h"
#include "tokenizer/train/sentencepiece_settings.h"
#include "tokenizer/train/word_counts.h"

/* Told what is being done and how far it is; `done` of `total`. Called by the calling thread alone.
 */
typedef struct TrainProgress {
    void (*show)(void *arg, const char *what, int64_t done, int64_t total);
    void *arg;
} TrainProgress;

/* How texts become words for the kinds that write a tokenizer.json (pipeline.h). */
typedef enum {
    TRAIN_BYTE_LEVEL,
    TRAIN_CL100K,
    TRAIN_BERT,
    TRAIN_WHITESPACE,
    TRAIN_WHITESPACE_SPLIT,
} TrainPreTokenizer;
typedef enum {
    TRAIN_AS_IT_IS,
    TRAIN_NFC,
    TRAIN_NFD,
    TRAIN_NFKC,
    TRAIN_NFKD,
    TRAIN_BERT_NORMALIZER,
} TrainNormalizer;

/* Of the kinds `bpe` and `wordpiece`. */
typedef struct BpeTrainSettings {
    int64_t min_frequency;             /* a rarer pair is not merged */
    const char *const *special_tokens; /* they get the first ids */
    int64_t n_special_tokens;
    const char *unk_token;    /* one of them, for characters without a token; NULL: none */
    bool all_bytes;           /* every byte gets a token, not only those that occur */
    int64_t limit_alphabet;   /* keep so many characters, the most frequent; 0: all */
    int64_t max_token_length; /* tokens are shorter than this, in characters; 0: any length */
    const char *prefix;       /* of tokens that go on in a word, as "##"; NULL: none */
    const char *suffix;       /* of tokens that end a word, as "</w>"; NULL: none */
    TrainPreTokenizer pre_tokenizer;
    bool add_prefix_space; /* of TRAIN_BYTE_LEVEL: a text starts with a blank */
    TrainNormalizer normalizer;
    bool clean_text, handle_chinese_chars, strip_accents, lowercase; /* of TRAIN_BERT_NORMALIZER */
} BpeTrainSettings;

typedef struct TrainSettings {
    CorpusSettings corpus;
    int64_t vocab_size; /* ids at the end, if the texts give that many */
    int64_t max_words;  /* beyond so many different words the rarest are forgotten; 0: never */
    int n_threads;      /* 0: all */
    TrainProgress progress;
    BpeTrainSettings bpe;
    SpTrainSettings sentencepiece; /* of the kinds sentencepiece_bpe and sentencepiece_unigram */
    const void *prepared;          /* by the kind */
} TrainSettings;

typedef struct TrainSummary {
    int64_t n_bytes, n_texts, n_skipped, n_words; /* of the corpus; different words */
    int64_t dropped_count; /* words that occurred up to so often may have been forgotten; 0: none */
    int64_t n_ids;
    int64_t n_merges, min_count;    /* of kinds that merge; of the pair merged last */
    int64_t n_too_long, n_reserved; /* lines that SentencePiece leaves out: too long; with U+2585 */
} TrainSummary;

/* Cuts texts into the words that are counted. Each thread has its own; `cut` adds the words of a
 * text (valid UTF-8, not empty) to the counts; an error says why there are none, and must come
 * before the first one. `is_start` is false for a text that goes on where another ended. A kind's
 * own cutter starts with it; `free` releases what is not the arena's. */
typedef struct WordCutter {
    Error *(*cut)(struct WordCutter *self, Str text, bool is_start, WordCounts *to);
    void (*free)(struct WordCutter *self);
    int64_t place; /* of the text (corpus.h) */
} WordCutter;

/* A way to learn a vocabulary. */
typedef struct TrainerKind {
    const char *name, *doc; /* "bpe"; one sentence */
    /* Options of `tokenizer train` that concern this kind, but not every kind; ends with NULL. */
    const char *const *options;
    /* Refuses settings before anything is read; NULL: all are good. */
    Error *(*check)(const TrainSettings *s);
    /* Makes what all cutters and `learn` read: they find it in the settings. NULL: nothing. */
    Error *(*prepare)(Arena *a, const TrainSettings *s, const void **prepared);
    /* A cutter for one thread; its own memory comes from the arena. */
    Error *(*cutter_new)(Arena *a, const TrainSettings *s, WordCutter **out);
    /* Learns, and appends the content of the file to write. Sets n_ids of the summary. Between its
     * steps it calls train_step. */
    Error *(*learn)(const TrainSettings *s, const WordCounts *words, Text *file,
                    TrainSummary *summary);
} TrainerKind;

extern const TrainerKind trainer_bpe, trainer_wordpiece;
/* All kinds; ends with NULL. */
extern const TrainerKind *const trainer_kinds[];

/* Shows progress; an error when a stop was asked for. */
Error *train_step(const TrainSettings *s, const char *what, int64_t done, int64_t total);

/* Counts words; the caller frees `out`. */
Error *train_count(const TrainerKind *kind, const TrainSettings *s, WordCounts *out,
                   TrainSummary *summary);

/* Counts, learns, and writes the file, which appears when it is complete. */
Error *tokenizer_train(const TrainerKind *kind, const TrainSettings *s, const char *output_path,
                       TrainSummary *summary);
#endif
