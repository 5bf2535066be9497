/* write.h - a decoder as the config.json of a standard class of transformers. */
#ifndef MODELS_HF_WRITE_H
#define MODELS_HF_WRITE_H
#include "models/hf/config.h"

/* The class that computes the same, and its config.json: `wanted` if that is one (NULL: any).
 * Numbers are stored as `dtype`. An error names the closest class, and the option that is in its
 * way. */
Error *hf_config_write(Arena *a, const Decoder *d, Dtype dtype, const HfFamily *wanted,
                       const HfFamily **family, Text *out);
/* config.json of the original's own class for models with layer norms and RoPE, which needs its
 * Python files beside it; its tensors are named as Llama's (*family). An error names the option
 * that the class lacks. */
Error *hf_custom_config_write(Arena *a, const Decoder *d, Dtype dtype, const HfFamily **family,
                              Text *out);
#endif
