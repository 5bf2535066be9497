/* blanks.h - a tokenizer.json that does nothing to a text but write its blanks as U+2581, as
 * conversions of SentencePiece models do: here that character stays the single byte of a blank, and
 * the text is cut where no token joins the sides. */
#ifndef TOKENIZER_BPE_BLANKS_H
#define TOKENIZER_BPE_BLANKS_H
#include "tokenizer/format/json_node.h"
#include "tokenizer/model/model.h"
#include "tokenizer/pretokenize/metaspace.h"

typedef struct Blanks {
    bool apply;         /* only blanks are rewritten */
    bool prepends;      /* each stretch of text gets a blank in front */
    bool has_metaspace; /* then these settings hold */
    Metaspace metaspace;
} Blanks;

/* Reads the `normalizer` and `pre_tokenizer` of a tokenizer.json. */
Error *blanks_load(JsonNode root, Blanks *out);
/* Appends a stretch of text as the model is to see it. */
void blanks_write(const Blanks *b, Str text, bool at_start, Text *out);

/* Appends text in which U+2581 becomes a blank. */
void blanks_add(Str text, Text *out);
/* A name with blanks for U+2581; ptr NULL when it holds a real blank. */
Str blanks_in_name(Arena *a, Str name);
#endif
