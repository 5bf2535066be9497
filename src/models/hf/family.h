/* family.h - the families of Hugging Face models that are read and written: one row each. */
#ifndef MODELS_HF_FAMILY_H
#define MODELS_HF_FAMILY_H
#include "config/field.h"
#include "models/decoder.h"
#include "models/hf/names.h"
#include <stdbool.h>
#include <stdint.h>

struct HfReading;
struct HfFamily;

/* An option that a class calls otherwise, and what most call it. */
typedef struct HfRenamed {
    const char *theirs, *ours;
} HfRenamed;

/* What a class has of its own in config.json, or calls as no other; a file for each, NAME.c. */
typedef struct HfDialect {
    const Field *fields; /* the options that no other class has; an empty row ends them; or NULL */
    size_t size;         /* of the struct that they are read into, HfReading.own */
    /* NULL, or ends with an empty row: what is written by the first of its other names, and told of
     * by the one that is given. To read them is up to `read`. */
    const HfRenamed *renamed;
    /* The same of parts of tensors' names: where a file lacks one, it is sought by the other. */
    const HfRenamed *respelled;
    /* NULL, each: nothing. Before other options are read: puts its own in their place. */
    Error *(*read)(struct HfReading *r);
    /* After the sizes, norms and scales. */
    Error *(*adjust)(struct HfReading *r);
    /* After the usual options of its mixture; after the usual ones of all layers. */
    Error *(*router)(const struct HfReading *r, Moe *m);
    Error *(*layers)(struct HfReading *r, DecoderLayer *layer);
    /* Appends the members of config.json that say what the description does; NULL: those of
     * Llama's class, and then `add`. */
    void (*write)(Text *t, const Decoder *d, const struct HfFamily *f);
    void (*add)(Text *t, const Decoder *d);
    const char *other_class; /* is its class, too; NULL: none */
    bool own_ropes;          /* `layers` reads how positions turn, and `add` writes it */
} HfDialect;

extern const HfDialect hf_gpt2, hf_falcon, hf_gpt_neo, hf_bloom, hf_mpt, hf_opt, hf_dbrx, hf_llama4,
    hf_gemma4, hf_cohere2_moe, hf_exaone, hf_internlm3, hf_iquestcoder, hf_mimo_v2, hf_sarvam_moe,
    hf_sarvam_mla, hf_lfm3, hf_biogpt, hf_cohere_compass, hf_kimi_linear, hf_olmo_hybrid,
    hf_gpt_neox_japanese, hf_deepseek_v32, hf_glm_moe_dsa, hf_longcat_flash, hf_minimax,
    hf_diffllama, hf_laguna, hf_gemma3n, hf_recurrent_gemma, hf_gemma4_unified, hf_mistral4,
    hf_openai_gpt, hf_aria, hf_deepseek_v4, hf_modernbert_decoder, hf_xglm, hf_ctrl,
    hf_bailing_hybrid, hf_axk2, hf_hy_v4;

/* Keys of config.json that count, where most classes do not have them. */
typedef struct HfKeys {
    bool attention_bias, attention_out_bias, mlp_bias;
    bool use_bias;     /* of all linear layers */
    bool use_qkv_bias; /* or qkv_bias */
    bool no_rope_layers;
    bool multipliers; /* of embeddings, scores, what layers add, and logits */
    bool scale_depth; /* of what all layers add together, beside those of embeddings and logits */
    bool logit_scale, use_parallel_residual;
    bool use_qk_norm;  /* of each head, before rope */
    bool qk_layernorm; /* likewise */
    bool clip_qkv;
    bool use_sliding_window;
    bool topk_method; /* scores are a softmax, and it says whether experts have groups */
    bool mlp_layer_types;
    bool num_nextn_predict_layers; /* blocks for later tokens come behind the others, each a
                                      mixture */
    bool lm_head_bias;
    bool mscale;     /* longrope has factors of its own, short_mscale and long_mscale */
    bool rotary_dim; /* may say how many features of a head turn */
    bool position_embedding_type; /* positions turn where it says so */
    bool attn_layer_indices;      /* a list of the layers that have attention, where half of a head
                                     turns, whatever config.json says */
    bool use_expert_bias;         /* routers have biases for the choice */
    bool block_ff_dim;            /* and what else the width of feed-forward layers follows from */
    bool mup_enabled;             /* embeddings are multiplied by the root of the width */
    bool multi_query;             /* one key head, else as many as query heads */
    bool layer_rope_theta;        /* the base of each layer; 0: its positions do not turn */
    bool use_post_norm;           /* norms after a layer, too, unless it is false */
    bool layer_periods;           /* say which layers have attention, and which are sparse */
} HfKeys;

