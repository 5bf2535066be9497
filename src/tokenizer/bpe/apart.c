/* apart.c - the tables of what is joined, and when. */
#include "tokenizer/bpe/apart.h"

/* Words of a filter for so many keys: about 16 bits for each. */
static uint64_t *new_filter(Arena *a, int64_t n, int *shift)
{
    int bits = 4;
    while ((int64_t)1 << (bits + 2) < n) bits++;
    *shift = 64 - bits;
    return NEW_N(a, uint64_t, (size_t)1 << bits);
}

static void add_to_filter(uint64_t *filter, int shift, uint64_t hash)
{
    filter[hash >> shift] |= (uint64_t)1 << (hash >> 32 & 63) | (uint64_t)1 << (hash >> 26 & 63);
}

static void find_until(const Apart *p, ApartToken *t)
{
    t->first_until = t->last_until = APART_NEVER;
    for (const ApartToken *x = t; x->made; x = &p->token[x->left]) t->first_until = x->made;
    for (const ApartToken *x = t; x->made; x = &p->token[x->right]) t->last_until = x->made;
}

static ApartAround *around(Apart *p, Str text, size_t at)
{
    return &p->around[(uint8_t)text.ptr[at - 1] << 8 | (uint8_t)text.ptr[at]];
}

static void be_sooner(uint32_t *time, uint32_t other)
{
    if (other < *time) *time = other;
}

/* What the bytes of a token around the place between its parts tell. */
static void add_place(Apart *p, Str text, size_t at, const ApartToken *t)
{
    ApartAround *o = around(p, text, at);
    if (!p->token[t->left].made && !p->token[t->right].made) {
        be_sooner(&o->across, t->made);
    } else if (at == 1) {
        o->behind |= (uint32_t)1 << (text.ptr[2] & 31);
    } else if (at + 1 == text.len) {
        o->before |= (uint32_t)1 << (text.ptr[at - 2] & 31);
    } else {
        uint32_t four;
        memcpy(&four, text.ptr + at - 2, 4);
        add_to_filter(p->four_filter, p->four_shift, apart_hash(four));
    }
}

static void add_pair(Apart *p, const ApartToken *t)
{
    uint64_t key = (uint64_t)t->left << APART_ID_BITS | t->right, hash = apart_hash(key);
    uint64_t at = hash >> 20 & p->pair_mask;
    while (p->pair[at] != UINT64_MAX) at = (at + 1) & p->pair_mask;
    p->pair[at] = key << APART_TIME_BITS | t->made;
    if (p->token[t->left].made || p->token[t->right].made)
        add_to_filter(p->pair_filter, p->pair_shift, hash);
}

static void make_tables(Arena *a, Apart *p, int64_t n)
{
    p->pair_mask = 15;
    while ((int64_t)p->pair_mask < 2 * n) p->pair_mask = p->pair_mask * 2 + 1;
    p->pair = NEW_N(a, uint64_t, p->pair_mask + 1);
    memset(p->pair, 0xFF, (p->pair_mask + 1) * sizeof *p->pair);
    p->pair_filter = new_filter(a, n, &p->pair_shift);
    p->four_filter = new_filter(a, n, &p->four_shift);
    p->around = NEW_N(a, ApartAround, 1 << 16);
    for (int i = 0; i < 1 << 16; i++)
        p->around[i] = (ApartAround){ APART_NEVER, APART_NEVER, 0, 0 };
}

/* Marks what is not certain by the two bytes alone. */
static void mark_vague(Apart *p, const bool *ends_longer, const bool *starts_longer)
{
    for (int i = 0; i < 1 << 16; i++) {
        if (ends_longer[i >> 8] || starts_longer[i & 255]) p->around[i].across |= APART_VAGUE;
    }
}

void apart_finish(Arena *a, Apart *p, const Str *text, int64_t n)
{
    bool ends_longer[256] = { 0 }, starts_longer[256] = { 0 }; /* bytes of symbols */
    make_tables(a, p, n);
    for (int64_t id = 0; id < n; id++) {
        ApartToken *t = &p->token[id];
        if (!t->len) continue;
        find_until(p, t);
        if (t->len > 1) be_sooner(&around(p, text[id], 1)->soon, t->first_until);
        if (t->made) {
            add_pair(p, t);
            add_place(p, text[id], p->token[t->left].len, t);
        } else if (t->len > 1) {
            starts_longer[(uint8_t)text[id].ptr[0]] = true;
            ends_longer[(uint8_t)text[id].ptr[t->len - 1]] = true;
        }
    }
    mark_vague(p, ends_longer, starts_longer);
}
