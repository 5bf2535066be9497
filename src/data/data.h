/* data.h - from files to batches: Dataset (samples by index), Sampler (which index comes when),
 * Collator (samples to a batch), Loader (batches in order, made ahead in threads).
 *
 * Datasets, samplers and collators hold no position: position p of a sampler names the same sample
 * on every call, so the state of a loader is one number. Several threads may call them at once. All
 * of them belong to the arena they were made in. */
#ifndef DATA_DATA_H
#define DATA_DATA_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "tensor/target.h"
#include "tensor/tensor.h"
#include <stdbool.h>
#include <stdint.h>

enum { MAX_ITEMS = 8 };

/* One named array of a sample or a batch. */
typedef struct Item {
    const char *name;
    Tensor tensor;
} Item;

/* Tokens keep the type of their file: U8, U16, or I32 for 4-byte tokens. */
typedef struct Sample {
    int n;
    Item item[MAX_ITEMS];
} Sample;

/* Consecutive tokens of a .pbin file. */
typedef struct SamplePlace {
    const struct Pbin *file; /* NULL: the sample is none of these */
    int64_t first, n;
} SamplePlace;

typedef struct Dataset {
    int64_t (*count)(const struct Dataset *self);
    /* Sample `index` of [0, count). Its arrays are views of the dataset's files or come from
     * `scratch`, which is the caller's, and are read only. */
    Error *(*get)(const struct Dataset *self, int64_t index, Arena *scratch, Sample *out);
    /* Appends where sample `index` comes from ("data/train.pbin: tokens 512 to 768"), for errors.
     */
    void (*describe)(const struct Dataset *self, int64_t index, Text *out);
    /* The same in numbers; NULL where samples are no tokens of .pbin files. */
    SamplePlace (*locate)(const struct Dataset *self, int64_t index);
    bool is_ordered; /* its order has a meaning, so that samplers must not shuffle it */
} Dataset;

/* This rank's order of samples. */
typedef struct Sampler {
    int64_t (*count)(const struct Sampler *self);
    /* The dataset's index at `position` of [0, count). */
    int64_t (*index)(const struct Sampler *self, int64_t position);
    /* Samples are dealt out to n_ranks, of which this is one; 0: all have all of them. */
    int64_t rank, n_ranks;
} Sampler;

/* Groups of batch_size consecutive positions; a short rest is dropped. */
typedef struct BatchSampler {
    const Sampler *sampler;
    int64_t batch_size;
} BatchSampler;

/* Token items are I32 [batch, seq]; targets I32 [batch, seq] with IGNORED_TARGET where nothing is
 * learnt. */
typedef struct Batch {
    int n;
    Item item[MAX_ITEMS];
    int64_t n_samples;
    int64_t position; /* of its first sample in the sampler's order */
    Arena *arena;     /* of the tensors, whose memory is used again from batch to batch */
    size_t n_bytes[MAX_ITEMS];
} Batch;

/* The item of that name, or NULL. */
const Tensor *sample_find(const Sample *s, const char *name);
const Tensor *batch_find(const Batch *b, const char *name);
/* Adds an item; its tensor is to be filled. */
Tensor *batch_item(Batch *b, const char *name, Dtype dtype, int n_dims, const int64_t *size);
/* Forgets the items, keeps their memory. */
void batch_clear(Batch *b);

typedef struct Collator {
    /* Fills a cleared batch from n >= 1 samples. */
    Error *(*collate)(const struct Collator *self, const Sample *sample, int64_t n, Batch *out);
} Collator;

/* data_loader.default: batches of this rank in the sampler's order. With prefetch, threads make up
 * to `prefetch` batches ahead; with 0 they are made when asked for. The batches are the same. */
typedef struct Loader Loader;

typedef struct LoaderSettings {
    const char *tag; /* names the loader in progress and metrics: "train" */
    const Dataset *dataset;
    const BatchSampler *batches;
    const Collator *collator; /* NULL: every item is stacked under its own name */
    int prefetch;
    int n_threads;   /* that make batches ahead; 0 stands for one */
    bool pin_memory; /* a device that copies from pinned memory should pin the batches */
} LoaderSettings;

Loader *loader_new(Arena *a, const LoaderSettings *settings);
/* From now on a sample with an integer outside [0, vocab_size) is an error that names file, sample,
 * place in the sample, id and allowed range. Call it before the first batch. */
void loader_check_ids(Loader *l, int64_t vocab_size);
/* The next batch, or NULL in *out after the last one. It is the loader's and is overwritten by the
 * next call; no memory is allocated once every batch buffer was used. */
Error *loader_next(Loader *l, Batch **out);
/* The place of the sample at `position` of the order, described and in numbers. */
SamplePlace loader_locate(const Loader *l, int64_t position, int64_t *index, Text *description);
/* How often the next batch was not ready when it was asked for, and for how long; the first batch
 * after a start or a seek does not count. Without prefetch every batch is made while one waits. */
typedef struct LoaderWaits {
    int64_t n;
    double seconds;
} LoaderWaits;
LoaderWaits loader_waits(const Loader *l);
/* Samples of this rank handed out so far: all the state there is to save. */
int64_t loader_position(const Loader *l);
/* Continues with the sample at `position` of the sampler's order; 0 starts again. */
Error *loader_seek(Loader *l, int64_t position);
const char *loader_tag(const Loader *l);
bool loader_pins_memory(const Loader *l);
/* Batches in a full pass; samples of each batch. */
int64_t loader_count(const Loader *l);
int64_t loader_batch_size(const Loader *l);
#endif
