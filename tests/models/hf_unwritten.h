/* hf_unwritten.h - small models of Hugging Face folders, and the tensors that files have of them.
 */
#ifndef TESTS_HF_UNWRITTEN_H
#define TESTS_HF_UNWRITTEN_H
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "models/hf/model.h"

/* How a folder's tensors are stored. */
typedef enum HfStore {
    ONE_FILE,
    TORCH_FILE,
    TORCH_SHARDS,
    PART_OF_5,
    PART_OF_4,
    TEXT_PART,
    WHOLE_TEXT,
    THINKER,
    THINKER_PART,
    BASE_LAYERS
} HfStore;

/* A model of a folder without weights, with parameters, and the tensors that a file has of them. */
typedef struct HfUnwritten {
    const char *folder;
    Model *model;
    NamedTensor *param, *file;
    int64_t n, n_file;
} HfUnwritten;

/* Of a folder whose config.json has these members; with blocks for later tokens where `ahead` is
 * above 0. */
HfUnwritten hf_unwritten(Arena *a, const char *members);
HfUnwritten hf_unwritten_ahead(Arena *a, const char *members, double ahead);
/* Members of config.json that are enough for every family, of small sizes. */
const char *hf_members(Arena *a, const HfFamily *f);
/* The parameters of a folder's model, each element its own number. */
NamedTensor *hf_numbered(Arena *a, const Model *m, int64_t *n);
/* The tensor of this name, which is there. */
NamedTensor *hf_named(NamedTensor *file, const char *name);
/* Tensors are called as `how` wants it. */
void hf_store(Arena *a, const char *folder, HfStore how, NamedTensor *file, int64_t n);
/* An index.json with this weight_map. */
void hf_write_index(Arena *a, const char *path, const char *map);
/* Opens the folder's weights for such parameters. */
Error *hf_open(Arena *a, const Model *m, const NamedTensor *param, int64_t n,
               CheckpointReader **out);
#endif
