/* datasets.h - the datasets, as plain C calls; their files also hold the components of the same
 * name. */
#ifndef DATA_DATASETS_H
#define DATA_DATASETS_H
#include "config/field.h"
#include "data/data.h"
#include "tokenizer/tokenizer.h"

/* Consecutive blocks of a .pbin file, documents ignored. With reuse_last_target a block has
 * sequence_length + 1 tokens and shares one with the next block: every token but the first is a
 * target once. Without, blocks of sequence_length tokens do not overlap. Opens in constant time. */
typedef struct PackedContinuous {
    const char *raw_data_path, *sample_key;
    int64_t sequence_length;
    bool reuse_last_target;
} PackedContinuous;

Error *packed_continuous_open(Arena *a, const PackedContinuous *settings, Dataset **out);
/* Samples of n_tokens tokens: 0 when they do not fill one. */
int64_t packed_continuous_count(int64_t n_tokens, int64_t sequence_length, bool reuse_last_target);

/* Blocks of block_size tokens that begin where a document begins. Each takes as many whole
 * documents as fit and the beginning of the next one, which begins the next block again; of a
 * document longer than a block only the beginning is used. */
Error *packed_megatron_open(Arena *a, const char *raw_data_path, const char *sample_key,
                            int64_t block_size, Dataset **out);
/* The first token of each such block. Document i has the tokens [first[i], first[i + 1]). */
int64_t *megatron_starts(Arena *a, const int64_t *first, int64_t n_documents, int64_t block,
                         int64_t *n);

typedef enum { BLOCKS_CONTINUOUS, BLOCKS_MEGATRON } BlockRule;

/* The samples of the two above without packing: lines of JSON are tokenized when a sample is asked
 * for. Opening counts the tokens of all lines once. */
typedef struct JsonlOnTheFly {
    const char *raw_data_path, *index_path, *counts_path; /* paths may be NULL: beside the first */
    Tokenizer *tokenizer;
    const char *jq_pattern, *eod_token, *sample_key;
    int64_t sequence_length;
    bool reuse_last_target;
    int blocks;      /* BlockRule */
    int on_bad_line; /* BadLinePolicy */
    int64_t num_threads;
    int64_t max_line_bytes; /* 0: the default */
} JsonlOnTheFly;

Error *jsonl_on_the_fly_open(Arena *a, const JsonlOnTheFly *settings, Dataset **out);

/* One sample per line of JSON, tokenized when asked for; lengths differ, no EOD is added. */
typedef struct MemMap {
    const char *raw_data_path;
    const char *index_path; /* NULL: beside raw_data_path */
    Tokenizer *tokenizer;
    const char *jq_pattern, *sample_key;
    int64_t max_line_bytes; /* 0: the default */
} MemMap;

Error *mem_map_open(Arena *a, const MemMap *settings, Dataset **out);

/* The samples of several datasets, one dataset after the other. */
Dataset *combined_new(Arena *a, Dataset *const *dataset, int64_t n);

/* Other weights from sample `at_sample` of a mix on. */
typedef struct MixChange {
    int64_t at_sample;
    IntList weights;
} MixChange;

typedef struct WeightedMix {
    const Dataset *const *dataset;
    int64_t n_datasets;
    const int64_t *weights;
    int64_t n_weights;
    const MixChange *change;
    int64_t n_changes;
    int64_t num_samples; /* 0: until a dataset with a weight ends */
    bool shuffle;
    int64_t seed;
} WeightedMix;

/* Samples of several datasets, by weight: at every place each has had its share of the samples
 * since the last change, give or take less than one. */
Error *weighted_mix_new(Arena *a, const WeightedMix *settings, Dataset **out);

typedef enum { DUMMY_FLOAT, DUMMY_INT } DummyType;

typedef struct DummyItem {
    const char *sample_key;
    const int64_t *size;
    int64_t n_dims;
    DummyType type;
} DummyItem;

/* Random numbers of given shapes, for tests of speed: F32 N(0, 1), I32 of [0, 512). Sample i is
 * always the same. */
Error *dummy_new(Arena *a, int64_t num_samples, const DummyItem *item, int64_t n_items,
                 Dataset **out);
#endif
