/* word_cache.c - looks up a whole batch of words, level by level.
 *
 * Each level is one tight loop over the words that the level before did not know (word_levels.h).
 * Small: words of up to 8 bytes, direct-mapped, the zero-padded word as key; middle: up to 16
 * bytes, direct-mapped; large: up to 16 bytes, all words seen; then up to 64 in another such table;
 * else the model is asked. Now and then a batch goes to the large table as a whole, which counts
 * its words and gives the places in front to those needed most: so the tight loops count nothing.
 * The whole key is always compared, so a result is exact. Words with a zero byte would be ambiguous
 * as zero-padded keys: batches that have one skip the two levels in front. */
#include "tokenizer/cache/word_cache.h"
#include "tokenizer/cache/word_levels.h"
#include "tokenizer/pretokenize/pretokenize.h"

/* The ids of a word that is not remembered, until the batch is written. */
typedef struct Passing {
    int64_t at, n; /* in passing_ids */
} Passing;

/* Bytes of text from one counted batch to the next: from few to the most. */
enum { COUNT_MORE = 1 << 10, COUNT_MOST = 1 << 20 };

struct WordCache {
    const WordModel *model;
    const WordLevels *levels;
    WordTables *tables;            /* NULL: remember nothing */
    Buffer limits, packed, missed; /* of one batch */
    Buffer work, parts;            /* the model's scratch; ends of the parts of a word */
    Buffer passing;
    int64_t n_passing, n_uncounted, count_at; /* the last two: bytes of text */
    Buffer left;
    WordBatch batch;
    WordPlace place; /* in it */
    Ids passing_ids, ids;
};

static void release(void *arg)
{
    WordCache *c = arg;
    Buffer *buffer[] = { &c->limits, &c->packed,  &c->missed, &c->work,
                         &c->parts,  &c->passing, &c->left };
    for (int i = 0; i < 7; i++) buffer_free(buffer[i]);
    ids_free(&c->passing_ids);
    ids_free(&c->ids);
    word_tables_free(c->tables);
}

WordCache *word_cache_new(Arena *a, const WordModel *model, int64_t n_ids, bool remember)
{
    WordCache *c = NEW(a, WordCache);
    c->model = model;
    c->levels = word_levels();
    c->tables = remember ? word_tables_new(n_ids) : NULL;
    arena_on_free(a, release, c);
    return c;
}

static int64_t copy_ids(const WordTables *t, PackedIds ids, uint32_t *out)
{
    int64_t n = (int64_t)(ids >> 60);
    for (int i = 0; i < n; i++) out[i] = packed_id(ids, t->id_bits, i);
    if (n || !ids) return n;
    n = (int64_t)(ids >> 32);
    memcpy(out, word_tables_more(t) + (uint32_t)ids, (size_t)n * sizeof *out);
    return n;
}

/* A part of a long word. */
static int64_t part_ids(WordCache *c, Str part, uint32_t *out)
{
    WordTables *t = c->tables;
    if (part.len > 16) return c->model->word_ids(c->model, &c->work, part, out);
    WordKey key = word_key(part.ptr, (uint32_t)part.len);
    LargeEntry *e = word_tables_large(t, key, word_hash16(key), (uint32_t)part.len);
    if (e->len) return copy_ids(t, e->ids, out);
    int64_t n = c->model->word_ids(c->model, &c->work, part, out);
    if (word_tables_has_room(t))
        word_tables_add_large(t, e, key, (uint32_t)part.len, word_tables_pack(t, out, n));
    return n;
}

static void prefetch_part(const WordTables *t, Str part)
{
    WordKey key = word_key(part.ptr, part.len < 16 ? (uint32_t)part.len : 16);
    __builtin_prefetch(&t->large[word_large_place(t, word_hash16(key))]);
}

/* Asks the model. Long words are cut where no token joins the two sides: nearly all parts were seen
 * before. */
static int64_t model_ids(WordCache *c, Str word, uint32_t *out)
{
    const WordModel *m = c->model;
    bool cuts = m->cut && c->tables && word.len > 16 && (!m->cut_most || word.len <= m->cut_most);
    if (!cuts) return m->word_ids(m, &c->work, word, out);
    uint32_t *end = buffer_grow(&c->parts, SPLIT_ROOM * sizeof *end), len = (uint32_t)word.len;
    int64_t n = 0;
    for (uint32_t from = 0; from < len;) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n_parts = m->cut(m, word.ptr, len, from, until, end);
        for (int64_t i = 0, at = from; i < n_parts; at = end[i++])
            prefetch_part(c->tables, (Str){ word.ptr + at, (size_t)(end[i] - at) });
        for (int64_t i = 0; i < n_parts; from = end[i++])
            n += part_ids(c, (Str){ word.ptr + from, end[i] - from }, out + n);
    }
    return n;
}

