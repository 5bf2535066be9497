/* hf_save.h - a Hugging Face folder, written. */
#ifndef CHECKPOINT_HF_SAVE_H
#define CHECKPOINT_HF_SAVE_H
#include "checkpoint/safetensors.h"

enum { HF_SHARD_MB = 5000 }; /* a file of weights is not larger, as transformers writes them */

typedef struct HfFolder {
    const char *path;
    const char *config;    /* text of config.json */
    const char *tokenizer; /* folder whose tokenizer files are copied; NULL: none */
    const NamedTensor *tensor;
    int64_t n;
    int64_t shard_bytes; /* 0: HF_SHARD_MB */
} HfFolder;

/* Writes config.json, model.safetensors (or shards with their index) and the tokenizer's files. The
 * folder appears complete or not at all; one of that name is an error. */
Error *hf_save(Arena *a, const HfFolder *f);
#endif
