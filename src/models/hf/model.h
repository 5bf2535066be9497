/* model.h - a model from a Hugging Face folder. */
#ifndef MODELS_HF_MODEL_H
#define MODELS_HF_MODEL_H
#include "models/hf/config.h"

/* The model of a folder or of a name in the local cache (hf_find); its weights come from there when
 * a program is made, unless an initializer is set. */
Error *hf_model_new(Arena *a, const char *name, const char *sample_key, const char *prediction_key,
                    Model **out);

/* What is trained that config.json has no word for. */
typedef struct HfTraining {
    double multi_token_weight; /* of the losses of the blocks for later tokens that the folder has;
                                  0: these blocks are left out */
    double index_loss;         /* of indexers of sparse attention; 0: they are not trained */
} HfTraining;

/* The same with that. An error: the folder has no such blocks, or no indexers. */
Error *hf_model_trained_new(Arena *a, const char *name, const char *sample_key,
                            const char *prediction_key, const HfTraining *t, Model **out);
#endif
