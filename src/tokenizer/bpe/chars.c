/* chars.c - the symbols of a word that comes as characters, and where a text may be cut. */
#include "base/utf8.h"
#include "tokenizer/bpe/walk.h"
#include <string.h>

/* The symbols so far. An unknown character waits until the next known one: the bytes that stand for
 * another character overtake it, as in the library. */
typedef struct Symbols {
    uint32_t *id;
    uint32_t *bytes; /* that each counts for; NULL: nobody asks */
    int64_t n;
    bool unk_waits;
    uint32_t unk_bytes;
} Symbols;

static void put(Symbols *s, uint32_t id, size_t bytes)
{
    if (s->bytes) s->bytes[s->n] = (uint32_t)bytes;
    s->id[s->n++] = id;
}

static void let_unk_in(const Bpe *b, Symbols *s)
{
    if (s->unk_waits) put(s, b->unk_id, s->unk_bytes);
    s->unk_waits = false;
    s->unk_bytes = 0;
}

static bool add_bytes(const Bpe *b, Str name, Symbols *s)
{
    for (size_t i = 0; i < name.len; i++) {
        s->id[s->n + (int64_t)i] = b->fallback_id[(uint8_t)name.ptr[i]];
        if (s->id[s->n + (int64_t)i] == NO_TOKEN) return false;
        if (s->bytes) s->bytes[s->n + (int64_t)i] = 1;
    }
    s->n += (int64_t)name.len;
    return true;
}

/* A character of so many bytes. */
static void add_symbol(const Bpe *b, Str name, uint32_t id, size_t bytes, Symbols *s)
{
    if (id != NO_TOKEN) {
        let_unk_in(b, s);
        put(s, id, bytes);
    } else if (!(b->byte_fallback && add_bytes(b, name, s)) && b->has_unk) {
        if (!b->fuse_unk) let_unk_in(b, s);
        s->unk_waits = true;
        s->unk_bytes += (uint32_t)bytes;
    }
}

/* The names of the symbols have a prefix or suffix. */
static void add_with_affixes(const Bpe *b, Str word, Str c, Symbols *s, Text *name)
{
    text_clear(name);
    if (c.ptr > word.ptr) text_add(name, b->prefix.ptr, b->prefix.len);
    text_add(name, c.ptr, c.len);
    if (c.ptr + c.len == word.ptr + word.len) text_add(name, b->suffix.ptr, b->suffix.len);
    Str n = { name->ptr, name->len };
    add_symbol(b, n, vocab_find(&b->vocab, n), c.len, s);
}

/* The ids of a long word: what is known goes straight to them, up to the next unknown character. */
static int64_t walk(const Bpe *b, Buffer *scratch, Str word, uint32_t *out)
{
    Symbols s = { .id = out };
    while (word.len) {
        int64_t n = s.n + s.unk_waits;
        size_t len = bpe_walk(b->walk, scratch, word, out, &n);
        if (len) {
            let_unk_in(b, &s);
            s.n = n;
        } else {
            int bytes;
            utf8_decode(word.ptr, &bytes);
            len = (size_t)bytes;
            add_symbol(b, (Str){ word.ptr, len }, NO_TOKEN, len, &s);
        }
        word = (Str){ word.ptr + len, word.len - len };
    }
    let_unk_in(b, &s);
    return s.n;
}

/* `bytes` may be NULL. */
static int64_t find_symbols(const Bpe *b, Str word, uint32_t *out, uint32_t *bytes)
{
    Symbols s = { .id = out, .bytes = bytes };
    bool is_byte_level = b->base.word_ids == bpe_word_ids; /* then there is no table */
    Text name = { 0 };
    bool affixes = b->prefix.len || b->suffix.len;
    for (size_t i = 0; i < word.len;) {
        int len;
        uint32_t c = utf8_decode(word.ptr + i, &len);
        Str text = { word.ptr + i, (size_t)len };
        if (affixes)
            add_with_affixes(b, word, text, &s, &name);
        else
            add_symbol(b, text,
                       is_byte_level ? vocab_find(&b->vocab, text) : bpe_char_id(b, c, text),
                       (size_t)len, &s);
        i += (size_t)len;
    }
    let_unk_in(b, &s);
    text_free(&name);
    return s.n;
}

int64_t bpe_char_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    const Bpe *b = (const Bpe *)self;
    if (b->ignore_merges && word.len <= b->longest_name) {
        uint32_t id = vocab_find(&b->vocab, word);
        if (id != NO_TOKEN) return out[0] = id, 1;
    }
    bool walks = b->walk && word.len > LONGEST_MERGED_CHARS;
    int64_t n = walks ? walk(b, scratch, word, out) : find_symbols(b, word, out, NULL);
    for (int64_t i = 0; i < n; i++) {
        if (out[i] == NO_TOKEN) return out[0] = NO_TOKEN, 1;
    }
    return walks ? n : bpe_merge(b, scratch, out, n);
}

/* The name of what is merged is that of its parts, without the prefix in between: so each id takes
 * as many symbols as make its name. */
void bpe_spans(const WordModel *self, Buffer *scratch, Str word, const uint32_t *id, int64_t n,
               Span *out)
{
    const Bpe *b = (const Bpe *)self;
    const Str *name = b->vocab.name;
    if (b->ignore_merges && n == 1 && str_equal(name[*id], word)) {
        *out = (Span){ 0, word.len };
        return;
    }
    size_t most = word.len * (size_t)b->base.ids_per_byte;
    uint32_t *symbol = buffer_grow(scratch, 2 * most * sizeof *symbol), *bytes = symbol + most;
    CHECK(symbol != NULL);
    int64_t n_symbols = find_symbols(b, word, symbol, bytes);
    size_t at = 0;
    for (int64_t i = 0, k = 0; i < n; i++) {
        size_t from = at;
        for (size_t named = 0; named < name[id[i]].len && k < n_symbols; at += bytes[k++])
            named += name[symbol[k]].len - (named ? b->prefix.len : 0);
        out[i] = (Span){ from, at };
    }
}

uint32_t bpe_symbol_at(const void *bpe, Str text, size_t *len)
{
    int n;
    uint32_t c = utf8_decode(text.ptr, &n);
    *len = (size_t)n;
    return bpe_char_id(bpe, c, (Str){ text.ptr, *len });
}

int64_t bpe_cut(const WordModel *self, const char *text, uint32_t len, uint32_t from,
                uint32_t until, uint32_t *end)
{
    return joins_cut(((const Bpe *)self)->joins, text, len, from, until, end);
}