/* The ids are in c->ids. */
static void compute(WordCache *c, Str word)
{
    c->ids.n = 0;
    uint32_t *out = ids_reserve(&c->ids, (int64_t)word.len * c->model->ids_per_byte);
    c->ids.n = model_ids(c, word, out);
}

static PackedIds pass(WordCache *c, Str word)
{
    uint32_t *out = ids_reserve(&c->passing_ids, (int64_t)word.len * c->model->ids_per_byte);
    Passing *p = buffer_grow(&c->passing, (size_t)(c->n_passing + 1) * sizeof *p);
    p += c->n_passing;
    *p = (Passing){ .at = c->passing_ids.n };
    p->n = model_ids(c, word, out);
    if (p->n < 0) return LEFT;
    c->passing_ids.n += p->n;
    return PASSING | (uint64_t)c->n_passing++;
}

static Str word_at(const WordBatch *b, int64_t i)
{
    return (Str){ b->text + b->limit[i], b->limit[i + 1] - b->limit[i] };
}

static PackedIds find_short(WordCache *c, Str word, uint64_t hash, bool in_front)
{
    WordTables *t = c->tables;
    WordKey key = word_key(word.ptr, (uint32_t)word.len);
    LargeEntry *e = word_tables_large(t, key, hash, (uint32_t)word.len);
    if (!e->len) {
        compute(c, word);
        PackedIds ids = word_tables_pack(t, c->ids.id, c->ids.n);
        word_tables_add_large(t, e, key, (uint32_t)word.len, ids);
        if (in_front) word_tables_promote(t, e, hash);
    }
    return e->ids;
}

static PackedIds find_long(WordCache *c, Str word, uint64_t hash)
{
    WordTables *t = c->tables;
    LongEntry *e = word_tables_long(t, hash, word.ptr, (uint32_t)word.len);
    if (!e->len) {
        compute(c, word);
        PackedIds ids = word_tables_pack(t, c->ids.id, c->ids.n);
        word_tables_add_long(t, e, hash, word.ptr, (uint32_t)word.len, ids);
    }
    e->uses++;
    return e->ids;
}

/* Their hashes take the place of those of their beginnings. */
static void prefetch_long(const WordTables *t, const WordBatch *b, const uint32_t *missed,
                          int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        Str word = word_at(b, missed[j]);
        if (word.len <= 16 || word.len > LONGEST_WORD) continue;
        b->hash[j] = word_hash(word.ptr, word.len);
        __builtin_prefetch(&t->longs[word_long_place(t, b->hash[j])]);
    }
}

static void look_up_rest(WordCache *c, const WordBatch *b, const uint32_t *missed, int64_t n,
                         bool in_front)
{
    prefetch_long(c->tables, b, missed, n);
    for (int64_t j = 0; j < n; j++) {
        uint32_t i = missed[j];
        Str word = word_at(b, i);
        if (word.len <= 16)
            b->packed[i] = find_short(c, word, b->hash[j], in_front);
        else if (word.len <= LONGEST_WORD)
            b->packed[i] = find_long(c, word, b->hash[j]);
        else
            b->packed[i] = pass(c, word);
    }
}

/* Ids of a word that is not remembered; returns their number. */
static int64_t write_passing(const WordCache *c, PackedIds ids, uint32_t *to)
{
    const Passing *p = (const Passing *)c->passing.ptr + (uint32_t)ids;
    memcpy(to, c->passing_ids.id + p->at, (size_t)p->n * sizeof *to);
    return p->n;
}

/* Lists the words that the loops do not write, and those that are left. Their ids are anywhere in
 * memory. */
static void list_others(WordCache *c, WordBatch *b, int64_t *n_left)
{
    size_t room = (size_t)(b->n + LIST_ROOM) * sizeof(uint32_t);
    uint32_t *other = buffer_grow(&c->missed, room), *left = buffer_grow(&c->left, room);
    b->n_others = c->levels->others(b, other);
    b->other = other;
    *n_left = 0;
    for (int64_t i = 0; i < b->n_others; i++) {
        PackedIds ids = b->packed[other[i]];
        if (c->tables) word_tables_prefetch(c->tables, ids);
        left[*n_left] = other[i];
        *n_left += ids == LEFT;
    }
}

