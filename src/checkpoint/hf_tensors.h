/* hf_tensors.h - parameters in Hugging Face's names and layouts. */
#ifndef CHECKPOINT_HF_TENSORS_H
#define CHECKPOINT_HF_TENSORS_H
#include "checkpoint/safetensors.h"
#include "models/hf/source.h"

/* Parameters of `d`, or what is shaped like them, as the tensors of the family: fused and
 * transposed ones are copied, experts come apart. In order of first use. */
Error *hf_tensors(Arena *a, const HfFamily *f, const Decoder *d, const NamedTensor *param,
                  int64_t n, NamedTensor **out, int64_t *n_out);
#endif
