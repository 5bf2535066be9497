/* encoder.h - one thread's way from text to ids, for sentencepiece.c. */
#ifndef TOKENIZER_SENTENCEPIECE_ENCODER_H
#define TOKENIZER_SENTENCEPIECE_ENCODER_H
#include "tokenizer/sentencepiece/model.h"
#include "tokenizer/sentencepiece/sentencepiece.h"

typedef struct SentencePiece {
    Tokenizer base;
    Arena *arena;
    SpFile file;
    SpNormalizer normalizer, denormalizer;
    SpModel *model;
    SpOptions options;
    SpSpecialIds special;
} SentencePiece;

Encoder *sp_encoder_new(const Tokenizer *self);
/* offsets.c: Tokenizer.encode_offsets. */
Error *sp_encode_offsets(const Tokenizer *self, Str text, bool add_special_tokens, Ids *out,
                         Ids *offsets);
Error *sp_encoder_encode(Encoder *encoder, Str text, bool add_special_tokens, Ids *out);
void sp_encoder_free(Encoder *encoder);

/* trace.c: Tokenizer.trace. */
Error *sp_trace(const Tokenizer *self, Str text, TraceShow *show, void *arg);
/* decode.c */
Error *sp_decode(const Tokenizer *self, const uint32_t *id, int64_t n, bool skip_special_tokens,
                 Text *out);
TokenStream *sp_stream_new(const Tokenizer *self, bool skip_special_tokens, Arena *a);
#endif
