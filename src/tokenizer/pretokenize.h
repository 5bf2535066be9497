/* pretokenize.h - the stage that cuts text into words; the model sees one word at a time. */
#ifndef TOKENIZER_PRETOKENIZE_H
#define TOKENIZER_PRETOKENIZE_H
#include "base/buffer.h"
#include "tokenizer/json_node.h"

/* Words are found in pieces of about SPLIT_BYTES. A splitter may read SPLIT_SLACK bytes before and
 * behind the text, which are 0xFF, and writes at most SPLIT_ROOM ends. */
enum { SPLIT_BYTES = 8192, SPLIT_SLACK = 64, SPLIT_ROOM = SPLIT_BYTES + 256 };

/* Writes the ends of the words of text[0, len) from `from`, where a word starts, until one ends at
 * or behind `until` (from < until <= len, until - from <= SPLIT_BYTES). Returns how many, at
 * least 1. Words cover the text without gaps; it is valid UTF-8. */
typedef int64_t WordSplitter(const char *text, uint32_t len, uint32_t from, uint32_t until,
                             uint32_t *end);

typedef struct PreTokenizer {
    bool add_prefix_space; /* a piece of text that does not start with a blank gets one */
    WordSplitter *split;   /* NULL: the piece is one word */
} PreTokenizer;

/* Reads the `pre_tokenizer` of a tokenizer.json. */
Error *pretokenizer_load(JsonNode at, PreTokenizer *out);
/* Copies a piece of text into `room`, behind its blank if it gets one and with slack around it. */
Str pretokenizer_place(const PreTokenizer *p, Str piece, Buffer *room);

/* The pattern of GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 */
WordSplitter split_gpt2, split_gpt2_avx2, split_gpt2_avx512;
/* The one for this CPU and MODALITIES_CPU; an error when that is wrong. */
Error *split_gpt2_choose(WordSplitter **out);
#endif
