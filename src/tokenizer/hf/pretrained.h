/* pretrained.h - a tokenizer.json with the files beside it, used as transformers' AutoTokenizer
 * does. */
#ifndef TOKENIZER_HF_PRETRAINED_H
#define TOKENIZER_HF_PRETRAINED_H
#include "tokenizer/tokenizer.h"

typedef enum { PADDING_NONE, PADDING_LONGEST, PADDING_MAX_LENGTH } Padding;

/* `{pad_token: "<pad>"}` or one of the additional_special_tokens: a role and a token of the
 * vocabulary. */
typedef struct SpecialToken {
    const char *role, *token;
} SpecialToken;

typedef struct PretrainedHf {
    const char *path;   /* folder with tokenizer.json, or the file */
    int64_t max_length; /* -1: not given */
    bool truncation;
    Padding padding; /* PADDING_LONGEST changes nothing: texts are encoded one by one */
    const SpecialToken *special_tokens;
    int n_special_tokens;
} PretrainedHf;

/* tokenizer.pretrained_hf_tokenizer: encodes with truncation and padding, decodes with the clean-up
 * of spaces that tokenizer_config.json asks for. The caller closes it. */
Error *pretrained_hf_open(const PretrainedHf *settings, Tokenizer **out);
#endif
