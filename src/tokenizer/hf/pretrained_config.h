/* pretrained_config.h - tokenizer_config.json and special_tokens_map.json, as transformers reads
 * them (4.57) beside a tokenizer.json. */
#ifndef TOKENIZER_HF_PRETRAINED_CONFIG_H
#define TOKENIZER_HF_PRETRAINED_CONFIG_H
#include "tokenizer/hf/added_tokens.h"

enum { N_TOKEN_ROLES = 7 };
/* "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", NULL.
 */
extern const char *const token_roles[N_TOKEN_ROLES + 1];
enum { BOS_ROLE, EOS_ROLE, UNK_ROLE, PAD_ROLE = 4, MASK_ROLE = 6 };

/* A token named by its text alone, or described with flags. */
typedef struct RoleToken {
    AddedToken token; /* content.ptr NULL: the role is not given */
    bool has_flags;
} RoleToken;

typedef struct PretrainedConfig {
    bool exists;
    RoleToken role[N_TOKEN_ROLES];
    RoleToken *additional; /* additional_special_tokens */
    int64_t n_additional;
    bool has_added;    /* added_tokens_decoder is given */
    AddedToken *added; /* its tokens, by id */
    int64_t n_added;
    bool mask_takes_blanks; /* a mask named by its text alone takes the blanks in front of it */
    bool wraps; /* the class puts bos and eos around a text, whatever tokenizer.json says */
    bool adds_bos, adds_eos;
    bool add_prefix_space, clean_up_spaces, split_special;
    int64_t model_max_length;          /* -1: unlimited */
    Str padding_side, truncation_side; /* ptr NULL: not given */
} PretrainedConfig;

/* Reads what there is in the folder; texts belong to the arena. */
Error *pretrained_config_read(Arena *a, const char *folder, PretrainedConfig *out);
#endif
