/* sentencepiece_bpe.c - SentencePiece's BPE: the most frequent pair of symbols in the units
 * becomes a piece, again and again.
 *
 * Among equally frequent pairs the one with fewer characters comes first, then the one whose text
 * is the lesser. A pair whose text is a piece already is not merged: it would be a second way to
 * write it. Pairs that may be no piece are never looked at. All places where a pair stands arise in
 * one step, that which made the later of its symbols, so each pair has one list of units. */
#include "base/map.h"
#include "base/utf8.h"
#include "tokenizer/train/pairs.h"
#include "tokenizer/train/sentencepiece.h"
#include <string.h>

/* The characters of a symbol: text[at, at + len). */
typedef struct Symbol {
    int64_t at, len;
} Symbol;

typedef struct Gain {
    uint32_t pair, unit;
} Gain;

/* What is known of a pair beside its count. */
typedef struct Known {
    uint32_t *units; /* those that have it, when its step is closed */
    int64_t n_units; /* while the step is under way: at most so many */
    bool is_valid;   /* it may be a piece */
} Known;

/* A pair with the count it had when it was put here. */
typedef struct Waiting {
    int64_t count;
    uint32_t pair;
} Waiting;

typedef struct Learner {
    const TrainSettings *settings;
    const SpUnits *units;
    Arena *arena;         /* of this run */
    Buffer symbols, text; /* Symbol by number: characters, then pieces; their characters */
    int64_t n_symbols, n_text;
    uint32_t *content; /* symbols of the units, at their places */
    uint32_t *len;     /* by unit: symbols */
    PairTable pairs;
    Buffer known; /* by pair: Known */
    Buffer heap;  /* Waiting */
    int64_t n_heap;
    Buffer gains, touched; /* of the step under way: Gain; pairs that gained */
    int64_t n_gains, n_touched;
    Map *pieces; /* texts of pieces */
} Learner;

static const Symbol *symbol(const Learner *l, uint32_t i)
{
    return (const Symbol *)l->symbols.ptr + i;
}

static const uint32_t *text_of(const Learner *l, const Symbol *s)
{
    return (const uint32_t *)l->text.ptr + s->at;
}

static uint32_t add_symbol(Learner *l, const uint32_t *text, int64_t len)
{
    uint32_t *to = buffer_grow(&l->text, (size_t)(l->n_text + len) * sizeof *to);
    memcpy(to + l->n_text, text, (size_t)len * sizeof *to);
    Symbol *all = buffer_grow(&l->symbols, (size_t)(l->n_symbols + 1) * sizeof *all);
    all[l->n_symbols] = (Symbol){ l->n_text, len };
    l->n_text += len;
    return (uint32_t)l->n_symbols++;
}

static const Pair *pair_at(const Learner *l, uint32_t i)
{
    return pair_table_all(&l->pairs) + i;
}

static Known *known_of(const Learner *l, uint32_t i)
{
    return (Known *)l->known.ptr + i;
}

/* ---- the order of pairs ---- */

/* The i-th character of a pair's text. */
static uint32_t char_at(const Learner *l, const Pair *p, int64_t i)
{
    const Symbol *left = symbol(l, p->left);
    return i < left->len ? text_of(l, left)[i] : text_of(l, symbol(l, p->right))[i - left->len];
}

static int64_t text_len(const Learner *l, const Pair *p)
{
    return symbol(l, p->left)->len + symbol(l, p->right)->len;
}

static bool comes_before(const Learner *l, const Waiting *x, const Waiting *y)
{
    if (x->count != y->count) return x->count > y->count;
    const Pair *a = pair_at(l, x->pair), *b = pair_at(l, y->pair);
    int64_t n = text_len(l, a), m = text_len(l, b);
    if (n != m) return n < m;
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = char_at(l, a, i), d = char_at(l, b, i);
        if (c != d) return c < d;
    }
    return symbol(l, a->left)->len < symbol(l, b->left)->len; /* two ways to make one text */
}

