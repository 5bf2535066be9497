/* rules.h - rewriting a text before it is cut into pieces: symbols that stay, the map
 * of characters, and blanks.
 *
 * SentencePiece writes a blank as U+2581. Here that character is the single byte of a blank from
 * the normalized text on, in the names of pieces too, which makes texts and keys shorter; names
 * that hold a real blank can then never match, and are left out. Only a model that does not escape
 * blanks keeps both as they are. */
#ifndef TOKENIZER_SENTENCEPIECE_RULES_H
#define TOKENIZER_SENTENCEPIECE_RULES_H
#include "base/buffer.h"
#include "tokenizer/sentencepiece/ascii_rewrite.h"
#include "tokenizer/sentencepiece/file.h"
#include "tokenizer/text/trie.h"

typedef struct SpNormalizer {
    SpRules rules;
    bool blank_behind; /* the dummy blank stands at the end */
    bool copies;       /* nothing is rewritten but blanks */
    Trie keep;         /* user-defined symbols as the text spells them */
    bool starts_symbol[256];
    AsciiRewrite ascii; /* where no byte of `joins` follows */
    bool joins[256];    /* a rule may have it after an ASCII byte */
} SpNormalizer;

/* `symbols`: those of the file stay as they are. */
SpNormalizer sp_normalizer_new(Arena *a, const SpFile *f, const SpRules *rules, bool symbols);
/* What the start of a text becomes, in the text or in the rules; returns how many of its bytes. */
size_t sp_rewrite_start(const SpNormalizer *n, Str text, Str *out);
/* Rewrites valid UTF-8 into `out`. */
void sp_normalize(const SpNormalizer *n, Str text, Text *out);
/* The name of a piece as normalized text has it; ptr NULL when it can never be there. */
Str sp_matching_name(Arena *a, const SpFile *f, Str name);
/* Appends normalized text as SentencePiece spells it. */
void sp_add_spelled(const SpFile *f, Str normalized, Text *out);
#endif
