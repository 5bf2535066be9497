/* word_cache.c - looks up a whole batch of words, level by level.
 *
 * Each level is one tight loop over the words that the level before did not know (word_levels.h).
 * Small: words of up to 8 bytes, direct-mapped, the zero-padded word as key; middle: up to 16
 * bytes, direct-mapped; the rest: up to 16 bytes in a large table, up to 64 in another; else the
 * model is asked. A word of the large
 * table moves to its place in front when it was needed more often than the owner of the place. The
 * whole key is always compared, so a result is exact. Words with a zero byte would be ambiguous as
 * zero-padded keys: batches that have one skip the two levels in front. */
#include "tokenizer/word_cache.h"
#include "tokenizer/word_levels.h"

/* The ids of a word that is not remembered, until the batch is written. */
typedef struct Passing {
    int64_t at, n; /* in passing_ids */
} Passing;

struct WordCache {
    const Model *model;
    const WordLevels *levels;
    WordTables *tables;          /* NULL: remember nothing */
    Buffer packed, missed, work; /* of one batch; work: the model's scratch */
    Buffer passing;
    int64_t n_passing;
    Ids passing_ids, ids;
};

static void release(void *arg)
{
    WordCache *c = arg;
    Buffer *buffer[] = { &c->packed, &c->missed, &c->work, &c->passing };
    for (int i = 0; i < 4; i++) buffer_free(buffer[i]);
    ids_free(&c->passing_ids);
    ids_free(&c->ids);
    word_tables_free(c->tables);
}

WordCache *word_cache_new(Arena *a, const Model *model, bool remember)
{
    WordCache *c = NEW(a, WordCache);
    c->model = model;
    c->levels = word_levels();
    c->tables = remember ? word_tables_new() : NULL;
    arena_on_free(a, release, c);
    return c;
}

/* Asks the model; the ids are in c->ids. */
static void compute(WordCache *c, Str word)
{
    c->ids.n = 0;
    uint32_t *out = ids_reserve(&c->ids, (int64_t)word.len * c->model->ids_per_byte);
    c->ids.n = c->model->word_ids(c->model, &c->work, word, out);
}

static PackedIds pass(WordCache *c, Str word)
{
    uint32_t *out = ids_reserve(&c->passing_ids, (int64_t)word.len * c->model->ids_per_byte);
    Passing *p = buffer_grow(&c->passing, (size_t)(c->n_passing + 1) * sizeof *p);
    p += c->n_passing;
    *p = (Passing){ .at = c->passing_ids.n };
    p->n = c->model->word_ids(c->model, &c->work, word, out);
    c->passing_ids.n += p->n;
    return PASSING | (uint64_t)c->n_passing++;
}

/* Gives an often needed word the place in front that is its own. */
static void promote(WordTables *t, const LargeEntry *e)
{
    if (e->len <= 8) {
        SmallEntry *s = word_small(t, e->key.low);
        uint32_t *uses = &t->small_uses[s - t->small];
        if (e->uses > *uses) {
            *uses = e->uses;
            *s = (SmallEntry){ e->key.low, e->ids };
            return;
        }
    }
    MiddleEntry *m = word_middle(t, e->key);
    if (e->uses > m->uses) *m = (MiddleEntry){ e->key, e->ids, e->uses, 0 };
}

static PackedIds find_short(WordCache *c, Str word, bool in_front)
{
    WordTables *t = c->tables;
    WordKey key = word_key(word.ptr, (uint32_t)word.len);
    LargeEntry *e = word_tables_large(t, key, (uint32_t)word.len);
    if (!e->len) {
        compute(c, word);
        PackedIds ids = word_tables_pack(t, c->ids.id, c->ids.n);
        word_tables_add_large(t, e, key, (uint32_t)word.len, ids);
    }
    e->uses++;
    if (in_front) promote(t, e);
    return e->ids;
}

