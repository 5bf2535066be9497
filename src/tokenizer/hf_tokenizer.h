/* hf_tokenizer.h - a Hugging Face tokenizer.json: its stages, and the Tokenizer made of them.
 *
 * Text is cut at added tokens, each piece into words, each word into ids by the model; the ids are
 * then truncated and padded. The semantics are those of the library `tokenizers` 0.22. */
#ifndef TOKENIZER_HF_TOKENIZER_H
#define TOKENIZER_HF_TOKENIZER_H
#include "tokenizer/added_tokens.h"
#include "tokenizer/decoder.h"
#include "tokenizer/length_rule.h"
#include "tokenizer/model.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/tokenizer.h"

typedef struct HfTokenizer {
    Tokenizer base;
    Arena *arena;
    AddedTokens *added;
    PreTokenizer pretokenizer;
    Model *model;
    Decoder decoder;
    LengthRule length;
    bool split_special; /* special tokens in a text are text */
    bool without_cache; /* encoders compute every word anew */
    Str *piece;         /* by id: what it contributes to decoded text; ptr NULL: no such id */
    bool *special;      /* by id */
} HfTokenizer;

/* The file below a folder, or the path itself when it is no folder; owned by the arena. */
const char *hf_tokenizer_path(Arena *a, const char *path);
/* Reads a tokenizer.json. Stages may still be changed and tokens be added. */
Error *hf_tokenizer_read(const char *file, HfTokenizer **out);
/* Makes it ready for use; nothing may be changed afterwards. */
void hf_tokenizer_finish(HfTokenizer *t);
void hf_tokenizer_free(HfTokenizer *t);

/* hf_encoder.c: the functions of Tokenizer. */
Encoder *hf_encoder_new(const Tokenizer *self);
Error *hf_encoder_encode(Encoder *encoder, Str text, bool add_special_tokens, Ids *out);
void hf_encoder_free(Encoder *encoder);
#endif
