/* sentencepiece.h - a SentencePiece .model file as a Tokenizer: ids and texts equal those of the
 * library sentencepiece 0.2 (Kudo and Richardson 2018). */
#ifndef TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_H
#define TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_H
#include "tokenizer/tokenizer.h"

/* What `add_special_tokens` adds: ids are reversed first, then bos and eos put around them. */
typedef struct SpOptions {
    bool add_bos, add_eos, reverse;
    bool plain; /* whole texts, without cutting and remembering: slow, to compare with */
} SpOptions;

/* `options` may be NULL: nothing is added. Errors name the file. The caller closes it. */
Error *sentencepiece_open(const char *path, const SpOptions *options, Tokenizer **out);
/* Whether a file with these first bytes is likely a .model. */
bool sentencepiece_looks_like(Str start);
/* Calls `add` with the pieces of a text; unknown characters beside each other are one piece. */
Error *sentencepiece_pieces(const Tokenizer *t, Str text,
                            void (*add)(void *to, Str piece, uint32_t id), void *to);
/* The ids of the beginning and end of a text and of padding, -1 where there is none; what
 * conversions to other formats write down. */
typedef struct SpSpecialIds {
    int64_t bos, eos, pad, unk;
} SpSpecialIds;
SpSpecialIds sentencepiece_special_ids(const Tokenizer *t);
#endif
