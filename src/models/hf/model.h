/* model.h - a model from a Hugging Face folder. */
#ifndef MODELS_HF_MODEL_H
#define MODELS_HF_MODEL_H
#include "models/hf/config.h"

/* The model of a folder or of a name in the local cache (hf_find); its weights come from there when
 * a program is made, unless an initializer is set. */
Error *hf_model_new(Arena *a, const char *name, const char *sample_key, const char *prediction_key,
                    Model **out);
/* The same with the blocks for later tokens that the folder has, whose losses count by `weight` in
 * training. An error: config.json has none. */
Error *hf_model_ahead_new(Arena *a, const char *name, const char *sample_key,
                          const char *prediction_key, double weight, Model **out);
#endif
