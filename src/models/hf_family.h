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
    HF_HEAD_QUERIES, /* rows of one tensor: for each head its query, its key, its value */
    HF_HEAD_KEYS,
    HF_HEAD_VALUES,
    HF_LATENT_VECTOR, /* rows of one tensor: those of the narrow vector, then of what turns */
    HF_LATENT_ROPE,
    HF_LATENT_KEYS, /* rows of one tensor: for each head what does not turn of its key, its value */
    HF_LATENT_VALUES,
    HF_LATENT_QUERIES, /* what turns of a head comes last */
    HF_GATED_QUERIES,  /* rows of one tensor: for each head its query, then gates of its features */
    HF_FEATURE_GATES,
    HF_LINEAR_QUERIES, /* rows of one tensor: for each head of keys of linear attention its query,
                          its key, its values, their gates */
    HF_LINEAR_KEYS,
    HF_LINEAR_VALUES,
    HF_LINEAR_GATES,
    HF_LINEAR_RATES, /* likewise, a row for each head of values: rates, then decays */
    HF_LINEAR_DECAYS,
    HF_ALL_QUERIES, /* rows of one tensor: of all heads of linear attention, then keys, then values;
                       of convolutions, too, which have a dimension of 1 */
    HF_ALL_KEYS,
    HF_ALL_VALUES,
    HF_FIRST_COLUMNS, /* half of those of a tensor */
    HF_SECOND_COLUMNS,
    HF_SPACE_GATES, /* rows of one tensor: of all heads of a state space their gates, then values;
                       keys and queries of groups; a row for the step of each head. Those of
                       convolutions have neither gates nor steps */
    HF_SPACE_VALUES,
    HF_SPACE_KEYS,
    HF_SPACE_QUERIES,
    HF_SPACE_STEPS,
    HF_EXPERTS,      /* a tensor for each expert */
    HF_STACKED,      /* all experts in one tensor, each transposed */
    HF_STACKED_EVEN, /* likewise, as every second column: of biases, too */
    HF_STACKED_ODD,
    HF_STACKED_ROWS,       /* all experts in one tensor, as they are */
    HF_STACKED_FIRST_HALF, /* likewise, as half of the rows of each */
    HF_STACKED_SECOND_HALF,
    HF_ROW,           /* a vector as the one row of a matrix */
    HF_OF_TWO_NORMS,  /* the same, where RESIDUAL_TWO_NORMS is */
    HF_GROUP_QUERIES, /* rows of one tensor: for each key head its queries, the key, the value */
    HF_GROUP_KEYS,
    HF_GROUP_VALUES
} HfLayout;

/* `%` stands for the layer, `#` for the expert, `*` at the end for "weight" or "bias". */
typedef struct HfName {
    const char *ours, *theirs;
    HfLayout layout;
} HfName;

