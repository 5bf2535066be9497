/* hf_weights.h - the numbers of a Hugging Face folder, as a checkpoint that holds parameters only.
 */
#ifndef CHECKPOINT_HF_WEIGHTS_H
#define CHECKPOINT_HF_WEIGHTS_H
#include "checkpoint/checkpoint.h"
#include "models/hf/config.h"

/* The parameters `param` (names, without "app.model.", and sizes) from the folder's
 * model.safetensors, or from the shards that model.safetensors.index.json lists; where there is
 * neither, from pytorch_model.bin likewise. Errors name file
 * and tensor: a shard or tensor that is not there, another shape than config.json asks for. */
Error *hf_weights_open(Arena *a, const HfModel *m, const CheckpointEntry *param, int64_t n,
                       CheckpointReader **out);
/* Whether the folder has blocks for later tokens that the model leaves out; their tensors as
 * patterns, and why. */
bool hf_weights_ahead(Arena *a, const HfModel *m, const char **tensors, const char **why);
#endif
