/* word_tables.c - making, filling and thinning out the tables of a word cache. */
#include "tokenizer/cache/word_tables.h"
#include "base/error.h"
#include "base/memory.h"
#include <stdlib.h>
#include <unistd.h>

/* For each place of the large table: ids outside, bytes of long words, and bytes of all together.
 */
enum { MORE_PER_PLACE = 8, TEXT_PER_PLACE = 8, BYTES_PER_PLACE = 88 };

int word_tables_most_bits(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = memory_available() / 8 / (size_t)(cores > 0 ? cores : 1);
    int bits = MOST_LARGE_BITS;
    while (bits > LARGE_BITS && (size_t)BYTES_PER_PLACE << bits > most) bits--;
    return bits;
}

/* The tables in front, side by side: together they fit into one huge page, and a level 2 cache. */
typedef struct Front {
    SmallEntry small[1 << SMALL_BITS];
    MiddleEntry middle[1 << MIDDLE_BITS];
    uint32_t small_uses[1 << SMALL_BITS];
} Front;

static WordTables *tables_new(int large_bits, int long_bits, int most, int id_bits)
{
    WordTables *t = calloc(1, sizeof *t);
    CHECK(t != NULL);
    Front *front = memory_zeroed(sizeof *front);
    t->small = front->small;
    t->middle = front->middle;
    t->small_uses = front->small_uses;
    t->large_bits = large_bits;
    t->long_bits = long_bits;
    t->most_large_bits = most;
    t->id_bits = id_bits;
    t->large = memory_zeroed(sizeof *t->large << large_bits);
    t->longs = memory_zeroed(sizeof *t->longs << long_bits);
    return t;
}

WordTables *word_tables_new(int64_t n_ids)
{
    int id_bits = n_ids <= 1 << NARROW_IDS ? NARROW_IDS : WIDE_IDS;
    return tables_new(LARGE_BITS, LONG_BITS, word_tables_most_bits(), id_bits);
}

void word_tables_free(WordTables *t)
{
    if (!t) return;
    free(t->small); /* and with it what lies beside it */
    free(t->large);
    free(t->longs);
    buffer_free(&t->more);
    buffer_free(&t->long_text);
    free(t);
}

static uint32_t *more_room(WordTables *t, int64_t n)
{
    uint32_t *more = buffer_grow(&t->more, (size_t)(t->n_more + n + MORE_ROOM) * sizeof *more);
    t->n_more += n;
    return more + t->n_more - n;
}

PackedIds word_tables_pack(WordTables *t, const uint32_t *id, int64_t n)
{
    PackedIds inside = (uint64_t)n << 60;
    bool fits = n * t->id_bits <= 60;
    if (n <= 0) return n ? LEFT : 0;
    for (int64_t i = 0; i < n && fits; i++) {
        fits = !(id[i] >> t->id_bits);
        inside |= (uint64_t)id[i] << t->id_bits * i;
    }
    if (fits) return inside;
    PackedIds outside = (uint64_t)n << 32 | (uint64_t)t->n_more;
    memcpy(more_room(t, n), id, (size_t)n * sizeof *id);
    return outside;
}

static void promote_middle(WordTables *t, const MiddleEntry *m, uint64_t hash16)
{
    MiddleEntry *place = word_middle(t, hash16);
    if (m->uses > place->uses) *place = *m;
}

/* Whoever has to leave the small table may have a place in the middle one. */
void word_tables_promote(WordTables *t, const LargeEntry *e, uint64_t hash16)
{
    MiddleEntry m = { e->key, e->ids, e->uses, 0 };
    SmallEntry *s = word_small(t, e->key.low);
    uint32_t *uses = &t->small_uses[s - t->small];
    if (e->len > 8 || e->uses <= *uses) {
        promote_middle(t, &m, hash16);
        return;
    }
    MiddleEntry left = { { s->key, 0 }, s->ids, *uses, 0 };
    *s = (SmallEntry){ e->key.low, e->ids };
    *uses = e->uses;
    if (left.uses && left.key.low != e->key.low) promote_middle(t, &left, word_hash16(left.key));
}

static const char *long_word(const WordTables *t, const LongEntry *e)
{
    return (const char *)t->long_text.ptr + e->at;
}

LongEntry *word_tables_long(const WordTables *t, uint64_t hash, const char *word, uint32_t len)
{
    for (uint64_t at = word_long_place(t, hash);; at = (at + 1) & ((1u << t->long_bits) - 1)) {
        LongEntry *e = &t->longs[at];
        if (!e->len) return e;
        if (e->hash == hash && e->len == len && !memcmp(long_word(t, e), word, len)) return e;
    }
}

void word_tables_add_large(WordTables *t, LargeEntry *free, WordKey key, uint32_t len,
                           PackedIds ids)
{
    *free = (LargeEntry){ .key = key, .ids = ids, .len = len, .uses = 1 };
    t->n_large++;
}

