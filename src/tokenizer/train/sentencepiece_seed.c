/* sentencepiece_seed.c - frequent substrings by a suffix array.
 *
 * All places of the units are sorted by the text that follows, as far as a piece may reach. The
 * sorting goes character by character from the front (Bentley and Sedgewick 1997, "Fast algorithms
 * for sorting and searching strings"), so the groups of places that share a beginning, the inner
 * nodes of the suffix tree, come by on the way: a group where not all go on with the same character
 * gives a seed. The end of a unit is a character that equals no other. Groups of different first
 * characters are independent tasks. Memory: 12 bytes for each character of the different units, and
 * 24 for each seed. */
#include "tokenizer/train/sentencepiece_seed.h"
#include <stdlib.h>
#include <string.h>

typedef struct Group {
    int64_t from, n; /* of places */
    Buffer seeds;    /* SpSeed; parents are numbers within the group */
    int64_t n_seeds, first;
} Group;

typedef struct Finder {
    const SpTrainSettings *settings;
    const SpUnits *units;
    uint32_t *place;   /* sorted by their texts */
    uint32_t *unit_of; /* by place */
    uint32_t *longest; /* by place, within the group */
    Group *group;      /* by first character */
    Buffer *room;      /* by thread */
} Finder;

typedef struct Visit {
    const Finder *finder;
    Group *group;
    Buffer *room;
} Visit;

/* ---- sorting places by one character ---- */

static uint32_t char_at(const Finder *f, uint32_t place, uint32_t depth)
{
    return f->units->text[place + depth];
}

static void insert_sort(uint64_t *key, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t k = key[i];
        int64_t at = i;
        for (; at && key[at - 1] > k; at--) key[at] = key[at - 1];
        key[at] = k;
    }
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* By one byte of the character after the other. */
static uint64_t *radix_sort(uint64_t *key, uint64_t *other, int64_t n, int64_t n_chars)
{
    for (int shift = 32; n_chars >> (shift - 32); shift += 8) {
        int64_t start[257] = { 0 };
        for (int64_t i = 0; i < n; i++) start[(key[i] >> shift & 255) + 1]++;
        for (int b = 0; b < 256; b++) start[b + 1] += start[b];
        for (int64_t i = 0; i < n; i++) other[start[key[i] >> shift & 255]++] = key[i];
        uint64_t *swap = key;
        key = other;
        other = swap;
    }
    return key;
}

/* Sorted keys, each a character above a place; in scratch memory. */
static uint64_t *sort_places(const Visit *v, const uint32_t *place, int64_t n, uint32_t depth)
{
    enum { FEW = 24, SOME = 400 };
    uint64_t *key = buffer_grow(v->room, 2 * (size_t)n * sizeof *key);
    for (int64_t i = 0; i < n; i++)
        key[i] = (uint64_t)char_at(v->finder, place[i], depth) << 32 | place[i];
    if (n <= FEW)
        insert_sort(key, n);
    else if (n <= SOME)
        qsort(key, (size_t)n, sizeof *key, by_value);
    else
        return radix_sort(key, key + n, n, v->finder->units->n_chars);
    return key;
}

/* ---- the groups ---- */

static bool is_valid(const Finder *f, uint32_t place, uint32_t len)
{
    uint32_t code[512];
    if (len > f->settings->max_sentencepiece_length) return false;
    for (uint32_t i = 0; i < len; i++) code[i] = f->units->code[char_at(f, place, i)];
    return sp_piece_is_valid(f->settings, code, len);
}

static uint32_t add_seed(const Visit *v, uint32_t place, uint32_t len, uint32_t parent,
                         int64_t count)
{
    Group *g = v->group;
    SpSeed *seed = buffer_grow(&g->seeds, (size_t)(g->n_seeds + 1) * sizeof *seed);
    seed[g->n_seeds] = (SpSeed){ place, len, parent, count };
    return (uint32_t)g->n_seeds++;
}

