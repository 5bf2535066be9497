/* hf_family.h - the families of Hugging Face models that are read and written: one row each. */
#ifndef MODELS_HF_FAMILY_H
#define MODELS_HF_FAMILY_H
#include "models/decoder.h"

/* How a parameter lies in the tensors of a file. */
typedef enum HfLayout {
    HF_SAME,
    HF_TRANSPOSED,
    HF_FIRST_THIRD, /* transposed, as a third of a fused one */
    HF_SECOND_THIRD,
    HF_LAST_THIRD,
    HF_QUERIES, /* rows of one tensor: those of all queries, then of keys, then of values */
    HF_KEYS,
    HF_VALUES,
    HF_FIRST_HALF, /* of the rows */
    HF_SECOND_HALF,
    HF_EXPERTS /* a tensor for each expert */
} HfLayout;

/* `%` stands for the layer, `#` for the expert, `*` at the end for "weight" or "bias". */
typedef struct HfName {
    const char *ours, *theirs;
    HfLayout layout;
} HfName;

enum {
    HF_QKV_BIAS = 1,      /* whatever config.json says */
    HF_QK_NORM = 2,       /* of each head, before rope */
    HF_QK_NORM_WIDTH = 4, /* of all heads together */
    HF_FROM_ONE = 8,      /* norms store weight - 1 */
    HF_SCALED_EMBEDDING = 16,
    HF_SANDWICH = 32,     /* norms before a layer and after it */
    HF_POST_NORM = 64,    /* after it only */
    HF_SPARSE = 128,      /* mixtures of experts */
    HF_GPT2 = 256,        /* layer norms, learned positions, one plain feed-forward layer */
    HF_NORMALIZED = 512,  /* the weights of a token's experts always add up to 1 */
    HF_BIASES = 1024,     /* attention_bias counts */
    HF_MLP_BIAS = 2048,   /* mlp_bias does */
    HF_ALL_SPARSE = 4096, /* each layer is a mixture, of experts of intermediate_size */
    HF_PLAIN = 8192,      /* feed-forward layers without a gate */
    HF_NO_ROPE = 16384,   /* no_rope_layers counts */
    HF_DIVIDED = 32768, /* the class asks that heads divide the width, even if head_dim is given */
    HF_NO_DROPOUT = 65536,  /* resid_pdrop would count, and is not built for gated layers */
    HF_MULTIPLIERS = 131072 /* of embeddings, scores, what layers add, and logits */
};

/* What a window is in layers that config.json does not list in layer_types. */
typedef enum HfWindows {
    HF_NO_WINDOW, /* the class has none, whatever config.json says */
    HF_WINDOW_EACH,
    HF_WINDOW_ALTERNATING,
    HF_WINDOW_PATTERN,
    HF_WINDOW_UPPER,
    HF_WINDOW_NO_ROPE /* in layers whose positions do not turn */
} HfWindows;

typedef struct HfFamily {
    const char *model_type, *class_name, *block_class;
    const HfName *first, *names; /* tables of names, looked up in this order; ends with empty row */
    unsigned flags;
    HfWindows windows;
    /* What holds where config.json is silent; sizes of 0: it must not be. */
    int64_t vocab_size, n_heads, n_key_heads;
    double theta, eps;
    int64_t max_positions, head_width; /* head_width 0: width / heads */
    int64_t window;                    /* 0: none */
    int64_t pattern;                   /* each such layer sees all, others have the window */
    double local_theta;                /* of those; 0: theta */
    double attention_cap, logit_cap;
    const char *activation;
    bool is_tied;
} HfFamily;

extern const HfFamily hf_families[]; /* ends with an empty row */
/* By model_type; NULL: there is none. */
const HfFamily *hf_family_find(const char *model_type);

/* Where a parameter lies in the tensors of a file. */
typedef struct HfSource {
    const char **tensor; /* names: one, or one for each expert */
    int64_t n_tensors;
    int n_dims; /* of each of them */
    int64_t size[MAX_DIMS];
    /* Element (row, column) of the parameter, or of its part of an expert, within the tensor. */
    int64_t base, row_stride, column_stride;
} HfSource;

/* Of a model with the heads of `d`. An error when the family has no place for such a parameter. */
Error *hf_source(Arena *a, const HfFamily *f, const Decoder *d, const char *param, int n_dims,
                 const int64_t *size, HfSource *out);
#endif