/* All words, with their hashes. */
static int64_t list_all(const WordBatch *b, uint32_t *list)
{
    for (int64_t i = 0; i < b->n; i++) {
        Str word = word_at(b, i);
        list[i] = (uint32_t)i;
        b->hash[i] = word_hash16(word_key(word.ptr, word.len < 16 ? (uint32_t)word.len : 16));
    }
    return b->n;
}

/* Words with a zero byte would be ambiguous as keys of the tables in front. */
static void look_up(WordCache *c, WordBatch *b)
{
    int64_t bytes = b->limit[b->n] - b->limit[0], n_missed;
    uint32_t *missed = buffer_grow(&c->missed, (size_t)(b->n + LIST_ROOM) * sizeof *missed);
    bool in_front = !memchr(b->text + b->limit[0], 0, (size_t)bytes);
    c->tables = word_tables_make_room(c->tables, b->n);
    c->n_uncounted += bytes;
    bool counts = in_front && c->n_uncounted >= c->count_at;
    if (counts) {
        c->n_uncounted = 0;
        c->count_at += c->count_at < COUNT_MOST ? COUNT_MORE : 0;
    }
    if (in_front && !counts) {
        n_missed = c->levels->small(c->tables, b, missed);
        n_missed = c->levels->middle(c->tables, b, missed, n_missed);
    } else {
        n_missed = list_all(b, missed);
    }
    n_missed = c->levels->large(c->tables, b, missed, n_missed, counts);
    look_up_rest(c, b, missed, n_missed, in_front);
}

bool word_cache_encode_long(WordCache *c, Str word, Ids *out)
{
    if (word.len <= LONGEST_WORD) return false;
    uint32_t *to = ids_reserve(out, (int64_t)word.len * c->model->ids_per_byte);
    out->n += model_ids(c, word, to);
    return true;
}

const uint32_t *word_cache_look_up(WordCache *c, const char *text, uint32_t from,
                                   const uint32_t *end, int64_t n, int64_t *n_left)
{
    enum { ROOM = LIST_ROOM };
    uint64_t *work = buffer_grow(&c->packed, ((size_t)n + ROOM) * 3 * sizeof *work);
    uint32_t *limit = buffer_grow(&c->limits, ((size_t)n + 1 + ROOM) * sizeof *limit);
    limit[0] = from;
    memcpy(limit + 1, end, (size_t)n * sizeof *limit);
    WordBatch *b = &c->batch;
    *b = (WordBatch){ .text = text,
                      .limit = limit,
                      .n = n,
                      .packed = work,
                      .work = work + n + ROOM,
                      .hash = work + 2 * (n + ROOM) };
    c->n_passing = c->passing_ids.n = 0;
    if (c->tables)
        look_up(c, b);
    else
        for (int64_t i = 0; i < n; i++) b->packed[i] = pass(c, word_at(b, i));
    c->place = (WordPlace){ 0 };
    list_others(c, b, n_left);
    return c->left.ptr;
}

void word_cache_next(WordCache *c, Ids *out)
{
    const WordBatch *b = &c->batch;
    WordPlace *p = &c->place;
    int64_t bytes = b->limit[b->n] - b->limit[p->word];
    uint32_t *to = ids_reserve(out, bytes * c->model->ids_per_byte + WRITE_ROOM);
    for (bool goes_on = true; goes_on;) {
        to = c->levels->write(c->tables, b, p, to);
        if (p->word == b->n) break;
        goes_on = b->packed[p->word] != LEFT;
        if (goes_on) to += write_passing(c, b->packed[p->word], to);
        p->word++;
        p->other++;
    }
    out->n = to - out->id;
}

int64_t word_cache_n_ids(const WordCache *c, int64_t i)
{
    PackedIds ids = c->batch.packed[i];
    if (ids >> 60) return (int64_t)(ids >> 60);
    if (ids & PASSING) return ((const Passing *)c->passing.ptr)[(uint32_t)ids].n;
    return (int64_t)(ids >> 32);
}

void word_cache_encode(WordCache *c, const char *text, uint32_t from, const uint32_t *end,
                       int64_t n, Ids *out)
{
    if (!n) return;
    int64_t n_left;
    word_cache_look_up(c, text, from, end, n, &n_left);
    CHECK(!n_left);
    word_cache_next(c, out);
}
