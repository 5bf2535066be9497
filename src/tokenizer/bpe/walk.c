/* walk.c - walking along the longest tokens that stay apart (bpe_apart.h). */
#include "tokenizer/bpe/walk.h"
#include "tokenizer/bpe/starts.h"

struct BpeWalk {
    Apart apart;
    BpeStarts starts;
};

static int64_t symbols_of(Str text, BpeSymbolAt *symbol_at, const void *model, uint32_t *out)
{
    int64_t n = 0;
    for (size_t at = 0, len; at < text.len; at += len) {
        out[n] = symbol_at(model, (Str){ text.ptr + at, text.len - at }, &len);
        if (out[n++] == NO_TOKEN) return 0;
    }
    return n;
}

/* Finds how merging makes the token of its text; of one that it does not make, len stays 0. */
static void find_pair(const Bpe *b, ApartToken *t, uint32_t id, Str text, BpeSymbolAt *symbol_at,
                      const void *model, Buffer *symbols, Buffer *scratch)
{
    uint32_t *symbol = buffer_grow(symbols, text.len * sizeof *symbol);
    int64_t n = symbols_of(text, symbol_at, model, symbol);
    BpeMerge last = { NO_TOKEN, NO_TOKEN, NO_RANK };
    if (n > 1) n = bpe_merge_telling(b, scratch, symbol, n, &last);
    if (n != 1 || symbol[0] != id) return;
    *t = (ApartToken){ .left = last.left, .right = last.right, .len = (uint32_t)text.len };
    if (last.rank != NO_RANK) t->made = 1 + bpe_priority(b, last.rank);
}

static bool parts_come_first(const ApartToken *token, int64_t n)
{
    for (int64_t id = 0; id < n; id++) {
        ApartToken t = token[id];
        if (t.made && (token[t.left].made > t.made || token[t.right].made > t.made)) return false;
    }
    return true;
}

static void find_starts(BpeWalk *w, Arena *a, const Str *text, int64_t n)
{
    Arena *scratch = arena_new();
    Str *key = NEW_N(scratch, Str, n);
    uint32_t *value = NEW_N(scratch, uint32_t, n);
    int64_t n_keys = 0;
    for (int64_t id = 0; id < n; id++) {
        if (!w->apart.token[id].len) continue;
        key[n_keys] = text[id];
        value[n_keys++] = (uint32_t)id;
    }
    Trie trie = trie_new(scratch, key, value, n_keys);
    for (int64_t i = 0; i < n_keys; i++) {
        ApartToken *t = &w->apart.token[value[i]];
        t->shorter = NO_TOKEN;
        trie_longest(&trie, (Str){ key[i].ptr, key[i].len - 1 }, &t->shorter);
    }
    bpe_starts_new(a, &trie, key, n_keys, w->apart.token, &w->starts);
    arena_free(scratch);
}

static uint32_t byte_at(const void *bpe, Str text, size_t *len)
{
    *len = 1;
    return ((const Bpe *)bpe)->byte_id[(uint8_t)text.ptr[0]];
}

const BpeWalk *bpe_walk_new_bytes(Arena *a, const Bpe *b, const Str *bytes, int64_t n)
{
    return bpe_walk_new(a, b, bytes, n, byte_at, b);
}

const BpeWalk *bpe_walk_new(Arena *a, const Bpe *b, const Str *text, int64_t n,
                            BpeSymbolAt *symbol_at, const void *model)
{
    BpeWalk *w = NEW(a, BpeWalk);
    ApartToken *token = w->apart.token = NEW_N(a, ApartToken, n);
    Buffer symbols = { 0 }, scratch = { 0 };
    for (int64_t id = 0; id < n; id++) {
        if (text[id].len)
            find_pair(b, &token[id], (uint32_t)id, text[id], symbol_at, model, &symbols, &scratch);
    }
    buffer_free(&symbols);
    buffer_free(&scratch);
    if (!parts_come_first(token, n)) return NULL;
    apart_finish(a, &w->apart, text, n);
    find_starts(w, a, text, n);
    return w;
}

bool bpe_walk_makes(const BpeWalk *w, int64_t id)
{
    return w->apart.token[id].len > 0;
}

void bpe_walk_keep_pairs(Arena *a, Bpe *b, int64_t n)
{
    if (!b->walk) return;
    const ApartToken *token = b->walk->apart.token;
    Bpe all = *b;
    int64_t n_pairs = 0;
    for (int64_t id = 0; id < n; id++) n_pairs += token[id].made > 0;
    bpe_tables_new(b, a, n_pairs, b->n_merges);
    b->merged = all.merged;
    for (int64_t id = 0; id < n; id++) {
        ApartToken t = token[id];
        if (t.made) bpe_add_pair(b, t.left, t.right, bpe_rank(&all, t.left, t.right));
    }
}

/* Places of the text that may be the end of a token: all but those from which no token goes on.
 * Made as far as it is needed, since the text may end at an unknown character. */
typedef struct Places {
    uint64_t *open;
    size_t n; /* words of it */
} Places;

static inline bool is_open(Places *p, size_t at)
{
    while (p->n <= at >> 6) p->open[p->n++] = UINT64_MAX;
    return p->open[at >> 6] >> (at & 63) & 1;
}

static inline void close_place(Places *p, size_t at)
{
    p->open[at >> 6] &= ~((uint64_t)1 << (at & 63));
}

typedef struct Candidate {
    uint32_t id; /* STARTS_NO_ID: no token starts here */
    uint32_t len, last_until;
} Candidate;

static inline Candidate longest(const BpeWalk *w, Str text, size_t at)
{
    if (at == text.len) return (Candidate){ STARTS_NO_ID, 0, 0 };
    BpeStart s = bpe_starts_longest(&w->starts, text.ptr + at, text.ptr + text.len);
    return (Candidate){ s.id_label >> STARTS_LABEL_BITS, s.len, s.last_until };
}

static inline Candidate candidate(const BpeWalk *w, uint32_t id)
{
    const ApartToken *t = &w->apart.token[id];
    return (Candidate){ id, t->len, t->last_until };
}

size_t bpe_walk(const BpeWalk *w, Buffer *scratch, Str text, uint32_t *out, int64_t *n)
{
    const Apart *apart = &w->apart;
    Places p = { .open = buffer_grow(scratch, (text.len / 64 + 1) * sizeof(uint64_t)) };
    int64_t first = *n, top = first; /* the tokens out[first..top) are the ids of text[0, at) */
    size_t at = 0;
    Candidate next = longest(w, text, at);
    while (next.id != STARTS_NO_ID) {
        size_t end = at + next.len;
        bool is_inside = at > 1 && at + 2 <= text.len, ends_early = end + 2 <= text.len;
        if (!(ends_early && apart_dead_end(apart, next.last_until, text.ptr + end)) &&
            is_open(&p, end) &&
            (top == first || apart_stay(apart, out[top - 1], next.id, text.ptr + at, is_inside))) {
            out[top++] = next.id;
            at = end;
            next = longest(w, text, at);
            continue;
        }
        uint32_t id = apart->token[next.id].shorter;
        if (id == NO_TOKEN) { /* back to the one before, whose end is closed now */
            CHECK(top > first);
            close_place(&p, at);
            id = out[--top];
            at -= apart->token[id].len;
        }
        next = candidate(w, id);
    }
    *n = top;
    return at;
}
