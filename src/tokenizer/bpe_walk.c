/* bpe_walk.c - which tokens stay apart, and walking along them.
 *
 * Many pairs make a token on paper, but merging its text alone joins one of them in the end, and
 * this one only can ever be joined to it, in any text: had another pair come to lie side by side
 * there, it would have in the token's text alone. So each token has one pair, and one time when it
 * is made: the order of its merge. If no part is made later than the whole, merges happen by rising
 * order, from left to right among equals, and the two tokens stay apart unless there was a time
 * when the last part of the left one and the first part of the right one could be joined. */
#include "tokenizer/bpe_walk.h"
#include "tokenizer/trie.h"
#include <string.h>

#define NEVER UINT32_MAX

typedef struct Token {
    uint32_t left, right; /* its pair */
    uint32_t made;        /* 0: it is a symbol; else 1 + the order of its merge */
    uint32_t len;         /* 0: it never occurs */
    uint32_t shorter;     /* the longest token that it starts with, or NO_TOKEN */
} Token;

struct BpeWalk {
    const Bpe *bpe;
    Token *token; /* by id */
    Trie trie;
};

/* When these two are joined if they lie side by side; NEVER. */
static uint32_t joined_at(const BpeWalk *w, uint32_t left, uint32_t right)
{
    uint32_t rank = bpe_rank(w->bpe, left, right);
    if (rank == NO_RANK) return NEVER;
    const Token *t = &w->token[w->bpe->merged[rank]];
    return t->left == left && t->right == right ? t->made : NEVER;
}

/* Goes back in time along the parts of both that lie side by side. Among merges of the same order
 * the one further left comes first: those within the left token, then that of the two, then those
 * within the right one. */
static bool stay_apart(const BpeWalk *w, uint32_t left, uint32_t right)
{
    uint32_t left_until = NEVER, right_until = NEVER;
    for (;;) {
        uint32_t time = joined_at(w, left, right);
        if (time < left_until && time <= right_until && time != NEVER) return false;
        const Token *l = &w->token[left], *r = &w->token[right];
        if (!l->made && !r->made) return true;
        if (l->made > r->made) {
            left_until = l->made;
            left = l->right;
        } else {
            right_until = r->made;
            right = r->left;
        }
    }
}

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
static void find_pair(BpeWalk *w, uint32_t id, Str text, BpeSymbolAt *symbol_at, const void *model,
                      Buffer *symbols, Buffer *scratch)
{
    uint32_t *symbol = buffer_grow(symbols, text.len * sizeof *symbol);
    int64_t n = symbols_of(text, symbol_at, model, symbol);
    BpeMerge last = { NO_TOKEN, NO_TOKEN, NO_RANK };
    if (n > 1) n = bpe_merge_telling(w->bpe, scratch, symbol, n, &last);
    if (n != 1 || symbol[0] != id) return;
    Token *t = &w->token[id];
    *t = (Token){ last.left, last.right, 0, (uint32_t)text.len, NO_TOKEN };
    if (last.rank != NO_RANK) t->made = 1 + bpe_priority(w->bpe, last.rank);
}

static bool parts_come_first(const BpeWalk *w, int64_t n)
{
    for (int64_t id = 0; id < n; id++) {
        const Token *t = &w->token[id];
        if (!t->made) continue;
        if (w->token[t->left].made > t->made || w->token[t->right].made > t->made) return false;
    }
    return true;
}

static void make_trie(BpeWalk *w, Arena *a, const Str *text, int64_t n)
{
    Arena *scratch = arena_new();
    Str *key = NEW_N(scratch, Str, n);
    uint32_t *value = NEW_N(scratch, uint32_t, n);
    int64_t n_keys = 0;
    for (int64_t id = 0; id < n; id++) {
        if (!w->token[id].len) continue;
        key[n_keys] = text[id];
        value[n_keys++] = (uint32_t)id;
    }
    w->trie = trie_new(a, key, value, n_keys);
    arena_free(scratch);
    for (int64_t id = 0; id < n; id++) {
        if (w->token[id].len)
            trie_longest(&w->trie, (Str){ text[id].ptr, text[id].len - 1 }, &w->token[id].shorter);
    }
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
    w->bpe = b;
    w->token = NEW_N(a, Token, n);
    Buffer symbols = { 0 }, scratch = { 0 };
    for (int64_t id = 0; id < n; id++) {
        if (text[id].len)
            find_pair(w, (uint32_t)id, text[id], symbol_at, model, &symbols, &scratch);
    }
    buffer_free(&symbols);
    buffer_free(&scratch);
    if (!parts_come_first(w, n)) return NULL;
    make_trie(w, a, text, n);
    return w;
}

/* Places of the text that may be the end of a token: all but those from which no token goes on.
 * Made as far as it is needed, since the text may end at an unknown character. */
typedef struct Places {
    uint64_t *open;
    size_t n; /* words of it */
} Places;

static bool is_open(Places *p, size_t at)
{
    while (p->n <= at >> 6) p->open[p->n++] = UINT64_MAX;
    return p->open[at >> 6] >> (at & 63) & 1;
}

static void close_place(Places *p, size_t at)
{
    p->open[at >> 6] &= ~((uint64_t)1 << (at & 63));
}

void bpe_walk_keep_pairs(Arena *a, Bpe *b, int64_t n)
{
    if (!b->walk) return;
    const Token *token = b->walk->token;
    Bpe all = *b;
    int64_t n_pairs = 0;
    for (int64_t id = 0; id < n; id++) n_pairs += token[id].made > 0;
    bpe_tables_new(b, a, n_pairs, b->n_merges);
    b->merged = all.merged;
    for (int64_t id = 0; id < n; id++) {
        const Token *t = &token[id];
        if (t->made) bpe_add_pair(b, t->left, t->right, bpe_rank(&all, t->left, t->right));
    }
}

static uint32_t longest(const BpeWalk *w, Str text, size_t at)
{
    uint32_t id = NO_TOKEN;
    trie_longest(&w->trie, (Str){ text.ptr + at, text.len - at }, &id);
    return id;
}

size_t bpe_walk(const BpeWalk *w, Buffer *scratch, Str text, uint32_t *out, int64_t *n)
{
    Places p = { .open = buffer_grow(scratch, (text.len / 64 + 1) * sizeof(uint64_t)) };
    int64_t first = *n, top = first; /* the tokens out[first..top) are the ids of text[0, at) */
    size_t at = 0;
    uint32_t next = longest(w, text, at);
    while (next != NO_TOKEN) {
        const Token *t = &w->token[next];
        size_t end = at + t->len;
        if (is_open(&p, end) && (top == first || stay_apart(w, out[top - 1], next))) {
            out[top++] = next;
            at = end;
            next = longest(w, text, at);
        } else if (t->shorter != NO_TOKEN) {
            next = t->shorter;
        } else {
            CHECK(top > first);
            close_place(&p, at);
            next = out[--top];
            at -= w->token[next].len;
        }
    }
    *n = top;
    return at;
}