/* What the class computes. */
enum {
    HF_QKV_BIAS = 1 << 0,      /* whatever config.json says */
    HF_QK_NORM = 1 << 1,       /* of each head, before rope */
    HF_QK_NORM_WIDTH = 1 << 2, /* of all heads together */
    HF_FROM_ONE = 1 << 3,      /* norms store weight - 1 */
    HF_SCALED_EMBEDDING = 1 << 4,
    HF_SANDWICH = 1 << 5,    /* norms before a layer and after it */
    HF_POST_NORM = 1 << 6,   /* after it only */
    HF_SPARSE = 1 << 7,      /* mixtures of experts */
    HF_GPT2 = 1 << 8,        /* learned positions, one plain feed-forward layer */
    HF_NORMALIZED = 1 << 9,  /* the weights of a token's experts always add up to 1 */
    HF_ALL_SPARSE = 1 << 10, /* each layer is a mixture, of experts of intermediate_size */
    HF_PLAIN = 1 << 11,      /* feed-forward layers without a gate */
    HF_DIVIDED = 1 << 12,    /* heads must divide the width, even if head_dim is given */
    HF_NO_DROPOUT = 1 << 13, /* it is behind feed-forward layers alone, which is not built */
    HF_LAYER_NORM = 1 << 14,
    HF_NORM_BIAS = 1 << 15,
    HF_NO_NORM_WEIGHT = 1 << 16, /* and eps is the class's */
    HF_BIASED = 1 << 17,         /* keys of biases that are silent mean true */
    HF_QKV_ALONE = 1 << 18,      /* attention_bias is theirs, without that of what follows */
    HF_FFN_BIAS = 1 << 19,       /* whatever config.json says */
    HF_PARALLEL = 1 << 20,       /* attention and feed-forward layers side by side */
    HF_ONE_NORM = 1 << 21,       /* where they are, they read one norm */
    HF_INTERLEAVED = 1 << 22,    /* features that turn together lie side by side */
    HF_NO_GROUPS = 1 << 23,      /* as many key heads as query heads, whatever config.json says */
    HF_SQUARE = 1 << 24,         /* heads are as wide as the width divided by their number */
    HF_SOFT_CAPS = 1 << 25,      /* scores and logits may be bent, and scores have a scale */
    HF_SIGMOID_ROUTER = 1 << 26, /* with biases for the choice, and shared experts */
    HF_SHARED_EXPERT = 1 << 27,  /* one, behind a gate */
    HF_AFMOE = 1 << 28, /* gated attention, and names of its own for the mixture and the layers */
    HF_PHI3 = 1 << 29,  /* longrope by other names, its original length beside its parameters */
    HF_LATENT =
        1 << 30 /* keys and values from a narrow vector; its norms have an eps of their own */
};

/* Keys of config.json that count, where most classes do not have them. */
enum {
    HF_ATTENTION_BIAS = 1 << 0,
    HF_MLP_BIAS = 1 << 1,
    HF_USE_BIAS = 1 << 2,     /* of all linear layers */
    HF_USE_QKV_BIAS = 1 << 3, /* or qkv_bias */
    HF_NO_ROPE_LAYERS = 1 << 4,
    HF_MULTIPLIERS = 1 << 5, /* of embeddings, scores, what layers add, and logits */
    HF_LOGIT_SCALE = 1 << 6,
    HF_PARALLEL_RESIDUAL = 1 << 7,
    HF_USE_QK_NORM = 1 << 8, /* of each head, before rope */
    HF_OUT_BIAS = 1 << 9,    /* attention_out_bias */
    HF_USE_SLIDING_WINDOW = 1 << 10,
    HF_TOPK_METHOD = 1 << 11, /* scores are a softmax, and it says whether experts have groups */
    HF_MLP_LAYER_TYPES = 1 << 12,
    HF_GPT_OSS = 1 << 13, /* attention sinks; bounded gates and biases in the mixture */
    HF_XIELU = 1 << 14, /* may be the activation, with learned numbers and two constants in files */
    HF_SCALED_ROPE =
        1 << 15, /* where nothing is said of it the class scales rope by numbers of its own */
    HF_NEXTN = 1 << 16,      /* blocks for later tokens come behind the others, each a mixture */
    HF_GPT2_KEYS = 1 << 17,  /* options are called as GPT-2 calls them */
    HF_ROTARY_DIM = 1 << 18, /* may say how many features of a head turn */
    HF_ALL_BIASES = 1 << 19, /* of the layers of a block, whatever config.json says */
    HF_HEAD_BIAS = 1 << 20,  /* always */
    HF_NORM_AFTER_ROPE = 1 << 21,
    HF_SIGMOIDS = 1 << 22,  /* scores of the router are, with biases for the choice */
    HF_ERNIE_MOE = 1 << 23, /* names of its own for the mixture, which has biases for the choice */
    HF_HUNYUAN_MOE = 1 << 24, /* likewise; a shared expert as wide as the others */
    HF_FALCON = 1 << 25,      /* names of its own for most */
    HF_LINEAR = 1 << 26, /* layers may be of linear attention, and heads of the others are gated */
    HF_STATE_SPACE = 1 << 27,     /* layers may be state spaces */
    HF_POSITION_TYPE = 1 << 28,   /* positions turn where it says so */
    HF_SHARED_ALONE = 1 << 29,    /* an expert that every token goes through, without a gate, and
                                     perhaps no others */
    HF_ATTENTION_LAYERS = 1 << 30 /* a list of the layers that have attention, where half of a head
                                     turns, whatever config.json says */
};

