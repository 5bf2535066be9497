/* model.h - the stage that turns one word into ids; each kind of model starts with a WordModel. */
#ifndef TOKENIZER_MODEL_MODEL_H
#define TOKENIZER_MODEL_MODEL_H
#include "base/buffer.h"
#include "tokenizer/model/vocab.h"

/* Bytes [from, to) of a word. */
typedef struct Span {
    size_t from, to;
} Span;

typedef struct WordModel {
    const char *kind;
    const Vocab *vocab;
    int64_t ids_per_byte; /* a word of n bytes has at most n times as many ids */
    /* Writes the ids of a word (its bytes, at least one) and returns their number. The same word
     * always has the same ids, so that they may be cached. -1, of a model without `cut`: they
     * depend on more than the word, and whoever asked the cache for them must find them. */
    int64_t (*word_ids)(const struct WordModel *self, Buffer *scratch, Str word, uint32_t *out);
    /* The spans of the n ids that word_ids gave, in the word as the vocabulary spells it. The
     * library adds lengths up, so where it drops characters they are those of other text, and may
     * end after the word. */
    void (*spans)(const struct WordModel *self, Buffer *scratch, Str word, const uint32_t *id,
                  int64_t n, Span *out);
    /* Among the ids of a word that cannot be encoded is NO_TOKEN; this says why. NULL: every word
     * can. */
    const char *cannot;
    /* Cuts a long word where no token can join the two sides, so that the ids of the parts put
     * together are those of the word; used as a WordSplitter (pretokenize/pretokenize.h) when the
     * text is not cut into words. NULL: words must stay whole. */
    int64_t (*cut)(const struct WordModel *self, const char *text, uint32_t len, uint32_t from,
                   uint32_t until, uint32_t *end);
    uint32_t cut_most; /* word_ids alone is as fast for words that are longer; 0: for none */
} WordModel;

/* A model for words that come as plain bytes, made of one that wants them as its vocabulary spells
 * them. */
WordModel *model_spelled(Arena *a, const WordModel *inner);
#endif
