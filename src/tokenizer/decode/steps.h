/* steps.h - what the files of single decoders share. */
#ifndef TOKENIZER_DECODE_STEPS_H
#define TOKENIZER_DECODE_STEPS_H
#include "tokenizer/decode/decoder.h"

/* A step at work. Tokens come in parts and are then ended; what comes out goes to `next`. */
typedef struct DecodeStage {
    const DecoderStep *step;
    struct DecodeStage *next; /* NULL: the text itself */
    Text *out;                /* where the last stage writes */
    RegexRoom *regex;
    Text token;     /* the token that comes in now */
    Text held;      /* what is held back */
    Text made;      /* scratch */
    int64_t n;      /* tokens that ended */
    int64_t n_cut;  /* characters that Strip left out of this token, ... */
    int64_t n_seen; /* ... of so many, */
    bool has_other; /* of which one is not to be stripped */
} DecodeStage;

/* Each kind of step starts with it. Either `token` is given, or the functions of a stage, of which
 * those left out hold the token, hand it on, and finish. */
struct DecoderStep {
    const char *name;
    /* Appends what becomes of a token, the index-th. */
    Error *(*token)(const DecoderStep *self, Str token, int64_t index, RegexRoom *room, Text *out);
    bool needs_index;
    Error *(*part)(DecodeStage *s, Str part);
    Error *(*end)(DecodeStage *s);
    Error *(*finish)(DecodeStage *s);
};

/* Hands text of the token that is open on, ends it, both; and says that no token follows. */
Error *stage_part(DecodeStage *s, Str part);
Error *stage_end(DecodeStage *s);
Error *stage_whole(DecodeStage *s, Str token);
Error *stage_finish(DecodeStage *s);

/* Passed to the rows of the table: steps are appended to `to`. */
typedef struct DecoderLoading {
    Arena *arena;
    Decoder *to;
} DecoderLoading;

void decoder_append(DecoderLoading *l, const DecoderStep *step);
Error *decoder_load_byte_level(JsonNode at, void *loading);
Error *decoder_load_byte_fallback(JsonNode at, void *loading);
Error *decoder_load_word_piece(JsonNode at, void *loading);
Error *decoder_load_bpe(JsonNode at, void *loading);
Error *decoder_load_metaspace(JsonNode at, void *loading);
Error *decoder_load_ctc(JsonNode at, void *loading);
Error *decoder_load_strip(JsonNode at, void *loading);
Error *decoder_load_replace(JsonNode at, void *loading);
Error *decoder_load_fuse(JsonNode at, void *loading);

/* Joins names by blanks: what the library does without a decoder. */
extern const DecoderStep blank_step;
/* Joins bytes and repairs what is no UTF-8. */
extern const DecoderStep repair_step;
#endif
