/* pretokenize.h - the stage that cuts text into words; the model sees one word at a time.
 *
 * A pre-tokenizer is a list of steps, each of which cuts every word of the step before and may
 * rewrite it. The well-known ones are a WordSplitter instead, which finds the words in place. */
#ifndef TOKENIZER_PRETOKENIZE_PRETOKENIZE_H
#define TOKENIZER_PRETOKENIZE_PRETOKENIZE_H
#include "tokenizer/format/json_node.h"
#include "tokenizer/pretokenize/words.h"
#include "tokenizer/regex/regex.h"

/* Words are found in pieces of about SPLIT_BYTES. A splitter may read SPLIT_SLACK bytes before and
 * after the text, which are 0xFF, and writes at most SPLIT_ROOM ends. */
enum { SPLIT_BYTES = 8192, SPLIT_SLACK = 64, SPLIT_ROOM = SPLIT_BYTES + 256 };

/* Writes the ends of the words of text[0, len) from `from`, where a word starts, until one ends at
 * or after `until` (from < until <= len, until - from <= SPLIT_BYTES). Returns how many, at
 * least 1. Words cover the text without gaps; it is valid UTF-8. */
typedef int64_t WordSplitter(const char *text, uint32_t len, uint32_t from, uint32_t until,
                             uint32_t *end);

/* One thread's memory for cutting. Zero-initialise; free with pretokenizer_room_free. */
typedef struct PreTokenizerRoom {
    Words words[2];
    RegexRoom regex;
    Buffer text, ends;
} PreTokenizerRoom;

/* Each kind of step starts with it. */
typedef struct PreTokenizerStep {
    const char *name;
    /* Appends what becomes of a word (not empty). `at_start`: it starts where the text does. */
    Error *(*run)(const struct PreTokenizerStep *self, Str word, bool at_start,
                  PreTokenizerRoom *room, Words *out);
} PreTokenizerStep;

typedef struct PreTokenizer {
    bool add_prefix_space;         /* a piece of text that does not start with a blank gets one */
    WordSplitter *split;           /* NULL: the piece is one word */
    const char *splitter_name;     /* of the step that these two stand for */
    const PreTokenizerStep **step; /* n_steps > 0: they do all, in this order */
    int64_t n_steps, cap;
    const PreTokenizerStep *all_steps; /* does what they all do, but knows no sources; or NULL */
    bool has_prefix_setting; /* it is ByteLevel alone, whose add_prefix_space can be changed */
    /* The vocabulary spells words in the byte alphabet; here they are plain bytes, which the last
     * step may have to bring back. */
    bool byte_words, is_spelled;
} PreTokenizer;

/* Reads the `pre_tokenizer` of a tokenizer.json; null leaves text whole. `is_spelled`: the
 * normalizer has rewritten the text in the byte alphabet. */
Error *pretokenizer_load(JsonNode at, bool is_spelled, Arena *a, PreTokenizer *out);
/* Copies a piece of text into `room`, after its blank if it gets one and with slack around it. */
Str pretokenizer_place(const PreTokenizer *p, Str piece, Buffer *room);
/* Runs the steps; *out are words of `room`, with SPLIT_SLACK readable bytes after them. */
Error *pretokenizer_run(const PreTokenizer *p, Str piece, bool at_start, PreTokenizerRoom *room,
                        const Words **out);
void pretokenizer_room_free(PreTokenizerRoom *room);

/* The pattern of GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 */
WordSplitter split_gpt2, split_gpt2_avx2, split_gpt2_avx512;
/* The one for this CPU and MODALITIES_CPU; an error when that is wrong. */
Error *split_gpt2_choose(WordSplitter **out);

/* Of three versions of one splitter the one for this CPU. */
Error *split_choose(WordSplitter *table, WordSplitter *avx2, WordSplitter *avx512,
                    WordSplitter **out);
#if defined(__x86_64__)
#define SPLITTER_VERSIONS(name) name, name##_avx2, name##_avx512
#else
#define SPLITTER_VERSIONS(name) name, name, name
#endif
#endif
