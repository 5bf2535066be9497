/* decoder.h - the stage that turns tokens back into text.
 *
 * A decoder is a list of steps, each of which takes tokens and gives tokens; at the end they are
 * joined. Steps work on a flow: they hand text on as soon as no later token can change it, so that
 * decoding at once and decoding id by id are the same thing. */
#ifndef TOKENIZER_DECODE_DECODER_H
#define TOKENIZER_DECODE_DECODER_H
#include "tokenizer/format/json_node.h"
#include "tokenizer/regex/regex.h"

typedef struct DecoderStep DecoderStep;

typedef struct Decoder {
    const DecoderStep **step;
    int64_t n_steps, cap;
    int64_t n_first; /* the first so many look at a token alone */
} Decoder;

/* Reads the `decoder` of a tokenizer.json; without one, names are joined by blanks. */
Error *decoder_load(JsonNode at, Arena *a, Decoder *out);
/* Appends what the first steps make of a token, given its name. */
Error *decoder_piece(const Decoder *d, Str name, RegexRoom *room, Text *out);
/* The other steps only replace what is no UTF-8 in the joined pieces by U+FFFD. */
bool decoder_only_repairs(const Decoder *d);

/* The other steps at work; one per text. */
typedef struct DecodeFlow DecodeFlow;
DecodeFlow *decode_flow_new(const Decoder *d);
/* Takes a piece and appends what is settled now: whole characters that nothing later can change. */
Error *decode_flow_add(DecodeFlow *f, Str piece, Text *out);
/* Appends what was held back. The flow is then as new. */
Error *decode_flow_finish(DecodeFlow *f, Text *out);
void decode_flow_free(DecodeFlow *f);
#endif