/* What a window is in layers that config.json does not list in layer_types. */
typedef enum HfWindows {
    HF_NO_WINDOW, /* the class has none, whatever config.json says */
    HF_WINDOW_EACH,
    HF_WINDOW_LISTED, /* in each, too */
    HF_WINDOW_ALTERNATING,
    HF_WINDOW_BEHIND,    /* by a pattern, whose first layer has none */
    HF_WINDOW_BUT_FIRST, /* by a pattern of the class, and the first layer has none */
    HF_WINDOW_PATTERN,
    HF_WINDOW_NAMED,  /* there is none in others; each type of layer has a rope of its own */
    HF_WINDOW_CHUNKS, /* where positions turn, and it is one of chunks */
    HF_WINDOW_UPPER,
    HF_WINDOW_LOWER,   /* in every second one of the lower layers */
    HF_WINDOW_NO_ROPE, /* in layers whose positions do not turn */
    HF_WINDOW_ROPE,    /* by a pattern; positions of the others do not turn */
    HF_WINDOW_INNER,   /* likewise, but the first two layers and the last have none, either */
    HF_WINDOW_HYBRID   /* by a pattern, but all turn where there is no window */
} HfWindows;

/* What keys of config.json call the sizes of state spaces, and what holds where it is silent. */
typedef struct HfSpaceKeys {
    const char *heads, *head_width, *state_width, *groups, *conv_width, *conv_bias, *bias;
    int64_t n_heads, width, n_state, n_groups; /* width 0: what the expansion leaves to a head */
    /* The width of all heads: as it is (silent: n_all; null: by the other), as a multiple of
     * hidden_size, or, where both are NULL, that of their own. */
    const char *all, *expand;
    int64_t n_all;
    const char *least_step; /* and no step is too large; NULL: time_step_limit says both */
    const char *activation; /* of convolutions, if it is not that of the feed-forward layers */
} HfSpaceKeys;

/* What keys of config.json call the sizes of selective state spaces. */
typedef struct HfSelectiveKeys {
    const char *state_width, *expand, *conv_width, *step_rank, *conv_bias, *bias;
    bool own_width;       /* intermediate_size is theirs, too, whatever `expand` says */
    const char *norm_eps; /* of norms within layers; NULL: there are none */
    bool norm_weights;
} HfSelectiveKeys;

