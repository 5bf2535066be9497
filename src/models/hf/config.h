/* config.h - config.json of a Hugging Face model as the description of a decoder. */
#ifndef MODELS_HF_CONFIG_H
#define MODELS_HF_CONFIG_H
#include "models/decoder.h"
#include "models/hf/family.h"

/* How the numbers of weights are packed in a folder's files. */
typedef struct HfPacking {
    enum {
        HF_UNPACKED,
        HF_MXFP4,  /* experts' weights are of four bits */
        HF_FP8,    /* those that are of eight bits have scales beside them */
        HF_TERNARY /* those of linear layers of blocks are -1, 0 and 1, with a scale each */
    } format;
    int64_t block[2]; /* of HF_FP8: rows and columns of a weight that share a scale; 0: all */
    bool has_halves;  /* of HF_FP8: experts may be of four bits, two in a byte */
    bool divides;     /* of HF_TERNARY: the scale divides, else it multiplies */
} HfPacking;

/* A model of a folder with config.json. */
typedef struct HfModel {
    const char *folder; /* as the user gave it, or where the cache has it */
    const HfFamily *family;
    const HfFamily *of_files; /* by whose names the folder's tensors lie; another than `family`
                                 where those of a larger model do not lie as its text's */
    const Decoder *decoder;
    bool is_part; /* the language model of a larger one, with images, say, or without their token
                     ids */
    HfPacking packing;
    const int64_t *layer_of; /* the layer of the files that each block is; NULL: they count alike */
    bool base_layers; /* weights may be those of base_layer, beside adapters that text does not use
                       */
    int64_t rows_beyond; /* of embeddings, which files have behind those of token ids */
    int64_t n_ahead; /* blocks for later tokens that the files may have; `layer` of the decoder has
                        them, too */
    Dtype dtype; /* that the folder's numbers are stored in, as config.json says; F32 if it does not
                  */
} HfModel;

/* Reads FOLDER/config.json. Errors: a class that is not known, with those of its options that no
 * known class has; an option with a value that is not known; what is missing or of another type,
 * with its place. */
Error *hf_config_read(Arena *a, const char *folder, HfModel *out);
/* The same from a tree; `path` is for errors. */
Error *hf_config_parse(Arena *a, const Yaml *root, const char *path, HfModel *out);
/* The folder that a name stands for: a folder itself, or "owner/name" in the local cache of Hugging
 * Face (HF_HUB_CACHE, HF_HOME, ~/.cache/huggingface). Nothing is downloaded. */
Error *hf_find(Arena *a, const char *name, const char **folder);
#endif
