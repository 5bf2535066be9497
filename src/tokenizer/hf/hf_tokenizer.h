/* hf_tokenizer.h - a Hugging Face tokenizer.json: its stages, and the Tokenizer made of them.
 *
 * Text is cut at added tokens, each piece into words, each word into ids by the model; the ids are
 * then truncated and padded. The semantics are those of the library `tokenizers` 0.22. */
#ifndef TOKENIZER_HF_HF_TOKENIZER_H
#define TOKENIZER_HF_HF_TOKENIZER_H
#include "tokenizer/bpe/blanks.h"
#include "tokenizer/decode/decoder.h"
#include "tokenizer/hf/added_tokens.h"
#include "tokenizer/hf/length_rule.h"
#include "tokenizer/hf/post_processor.h"
#include "tokenizer/model/model.h"
#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/tokenizer.h"

typedef struct HfTokenizer {
    Tokenizer base;
    Arena *arena;
    AddedTokens *added;
    Normalizer normalizer;
    PreTokenizer pretokenizer;
    WordModel *model;
    Blanks blanks;
    const WordModel
        *blank_model; /* takes stretches of text written by `blanks`; NULL: no short cut */
    Decoder decoder;
    PostProcessor post_processor;
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
Error *hf_tokenizer_finish(HfTokenizer *t);
void hf_tokenizer_free(HfTokenizer *t);
/* Reads and finishes it; the caller closes it. */
Error *hf_tokenizer_open(const char *file, Tokenizer **out);

/* What becomes of one text or two: ids, and for each id a number of its part of the template,
 * whether the template or padding added it, and whether it is no padding. Zero-initialise; free
 * with hf_encoding_free. */
typedef struct HfEncoding {
    Ids ids, type_ids, special, attention;
    Ids overflow; /* ids of the further encodings that truncation leaves, one after the other */
    Ids overflow_ends;
} HfEncoding;

void hf_encoding_free(HfEncoding *e);

/* trace.c: Tokenizer.trace. */
Error *hf_tokenizer_trace(const Tokenizer *self, Str text, TraceShow *show, void *arg);
/* offsets.c: Tokenizer.encode_offsets. */
Error *hf_tokenizer_encode_offsets(const Tokenizer *self, Str text, bool add_special_tokens,
                                   Ids *out, Ids *offsets);
/* encoder.c: the functions of Tokenizer. */
Encoder *hf_encoder_new(const Tokenizer *self);
Error *hf_encoder_encode(Encoder *encoder, Str text, bool add_special_tokens, Ids *out);
void hf_encoder_free(Encoder *encoder);
/* A text, or a pair of them when `second` is not NULL; `out` is emptied first. */
Error *hf_encoder_encode_pair(Encoder *encoder, Str first, const Str *second,
                              bool add_special_tokens, HfEncoding *out);
#endif