static int64_t count_of(const Finder *f, const uint32_t *place, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += f->units->unit[f->unit_of[place[i]]].count;
    return count;
}

/* A place alone: what may be a seed is its unit's rest. */
static void visit_one(const Visit *v, uint32_t place, uint32_t parent)
{
    const Finder *f = v->finder;
    const SpUnit *unit = &f->units->unit[f->unit_of[place]];
    uint32_t len = unit->at + unit->len - place;
    if (len > 1 && unit->count > 1 && is_valid(f, place, len))
        parent = add_seed(v, place, len, parent, unit->count);
    f->longest[place] = parent;
}

/* Whether all places have the same character there, and none its unit's end. */
static bool all_alike(const Finder *f, const uint32_t *place, int64_t n, uint32_t depth)
{
    uint32_t first = char_at(f, place[0], depth);
    int64_t i = 1;
    while (i < n && char_at(f, place[i], depth) == first) i++;
    return first && i == n;
}

/* Places, more than one, that share their first `depth` characters; `parent` is the longest seed
 * of fewer. */
static void visit(const Visit *v, uint32_t *place, int64_t n, uint32_t depth, uint32_t parent)
{
    const Finder *f = v->finder;
    uint32_t most = (uint32_t)f->settings->max_sentencepiece_length;
    bool alike = all_alike(f, place, n, depth);
    for (; alike && depth < most; alike = all_alike(f, place, n, depth)) depth++;
    if (!alike && depth > 1 && is_valid(f, place[0], depth))
        parent = add_seed(v, place[0], depth, parent, count_of(f, place, n));
    if (depth == most) {
        for (int64_t i = 0; i < n; i++) f->longest[place[i]] = parent;
        return;
    }
    const uint64_t *key = sort_places(v, place, n, depth);
    for (int64_t i = 0; i < n; i++) place[i] = (uint32_t)key[i];
    for (int64_t i = 0, end; i < n; i = end) {
        uint32_t c = char_at(f, place[i], depth);
        for (end = i + 1; end < n && char_at(f, place[end], depth) == c;) end++;
        if (c && end - i > 1)
            visit(v, place + i, end - i, depth + 1, parent);
        else if (c)
            visit_one(v, place[i], parent);
        for (int64_t k = i; !c && k < end; k++) f->longest[place[k]] = parent;
    }
}

static void visit_group(void *arg, int64_t i, int thread)
{
    Finder *f = arg;
    Group *g = &f->group[i];
    Visit v = { f, g, &f->room[thread] };
    if (!g->n) return;
    uint32_t *place = f->place + g->from;
    uint32_t parent = add_seed(&v, place[0], 1, NO_SEED, count_of(f, place, g->n));
    if (g->n == 1)
        visit_one(&v, place[0], parent);
    else
        visit(&v, place, g->n, 1, parent);
}

/* Places by their first character. */
static void make_groups(Arena *a, Finder *f)
{
    const SpUnits *u = f->units;
    f->group = NEW_N(a, Group, u->n_chars + 1);
    for (int64_t i = 0; i < u->n_units; i++) {
        for (uint32_t k = 0; k < u->unit[i].len; k++) {
            f->unit_of[u->unit[i].at + k] = (uint32_t)i;
            f->group[u->text[u->unit[i].at + k]].n++;
        }
    }
    for (int64_t c = 1; c <= u->n_chars; c++)
        f->group[c].from = f->group[c - 1].from + f->group[c - 1].n;
    for (int64_t c = 1; c <= u->n_chars; c++) f->group[c].n = 0;
    for (int64_t at = 0; at < u->n_text; at++) {
        Group *g = &f->group[u->text[at]];
        if (u->text[at]) f->place[g->from + g->n++] = (uint32_t)at;
    }
}

/* ---- all seeds ---- */