void word_tables_add_long(WordTables *t, LongEntry *free, uint64_t hash, const char *word,
                          uint32_t len, PackedIds ids)
{
    char *text = buffer_grow(&t->long_text, (size_t)(t->n_long_text + len));
    *free = (LongEntry){ .hash = hash, .ids = ids, .at = (uint32_t)t->n_long_text, .len = len };
    memcpy(text + t->n_long_text, word, len);
    t->n_long_text += len;
    t->n_longs++;
}

/* Ids that lie outside move to the new tables. */
static PackedIds move_ids(const WordTables *from, WordTables *to, PackedIds ids)
{
    if (ids >= PASSING || !ids) return ids;
    return word_tables_pack(to, word_tables_more(from) + (uint32_t)ids, (int64_t)(ids >> 32));
}

/* The least number of uses, beyond one, that at most half a table's places have: words seen once
 * are too many to be of use. */
static uint32_t threshold(const int64_t by_uses[], int n, int64_t places)
{
    int64_t kept = 0;
    int least = n;
    while (least > 2 && kept + by_uses[least - 1] <= places / 2) kept += by_uses[--least];
    return (uint32_t)least;
}

/* Tables of the same size with the words that were used most; frees `t`. */
static WordTables *forget(WordTables *t)
{
    enum { USES = 256 }; /* more uses count as the most */
    int64_t large[USES] = { 0 }, longs[USES] = { 0 };
    for (int i = 0; i < 1 << t->large_bits; i++) {
        const LargeEntry *e = &t->large[i];
        if (e->len) large[e->uses < USES ? e->uses : USES - 1]++;
    }
    for (int i = 0; i < 1 << t->long_bits; i++) {
        const LongEntry *e = &t->longs[i];
        if (e->len) longs[e->uses < USES ? e->uses : USES - 1]++;
    }
    uint32_t least_large = threshold(large, USES, 1 << t->large_bits);
    uint32_t least_long = threshold(longs, USES, 1 << t->long_bits);

    WordTables *to = tables_new(t->large_bits, t->long_bits, t->most_large_bits, t->id_bits);
    for (int i = 0; i < 1 << t->large_bits; i++) {
        const LargeEntry *e = &t->large[i];
        if (!e->len || e->uses < least_large) continue;
        LargeEntry *place = word_tables_large(to, e->key, word_hash16(e->key), e->len);
        word_tables_add_large(to, place, e->key, e->len, move_ids(t, to, e->ids));
        place->uses = e->uses / 2;
        word_tables_promote(to, place, word_hash16(e->key));
    }
    for (int i = 0; i < 1 << t->long_bits; i++) {
        const LongEntry *e = &t->longs[i];
        if (!e->len || e->uses < least_long) continue;
        const char *word = long_word(t, e);
        LongEntry *place = word_tables_long(to, e->hash, word, e->len);
        word_tables_add_long(to, place, e->hash, word, e->len, move_ids(t, to, e->ids));
        place->uses = e->uses / 2;
    }
    word_tables_free(t);
    return to;
}

static void grow_large(WordTables *t)
{
    LargeEntry *old = t->large;
    int64_t n = (int64_t)1 << t->large_bits++;
    t->large = memory_zeroed(sizeof *t->large << t->large_bits);
    for (int64_t i = 0; i < n; i++) {
        const LargeEntry *e = &old[i];
        if (e->len) *word_tables_large(t, e->key, word_hash16(e->key), e->len) = *e;
    }
    free(old);
}

static void grow_longs(WordTables *t)
{
    LongEntry *old = t->longs;
    int64_t n = (int64_t)1 << t->long_bits++;
    t->longs = memory_zeroed(sizeof *t->longs << t->long_bits);
    for (int64_t i = 0; i < n; i++) {
        const LongEntry *e = &old[i];
        if (e->len) *word_tables_long(t, e->hash, long_word(t, e), e->len) = *e;
    }
    free(old);
}

/* Half full a table grows; one that may not is used until three quarters full. */
static bool fits(int64_t n, int bits, int most)
{
    return n <= (int64_t)(bits < most ? 2 : 3) << bits >> 2;
}

WordTables *word_tables_make_room(WordTables *t, int64_t n)
{
    int most = t->most_large_bits, most_long = most - FEWER_LONG_BITS;
    while (t->large_bits < most && !fits(t->n_large + n, t->large_bits, most)) grow_large(t);
    while (t->long_bits < most_long && !fits(t->n_longs + n, t->long_bits, most_long))
        grow_longs(t);
    bool full = !fits(t->n_large + n, t->large_bits, most) ||
                !fits(t->n_longs + n, t->long_bits, most_long) ||
                t->n_more + LONGEST_WORD * n > (int64_t)MORE_PER_PLACE << most ||
                t->n_long_text + LONGEST_WORD * n > (int64_t)TEXT_PER_PLACE << most;
    return full ? forget(t) : t;
}

bool word_tables_has_room(const WordTables *t)
{
    return t->n_large < (int64_t)3 << t->large_bits >> 2;
}