static void push(Learner *l, Waiting w)
{
    Waiting *heap = buffer_grow(&l->heap, (size_t)(l->n_heap + 1) * sizeof *heap);
    int64_t at = l->n_heap++;
    for (; at && comes_before(l, &w, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = w;
}

static bool pop(Learner *l, Waiting *out)
{
    Waiting *heap = l->heap.ptr;
    if (!l->n_heap) return false;
    *out = heap[0];
    Waiting last = heap[--l->n_heap];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < l->n_heap; at = child) {
        if (child + 1 < l->n_heap && comes_before(l, &heap[child + 1], &heap[child])) child++;
        if (!comes_before(l, &heap[child], &last)) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return true;
}

/* ---- counting ---- */

static bool may_be_piece(const Learner *l, const Pair *p)
{
    const SpTrainSettings *s = &l->settings->sentencepiece;
    uint32_t code[512];
    int64_t n = text_len(l, p);
    if (n > s->max_sentencepiece_length) return false;
    for (int64_t i = 0; i < n; i++) code[i] = l->units->code[char_at(l, p, i)];
    return sp_piece_is_valid(s, code, n);
}

static void change(Learner *l, uint32_t unit, uint32_t left, uint32_t right, int sign)
{
    int64_t n = l->pairs.n;
    uint32_t index = pair_table_index(&l->pairs, left, right);
    Known *known = (Known *)buffer_grow(&l->known, (size_t)l->pairs.n * sizeof *known) + index;
    if (l->pairs.n > n) *known = (Known){ .is_valid = may_be_piece(l, pair_at(l, index)) };
    if (!known->is_valid) return;
    pair_table_all(&l->pairs)[index].count += sign * l->units->unit[unit].count;
    if (sign < 0) return;
    if (!known->n_units++) {
        uint32_t *touched = buffer_grow(&l->touched, (size_t)(l->n_touched + 1) * sizeof *touched);
        touched[l->n_touched++] = index;
    }
    Gain *gain = buffer_grow(&l->gains, (size_t)(l->n_gains + 1) * sizeof *gain);
    gain[l->n_gains++] = (Gain){ index, unit };
}

/* Ends a step: the new pairs get their lists of units and wait. A list has a unit once. */
static void close_step(Learner *l)
{
    const uint32_t *touched = l->touched.ptr;
    const Gain *gain = l->gains.ptr;
    uint32_t *room = l->n_gains ? NEW_N(l->arena, uint32_t, l->n_gains) : NULL;
    for (int64_t i = 0; i < l->n_touched; i++) {
        Known *known = known_of(l, touched[i]);
        known->units = room;
        room += known->n_units;
        known->n_units = 0;
        int64_t count = pair_at(l, touched[i])->count;
        if (count > 0) push(l, (Waiting){ count, touched[i] });
    }
    for (int64_t i = 0; i < l->n_gains; i++) {
        Known *known = known_of(l, gain[i].pair);
        if (!known->n_units || known->units[known->n_units - 1] != gain[i].unit)
            known->units[known->n_units++] = gain[i].unit;
    }
    l->n_gains = l->n_touched = 0;
}

static void count_pairs(Learner *l)
{
    const SpUnits *u = l->units;
    for (int64_t i = 0; i < u->n_units; i++) {
        const uint32_t *at = l->content + u->unit[i].at;
        l->len[i] = u->unit[i].len;
        for (uint32_t k = 1; k < l->len[i]; k++) change(l, (uint32_t)i, at[k - 1], at[k], 1);
    }
    close_step(l);
}

static void merge_unit(Learner *l, uint32_t unit, uint32_t left, uint32_t right, uint32_t merged)
{
    uint32_t *at = l->content + l->units->unit[unit].at, n = 0, len = l->len[unit];
    for (uint32_t i = 0; i < len;) {
        if (i + 1 == len || at[i] != left || at[i + 1] != right) {
            at[n++] = at[i++];
            continue;
        }
        i += 2;
        if (n) {
            change(l, unit, at[n - 1], left, -1);
            change(l, unit, at[n - 1], merged, 1);
        }
        at[n++] = merged;
        if (i < len) {
            change(l, unit, right, at[i], -1);
            change(l, unit, merged, at[i], 1);
        }
    }
    l->len[unit] = n;
}

/* ---- merging ---- */

/* Makes the pair a piece, unless its text is one. */
static void merge(Learner *l, Arena *a, uint32_t index, SpPieces *out)
{
    Pair p = *pair_at(l, index);
    Known known = *known_of(l, index);
    uint32_t text[512];
    int64_t n = text_len(l, &p);
    for (int64_t i = 0; i < n; i++) text[i] = char_at(l, &p, i);
    Str key = { (char *)text, (size_t)n * sizeof *text };
    if (map_has(l->pieces, key)) return;
    map_set(l->pieces, key, l);
    sp_pieces_add(a, out, sp_spell(a, l->units, text, n), -(double)out->n);
    uint32_t merged = add_symbol(l, text, n);
    for (int64_t i = 0; i < known.n_units; i++)
        merge_unit(l, known.units[i], p.left, p.right, merged);
    close_step(l);
}

static Error *merge_until(Learner *l, Arena *a, int64_t n_wanted, SpPieces *out)
{
    Waiting w;
    while (out->n < n_wanted && pop(l, &w)) {
        int64_t count = pair_at(l, w.pair)->count;
        if (w.count != count) {
            w.count = count;
            if (count > 0) push(l, w);
            continue;
        }
        int64_t before = out->n;
        merge(l, a, w.pair, out);
        if (out->n % 256 == 0 && out->n > before)
            TRY(train_step(l->settings, "merging pairs", out->n, n_wanted));
    }
    return NULL;
}

static Error *learn(Learner *l, Arena *a, int64_t n_wanted, SpPieces *out)
{
    const SpUnits *u = l->units;
    l->pieces = map_new(l->arena);
    l->content = arena_copy(l->arena, u->text, (size_t)(u->n_text + 1) * sizeof *u->text);
    l->len = NEW_N(l->arena, uint32_t, u->n_units + 1);
    for (uint32_t c = 0; c <= (uint32_t)u->n_chars; c++) add_symbol(l, &c, 1);
    TRY(train_step(l->settings, "merging pairs", 0, n_wanted));
    count_pairs(l);
    return merge_until(l, a, n_wanted, out);
}

Error *sp_learn_bpe(Arena *a, const TrainSettings *s, const SpUnits *u, int64_t n_wanted,
                    SpPieces *out)
{
    Learner l = { .settings = s, .units = u, .arena = arena_new() };
    Error *e = learn(&l, a, n_wanted - u->n_chars, out);
    for (int64_t i = 0; i < u->n_chars && !e; i++) {
        char name[4];
        int len = utf8_encode(u->ch[i].code, name);
        sp_pieces_add(a, out, (Str){ arena_string_n(a, name, (size_t)len), (size_t)len },
                      -(double)out->n);
    }
    pair_table_free(&l.pairs);
    Buffer *buffer[] = { &l.symbols, &l.text, &l.known, &l.heap, &l.gains, &l.touched };
    for (size_t i = 0; i < sizeof buffer / sizeof *buffer; i++) buffer_free(buffer[i]);
    arena_free(l.arena);
    return e;
}
