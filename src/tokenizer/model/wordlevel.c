/* wordlevel.c - looks words up in the vocabulary. */
#include "tokenizer/model/wordlevel.h"

typedef struct WordLevel {
    WordModel base;
    Vocab vocab;
    uint32_t unk_id; /* NO_TOKEN: an unknown word is an error */
} WordLevel;

static int64_t word_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    (void)scratch;
    const WordLevel *w = (const WordLevel *)self;
    uint32_t id = vocab_find(&w->vocab, word);
    out[0] = id == NO_TOKEN ? w->unk_id : id;
    return 1;
}

static void spans(const WordModel *self, Buffer *scratch, Str word, const uint32_t *id, int64_t n,
                  Span *out)
{
    (void)self;
    (void)scratch;
    (void)id;
    (void)n; /* always 1 */
    *out = (Span){ 0, word.len };
}

Error *wordlevel_load(JsonNode at, Arena *a, WordModel **out)
{
    static const char *const known[] = { "type", "vocab", "unk_token", NULL };
    TRY(json_node_only(at, known));
    WordLevel *w = NEW(a, WordLevel);
    w->base = (WordModel){ .kind = "WordLevel",
                           .vocab = &w->vocab,
                           .ids_per_byte = 1,
                           .word_ids = word_ids,
                           .spans = spans };
    TRY(vocab_load(json_member(at, "vocab"), a, &w->vocab));
    Str unk;
    TRY(json_get_string(at, "unk_token", &unk));
    w->unk_id = vocab_find(&w->vocab, unk);
    if (w->unk_id == NO_TOKEN) {
        w->base.cannot = arena_printf(a,
                                      "a word is not in the vocabulary, and neither is the "
                                      "unk_token \"%.*s\"",
                                      (int)unk.len, unk.ptr);
    }
    *out = &w->base;
    return NULL;
}
