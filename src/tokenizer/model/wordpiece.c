/* wordpiece.c - cuts a word into its longest pieces by a trie of all tokens. */
#include "tokenizer/model/wordpiece.h"
#include "tokenizer/text/trie.h"

typedef struct WordPiece {
    WordModel base;
    Vocab vocab;
    Trie trie;
    uint32_t inside;   /* the trie's node after the prefix of continuing pieces, or NO_NODE */
    size_t prefix_len; /* of these */
    int64_t max_chars; /* a longer word is unknown */
    uint32_t unk_id;   /* NO_TOKEN: an unknown word is an error */
} WordPiece;

static int64_t count_chars(Str word)
{
    int64_t n = 0;
    for (size_t i = 0; i < word.len; i++) n += ((uint8_t)word.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* The longest token that goes on from `node`; returns its bytes, 0 for none. */
static size_t longest(const WordPiece *w, uint32_t node, Str text, uint32_t *id)
{
    size_t found = 0;
    for (size_t i = 0; i < text.len && node != NO_NODE; i++) {
        node = trie_step(&w->trie, node, (uint8_t)text.ptr[i]);
        if (node == NO_NODE || trie_value(&w->trie, node) == NO_VALUE) continue;
        found = i + 1;
        *id = trie_value(&w->trie, node);
    }
    return found;
}

static int64_t word_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    (void)scratch;
    const WordPiece *w = (const WordPiece *)self;
    int64_t n = 0;
    bool known = count_chars(word) <= w->max_chars;
    for (size_t at = 0; known && at < word.len;) {
        size_t len = longest(w, at ? w->inside : 0, (Str){ word.ptr + at, word.len - at }, &out[n]);
        known = len > 0;
        at += len;
        n++;
    }
    if (known) return n;
    out[0] = w->unk_id;
    return 1;
}

static void spans(const WordModel *self, Buffer *scratch, Str word, const uint32_t *id, int64_t n,
                  Span *out)
{
    (void)scratch;
    const WordPiece *w = (const WordPiece *)self;
    size_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t len = w->vocab.name[id[i]].len - (i ? w->prefix_len : 0);
        out[i] = (Span){ at, n == 1 ? word.len : at + len }; /* a single one may be the unknown */
        at += len;
    }
}

static void make_trie(WordPiece *w, Arena *a, Str prefix)
{
    Arena *scratch = arena_new();
    Str *name = NEW_N(scratch, Str, w->vocab.n);
    uint32_t *id = NEW_N(scratch, uint32_t, w->vocab.n);
    int64_t n = 0;
    for (int64_t i = 0; i < w->vocab.n_ids; i++) {
        if (!w->vocab.name[i].len) continue; /* no token, or an empty one, which never matches */
        name[n] = w->vocab.name[i];
        id[n++] = (uint32_t)i;
    }
    w->trie = trie_new(a, name, id, n);
    arena_free(scratch);
    w->inside = 0;
    for (size_t i = 0; i < prefix.len && w->inside != NO_NODE; i++)
        w->inside = trie_step(&w->trie, w->inside, (uint8_t)prefix.ptr[i]);
}

Error *wordpiece_load(JsonNode at, Arena *a, WordModel **out)
{
    static const char *const known[] = {
        "type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab", NULL
    };
    TRY(json_node_only(at, known));
    WordPiece *w = NEW(a, WordPiece);
    w->base = (WordModel){ .kind = "WordPiece",
                           .vocab = &w->vocab,
                           .ids_per_byte = 1,
                           .word_ids = word_ids,
                           .spans = spans };
    Str unk, prefix;
    TRY(vocab_load(json_member(at, "vocab"), a, &w->vocab));
    TRY(json_get_string(at, "unk_token", &unk));
    TRY(json_get_string(at, "continuing_subword_prefix", &prefix));
    TRY(json_get_int(at, "max_input_chars_per_word", 0, INT64_MAX, &w->max_chars));
    make_trie(w, a, prefix);
    w->prefix_len = prefix.len;
    w->unk_id = vocab_find(&w->vocab, unk);
    if (w->unk_id == NO_TOKEN) {
        w->base.cannot = arena_printf(
            a, "a word has no pieces, and the unk_token \"%.*s\" is not in the vocabulary",
            (int)unk.len, unk.ptr);
    }
    *out = &w->base;
    return NULL;
}
