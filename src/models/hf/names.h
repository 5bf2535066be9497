/* names.h - the names of tensors in files of Hugging Face models, and how parameters lie in
 * them. */
#ifndef MODELS_HF_NAMES_H
#define MODELS_HF_NAMES_H

/* Of queries, keys and values, in files that have such. */
#define HF_SHARDS 4

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
    HF_LATENT_GATED_QUERIES, /* rows of one tensor: for each head its query, gates of its values */
    HF_LATENT_GATES,
    HF_LATENT_QUERIES, /* what turns of a head comes last */
    HF_TURNING_ROWS, /* heads, of queries, keys, windows or indexers, what turns of each comes last,
                        side by side */
    HF_TURNING_COLUMNS, /* likewise as columns */
    HF_INDEX,           /* queries, keys and norms of an indexer, whose pairs lie side by side */
    HF_INDEX_BEHIND,    /* likewise, what turns comes last, half of it apart */
    HF_PAIRED_HEADS,    /* the first heads of all pairs, then the second ones */
    HF_GATED_QUERIES, /* rows of one tensor: for each head its query, then gates of its features */
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
    HF_CONV_FRONT, /* rows of one tensor: gates in front of short convolutions, those behind, values
                    */
    HF_CONV_BACK,
    HF_CONV_VALUES,
    HF_CONV,         /* convolutions, which have a dimension of 1 */
    HF_EXPERTS,      /* a tensor for each expert */
    HF_ALL_EXPERTS,  /* likewise, and one for each that has no weights, which transformers wants and
                        does not read */
    HF_STACKED,      /* all experts in one tensor, each transposed */
    HF_STACKED_EVEN, /* likewise, as every second column: of biases, too */
    HF_STACKED_ODD,
    HF_STACKED_FIRST_COLUMNS, /* likewise, as half of the columns of each */
    HF_STACKED_SECOND_COLUMNS,
    HF_STACKED_FLAT,       /* each transposed, one below the other in a matrix */
    HF_STACKED_FLAT_ROWS,  /* likewise, each as it is */
    HF_STACKED_ROWS,       /* all experts in one tensor, as they are */
    HF_STACKED_FIRST_HALF, /* likewise, as half of the rows of each */
    HF_STACKED_SECOND_HALF,
    HF_ROW,           /* a vector as the one row of a matrix */
    HF_FIRST_ROW,     /* likewise as the first of two */
    HF_CUT,           /* rows of a tensor NAME, and then of new_NAME, cut anywhere */
    HF_OF_HEADS,      /* as [1 1 n 1] */
    HF_HEAD_ROWS,     /* likewise, as a row for each head */
    HF_HEAD_TENSORS,  /* a vector as a tensor for each head */
    HF_OF_MIXTURES,   /* the same, in layers that have one */
    HF_OF_TWO_NORMS,  /* the same, where RESIDUAL_TWO_NORMS is */
    HF_GROUP_QUERIES, /* rows of one tensor: for each key head its queries, the key, the value */
    HF_GROUP_KEYS,
    HF_GROUP_VALUES,
    HF_SHARD_QUERIES, /* rows of one tensor: for each of HF_SHARDS shards its queries, values, keys
                       */
    HF_SHARD_VALUES,
    HF_SHARD_KEYS
} HfLayout;

/* `%` stands for the block, or in `theirs` for the layer, `@` for the block's number within it, `#`
 * for the expert, or where it is in `ours`, too, for a number outside of blocks, `*` at the end for
 * "weight" or "bias". */
typedef struct HfName {
    const char *ours, *theirs;
    HfLayout layout;
} HfName;

/* Tables of names, each ends with an empty row: those that most classes have, GPT-2's, those of
 * classes of their own, and what others call otherwise. */
extern const HfName hf_llama_names[], hf_sandwich_names[], hf_mixtral_names[], hf_plain_names[],
    hf_fused_names[], hf_starcoder_names[], hf_neox_names[], hf_neox_japanese_names[],
    hf_glm_names[], hf_sigmoid_names[], hf_latent_names[], hf_hy_v3_names[], hf_flint_names[],
    hf_mimo_v2_names[], hf_kolibri_names[], hf_afmoe_names[], hf_shared_names[],
    hf_qwen3_next_names[], hf_qwen3_5_names[], hf_bamba_names[], hf_lfm2_names[], hf_mamba2_names[],
    hf_nemotron_h_names[], hf_granite_hybrid_names[], hf_gpt_oss_names[], hf_apertus_names[],
    hf_gpt2_names[], hf_cohere_names[], hf_stablelm_names[], hf_granitemoe_names[],
    hf_hunyuan_names[], hf_hunyuan_moe_names[], hf_ernie_moe_names[], hf_falcon_names[],
    hf_phi_names[], hf_gptj_names[], hf_exaone_moe_names[], hf_bigcode_names[], hf_exaone_names[],
    hf_gpt_neo_names[], hf_bloom_names[], hf_mpt_names[], hf_opt_names[], hf_granite_swa_names[],
    hf_granitemoe_swa_names[], hf_hyperclovax_names[], hf_persimmon_names[], hf_codegen_names[],
    hf_llama4_names[], hf_gemma4_names[], hf_dbrx_names[], hf_nanochat_names[], hf_mamba_names[],
    hf_jamba_names[], hf_sarvam_names[], hf_lfm3_names[], hf_biogpt_names[], hf_bitnet_names[],
    hf_kimi_names[], hf_olmo_hybrid_names[], hf_deepseek_v32_names[], hf_glm_moe_dsa_names[],
    hf_longcat_names[], hf_minimax_names[], hf_diffllama_names[], hf_laguna_names[],
    hf_gemma3n_names[], hf_recurrent_gemma_names[], hf_mistral4_names[], hf_openai_gpt_names[],
    hf_aria_names[], hf_deepseek_v4_names[], hf_modernbert_names[], hf_ernie_vl_names[],
    hf_molmo2_names[], hf_xglm_names[], hf_ctrl_names[], hf_bailing_hybrid_names[], hf_axk2_names[],
    hf_hy_v4_names[];
#endif