static PackedIds find_long(WordCache *c, Str word)
{
    WordTables *t = c->tables;
    uint64_t hash = word_hash(word.ptr, word.len);
    LongEntry *e = word_tables_long(t, hash, word.ptr, (uint32_t)word.len);
    if (!e->len) {
        compute(c, word);
        PackedIds ids = word_tables_pack(t, c->ids.id, c->ids.n);
        word_tables_add_long(t, e, hash, word.ptr, (uint32_t)word.len, ids);
    }
    e->uses++;
    return e->ids;
}

static void look_up_rest(WordCache *c, const WordBatch *b, const uint32_t *missed, int64_t n,
                         bool in_front)
{
    for (int64_t j = 0; j < n; j++) {
        uint32_t i = missed[j], from = batch_start(b, i), len = b->end[i] - from;
        if (len > 16) continue;
        __builtin_prefetch(
            &c->tables->large[word_large_place(c->tables, word_key(b->text + from, len))]);
    }
    for (int64_t j = 0; j < n; j++) {
        uint32_t i = missed[j], from = batch_start(b, i);
        Str word = { b->text + from, b->end[i] - from };
        if (word.len <= 16)
            b->packed[i] = find_short(c, word, in_front);
        else if (word.len <= LONGEST_WORD)
            b->packed[i] = find_long(c, word);
        else
            b->packed[i] = pass(c, word);
    }
}

/* Ids that lie outside; returns their number. */
static int64_t write_many(const WordCache *c, PackedIds ids, uint32_t *to)
{
    const uint32_t *from;
    int64_t n;
    if (ids & PASSING) {
        const Passing *p = (const Passing *)c->passing.ptr + (uint32_t)ids;
        from = c->passing_ids.id + p->at;
        n = p->n;
    } else if (ids) {
        CHECK(c->tables != NULL);
        from = c->tables->more + (uint32_t)ids;
        n = (int64_t)(ids >> 32);
    } else {
        return 0;
    }
    memcpy(to, from, (size_t)n * sizeof *to);
    return n;
}

static void write_ids(const WordCache *c, const WordBatch *b, Ids *out)
{
    int64_t room = (int64_t)(b->end[b->n - 1] - b->from) * c->model->ids_per_byte + WRITE_ROOM;
    uint32_t *to = ids_reserve(out, room);
    for (int64_t i = 0; (i = c->levels->write(b, i, &to)) < b->n; i++)
        to += write_many(c, b->packed[i], to);
    out->n = to - out->id;
}

/* Words with a zero byte would be ambiguous as keys of the tables in front. */
static void look_up(WordCache *c, WordBatch *b)
{
    c->tables = word_tables_make_room(c->tables, b->n);
    uint32_t *missed = buffer_grow(&c->missed, (size_t)(b->n + LIST_ROOM) * sizeof *missed);
    bool in_front = !memchr(b->text + b->from, 0, b->end[b->n - 1] - b->from);
    int64_t n_missed = b->n;
    if (in_front) {
        n_missed = c->levels->small(c->tables, b, missed);
        n_missed = c->levels->middle(c->tables, b, missed, n_missed);
    } else {
        for (int64_t i = 0; i < b->n; i++) missed[i] = (uint32_t)i;
    }
    look_up_rest(c, b, missed, n_missed, in_front);
}

void word_cache_encode(WordCache *c, const char *text, uint32_t from, const uint32_t *end,
                       int64_t n, Ids *out)
{
    if (!n) return;
    uint64_t *work = buffer_grow(&c->packed, 2 * (size_t)n * sizeof *work);
    WordBatch b = { text, from, end, n, work + n, work };
    c->n_passing = c->passing_ids.n = 0;
    if (c->tables) {
        look_up(c, &b);
    } else {
        for (int64_t i = 0; i < n; i++) {
            uint32_t start = batch_start(&b, i);
            b.packed[i] = pass(c, (Str){ text + start, end[i] - start });
        }
    }
    write_ids(c, &b, out);
}