/* What a window is in layers that config.json does not list in layer_types. */
typedef enum HfWindows {
    HF_NO_WINDOW, /* the class has none, whatever config.json says */
    HF_WINDOW_EACH,
    HF_WINDOW_ALTERNATING,
    HF_WINDOW_PATTERN,
    HF_WINDOW_UPPER,
    HF_WINDOW_LOWER,   /* in every second one of the lower layers */
    HF_WINDOW_NO_ROPE, /* in layers whose positions do not turn */
    HF_WINDOW_ROPE,    /* by a pattern; positions of the others do not turn */
    HF_WINDOW_HYBRID   /* likewise, but all turn where there is no window */
} HfWindows;

typedef struct HfFamily {
    const char *model_type, *class_name, *block_class;
    const HfName *first, *names; /* tables of names, looked up in this order; ends with empty row */
    unsigned flags, options;
    HfWindows windows;
    /* What holds where config.json is silent; sizes of 0: it must not be. */
    int64_t vocab_size, n_heads, n_key_heads;
    double theta, eps;
    int64_t max_positions, head_width; /* head_width 0: width / heads */
    int64_t window;                    /* 0: none */
    int64_t pattern; /* each such layer sees all, others have the window; of HF_WINDOW_UPPER: layers
                        below see all */
    double local_theta; /* of those; 0: theta */
    double attention_cap, logit_cap;
    /* Of the features of a head, how many turn; 0: all, whatever config.json says. */
    double rotary_share;
    /* NULL: rms_norm_eps, rope_theta, partial_rotary_factor */
    const char *eps_key, *theta_key, *share_key;
    const char *activation;
    bool is_tied;
    const char *dropout_key, *embedding_dropout_key; /* NULL: the class has none there */
    double dropout;                                  /* attention's, too */
} HfFamily;

extern const HfFamily hf_families[]; /* ends with an empty row */
/* By model_type; NULL: there is none. */
const HfFamily *hf_family_find(const char *model_type);

/* A number that files have as a tensor of each layer, always the same; `%` stands for the layer. */
typedef struct HfConstant {
    const char *name;
    double value;
} HfConstant;

/* Those of a decoder of the family; ends with an empty one. */
const HfConstant *hf_constants(const HfFamily *f, const Decoder *d);
const char *hf_constant_name(Arena *a, const HfConstant *c, int64_t layer);

/* Whether files of the family have the decoder's blocks for later tokens; else *why, if there are
 * some, says what is in the way. */
bool hf_takes_ahead(const HfFamily *f, const Decoder *d, const char **why);
/* What such a block shares with the model, and has again in files: tensors "model.layers.N.<copy>".
 */
typedef struct HfShared {
    const char *tensor, *copy;
} HfShared;
extern const HfShared hf_shared[]; /* ends with an empty one */

/* Where a parameter lies in the tensors of a file. */
typedef struct HfSource {
    const char **tensor; /* names: one, or one for each expert */
    int64_t n_tensors;
    int n_dims; /* of each of them */
    int64_t size[MAX_DIMS];
    /* Element (row, column) of the parameter, or of its part of an expert, within the tensor. A
     * vector is a column. */
    int64_t base, row_stride, column_stride;
    int64_t part_stride; /* from one expert to the next, where one tensor has all; 0: else */
    /* Where `head` is not 0, so many rows are a head, heads are `head_stride` rows apart, and of
     * the features of one so many turn, in pairs that lie side by side or not. */
    int64_t head, head_stride, turning;
    int64_t group,
        group_stride; /* so many heads lie together, and groups so many rows apart; 0: all */
    bool interleaved, turns_last;
} HfSource;

/* The element of the tensor that the row begins with. */
int64_t hf_source_row(const HfSource *s, int64_t row);

/* Of a model with the heads of `d`. An error when the family has no place for such a parameter. */
Error *hf_source(Arena *a, const HfFamily *f, const Decoder *d, const char *param, int n_dims,
                 const int64_t *size, HfSource *out);
#endif