typedef struct HfFamily {
    const char *model_type, *class_name, *block_class;
    const HfName *first, *names; /* tables of names, looked up in this order; ends with empty row */
    /* What the class computes. */
    bool qkv_bias;      /* whatever config.json says */
    bool qk_norm;       /* of each head, before rope */
    bool norm_by_head;  /* those have weights of their own, and no biases */
    bool qk_norm_width; /* of all heads together */
    bool norm_inside;   /* of what the last products of attention and feed-forward layers read */
    bool norm_after_rope;
    bool from_one; /* norms store weight - 1 */
    bool layer_norm, norm_bias;
    bool no_norm_weight; /* and: */
    bool own_eps;        /* eps is the class's, whatever config.json says */
    bool own_rope;       /* likewise, how positions turn, but for rotary_dim */
    bool embedding_norm; /* of what the table gives */
    bool sandwich;       /* norms before a layer and after it */
    bool post_norm;      /* after it only */
    bool scaled_embedding;
    bool learned_positions;
    bool scale_by_layer;  /* keys about the scale of scores count */
    bool plain;           /* feed-forward layers without a gate */
    bool hidden_by_layer; /* intermediate_size may be a list, of the width of each */
    bool bounded_gates;   /* by numbers of the class */
    bool xielu;      /* may be the activation, with learned numbers and two constants in files */
    bool no_dropout; /* it is behind feed-forward layers alone, which is not built */
    bool biased;     /* keys of biases that are silent mean true */
    bool ffn_biased; /* that of feed-forward layers */
    bool qkv_alone;  /* attention_bias is theirs, without that of what follows */
    bool ffn_bias;   /* whatever config.json says; likewise: */
    bool all_biases; /* of the layers of a block */
    bool head_bias;
    bool side_by_side;       /* attention and feed-forward layers */
    bool one_norm;           /* where they are, they read one norm */
    bool interleaved;        /* features that turn together lie side by side */
    bool turns_back;         /* pairs turn the other way: as if the halves of a head were swapped */
    bool heads_divide_width; /* even if head_dim is given */
    bool heads_fill_width;   /* they are as wide as the width divided by their number */
    bool sharded_heads;      /* their rows, in HF_SHARDS equal parts */
    bool no_groups;          /* as many key heads as query heads, whatever config.json says */
    bool unscaled;           /* scores, whatever their width */
    bool out_bias;           /* behind attention, whatever config.json says */
    bool soft_caps;          /* scores and logits may be bent, and scores have a scale */
    bool logits_multiplied;  /* by what divides those of others; scores are scaled as usual where
                                config.json is silent */
    bool attention_sinks;
    bool gated_attention; /* each feature of a head */
    bool latent; /* keys and values from a narrow vector; its norms have an eps of their own */
    bool latent_queries;              /* and queries always from another */
    bool own_queries;                 /* or, if config.json is silent, from the token itself */
    bool shared_index;                /* layers may share indexers, in which pairs of features lie
                                         side by side */
    bool linear;                      /* layers may be of linear attention */
    const HfSpaceKeys *state_space;   /* layers may be state spaces; NULL: they are not */
    const HfSelectiveKeys *selective; /* likewise, selective ones */
    /* A block is a state space, attention, a feed-forward layer or a mixture, behind one norm. */
    bool one_layer;
    /* Attention and a state space stand side by side in each, with keys of their own. */
    bool both_mixers;
    bool short_conv;          /* layers may be short convolutions */
    bool no_attention;        /* all of them are state spaces */
    int64_t blocks_per_layer; /* so many blocks are one layer of config.json and of files; 0: 1 */
    bool no_rope;             /* positions do not turn */
    bool never_tied;          /* whatever config.json says */
    bool phi3_rope;  /* longrope by other names, its original length beside its parameters */
    bool alpha_rope; /* by dynamic a fixed factor of the base is meant, where alpha is given */
    bool grows;      /* queries, with the logarithm of their position */
    /* Each type of layer has a rope in rope_parameters; no other key says how positions turn. */
    bool ropes_by_type;
    bool ropes_may_be_null; /* such types of layers have none */
    bool scaled_rope; /* where nothing is said of it the class scales rope by numbers of its own */
    /* Of mixtures of experts. */
    bool sparse;     /* there are some */
    bool all_sparse; /* each layer is one, of experts of intermediate_size */
    bool no_dense;   /* likewise, of moe_intermediate_size; there is no other */
    bool normalized; /* the weights of a token's experts always add up to 1 */
    bool expert_bias;
    bool mxfp4;    /* experts may be packed so */
    bool softmax;  /* of shared_experts: its scores are one, without biases for the choice */
    bool sigmoids; /* scores of the router are, with biases for the choice */
    bool no_choice_biases;    /* but without those */
    bool by_logits;           /* they are added to logits, not to scores */
    bool gated_expert;        /* one that every token goes through, behind a gate */
    bool shared_alone;        /* likewise, without a gate, and perhaps no others */
    bool shared_beside;       /* likewise, beside others; none if config.json is silent */
    bool shared_alike;        /* likewise, as wide as the others */
    bool shared_experts;      /* some, beside a router of sigmoids with biases for the choice */
    bool always_shared;       /* and never none */
    bool ernie_moe;           /* shared_experts by a softmax, in layers of an interval */
    bool norm_behind_experts; /* one of what a mixture gives */
    bool biases_may_lack;     /* files may be without those for the choice, which are 0 then */
    bool no_expert_groups;    /* a token's experts are chosen from all */
    bool mixer;               /* scores of the router are weighed against near ones; two count */
    const HfDialect *dialect; /* NULL: options are called as Llama's are */
    HfKeys keys;
    HfWindows windows;
    bool needs_token_ids; /* of special tokens; the class knows no null */
    bool needs_window;    /* config.json may be silent, and not say null */
    /* What holds where config.json is silent; sizes of 0: it must not be. */
    int64_t vocab_size, n_heads, n_key_heads, top_k;
    double theta, eps;
    double sum_eps;  /* added to the sum that weights of a token's experts are divided by */
    double factor;   /* of these weights, by factor_key; 0: 1 */
    double aux_loss; /* weight of the penalty for uneven load; 0: 0.001 */
    int64_t n_groups, top_groups;      /* of experts; 0: 1 */
    int64_t first_sparse;              /* where it is sparse from a layer on */
    int64_t max_positions, head_width; /* head_width 0: width / heads */
    int64_t unused_positions;          /* of the class, whatever config.json says */
    int64_t window;                    /* 0: none */
    int64_t pattern; /* each such layer sees all, others have the window; of HF_WINDOW_UPPER: layers
                        below see all */
    double local_theta; /* of those; 0: theta */
    double attention_cap, logit_cap;
    double alibi; /* as in models/decoder.h, if the file does not say it; 0: none */
    /* Of the features of a head, how many turn; 0: all, whatever config.json says. */
    double rotary_share;
    double local_share; /* likewise, in layers with a window, of ropes_by_type */
    /* NULL: rms_norm_eps, rope_theta, partial_rotary_factor, sliding_window_pattern; pattern_key
     * "": no key says it */
    const char *eps_key, *theta_key, *share_key, *pattern_key;
    /* Of mixtures: the experts, those that every token goes through, those of a token, a factor of
     * their weights, the layers below that are not sparse. NULL: the class does not have it, or, of
     * experts and those of a token, by the usual names. */
    const char *experts_key, *shared_key, *top_k_key, *factor_key, *first_sparse_key;
    const char *other_experts_key, *other_shared_key; /* where the former is missing */
    const char *window_key;                           /* NULL: sliding_window */
    const char *shared_width_key; /* of the expert that every token goes through, if it is given */
    const char *activation, *activation_key; /* NULL: hidden_act */
    bool is_tied, norm_topk_prob, qk_layernorm;
    const char *dropout_key, *embedding_dropout_key; /* NULL: the class has none there */
    double dropout;                                  /* attention's, too */
} HfFamily;

extern const HfFamily hf_families[]; /* ends with an empty row */
int64_t hf_blocks_per_layer(const HfFamily *f);
/* By model_type; NULL: there is none. */
const HfFamily *hf_family_find(const char *model_type);
#endif