static void join_groups(Arena *a, Finder *f, SpSeeds *out)
{
    int64_t n_chars = f->units->n_chars;
    for (int64_t c = 1; c <= n_chars; c++) {
        f->group[c].first = out->n;
        out->n += f->group[c].n_seeds;
    }
    out->item = NEW_N(a, SpSeed, out->n + 1);
    for (int64_t c = 1; c <= n_chars; c++) {
        Group *g = &f->group[c];
        const SpSeed *seed = g->seeds.ptr;
        for (int64_t i = 0; i < g->n_seeds; i++) {
            SpSeed *to = &out->item[g->first + i];
            *to = seed[i];
            if (to->parent != NO_SEED) to->parent += (uint32_t)g->first;
        }
    }
    const SpUnits *u = f->units;
    for (int64_t at = 0; at < u->n_text; at++) {
        if (u->text[at]) f->longest[at] += (uint32_t)f->group[u->text[at]].first;
    }
    out->longest = f->longest;
}

void sp_seeds_keep(SpSeeds *s, int64_t n_text, const bool *keep, uint32_t *kept)
{
    /* What each seed becomes: its new number, or that of the nearest parent that stays. */
    Arena *work = arena_new();
    uint32_t *now = NEW_N(work, uint32_t, s->n + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        SpSeed seed = s->item[i];
        seed.parent = seed.parent == NO_SEED ? NO_SEED : now[seed.parent];
        now[i] = keep[i] ? (uint32_t)n : seed.parent;
        if (!keep[i]) continue;
        kept[n] = (uint32_t)i;
        s->item[n++] = seed;
    }
    s->n = n;
    for (int64_t at = 0; at < n_text; at++) {
        if (s->longest[at] != NO_SEED) s->longest[at] = now[s->longest[at]];
    }
    arena_free(work);
}

static int best_first(const void *x, const void *y)
{
    const SpRanked *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->seed > b->seed) - (a->seed < b->seed);
}

void sp_rank(SpRanked *item, int64_t n)
{
    if (n) qsort(item, (size_t)n, sizeof *item, best_first);
}

static void keep_best(SpSeeds *s, int64_t n_text, int64_t most)
{
    Arena *work = arena_new();
    SpRanked *ranked = NEW_N(work, SpRanked, s->n + 1);
    bool *keep = NEW_N(work, bool, s->n + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const SpSeed *seed = &s->item[i];
        keep[i] = seed->len == 1;
        if (!keep[i]) ranked[n++] = (SpRanked){ (double)seed->count * seed->len, (uint32_t)i };
    }
    if (n > most) {
        sp_rank(ranked, n);
        n = most;
        for (int64_t i = 0; i < n; i++) keep[ranked[i].seed] = true;
        sp_seeds_keep(s, n_text, keep, NEW_N(work, uint32_t, s->n + 1));
    }
    arena_free(work);
}

Error *sp_seeds_find(Arena *a, const TrainSettings *s, const SpUnits *u, int64_t most, Pool *pool,
                     SpSeeds *out)
{
    *out = (SpSeeds){ 0 };
    Arena *work = arena_new();
    Finder f = { .settings = &s->sentencepiece, .units = u };
    f.place = NEW_N(work, uint32_t, u->n_text + 1);
    f.unit_of = NEW_N(work, uint32_t, u->n_text + 1);
    f.longest = NEW_N(a, uint32_t, u->n_text + 1);
    f.room = NEW_N(work, Buffer, pool_size(pool));
    for (int64_t at = 0; at < u->n_text; at++) f.longest[at] = NO_SEED;
    make_groups(work, &f);
    Error *e = train_step(s, "finding seed pieces", 0, u->n_chars);
    if (!e) {
        pool_run(pool, u->n_chars + 1, visit_group, &f);
        join_groups(a, &f, out);
        keep_best(out, u->n_text, most);
    }
    for (int64_t c = 0; c <= u->n_chars; c++) buffer_free(&f.group[c].seeds);
    for (int t = 0; t < pool_size(pool); t++) buffer_free(&f.room[t]);
    arena_free(work);
    return e;
}
