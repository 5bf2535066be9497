/* rounded_parts.c - remembers parts whose ids depend on rounding, by where the sum before them lies
 * among the floats.
 *
 * Between two powers of two floats are multiples of one unit, so what is added to them is rounded
 * alike wherever they lie; halves go to the even multiple, so two units further on everything is
 * the same again. The ids of a part, and what it adds, thus follow from the power of two and from
 * whether the sum is an even multiple: its range. That holds as long as no sum on the way leaves
 * the power of two.
 *
 * A part has one record, a line of the processor's cache, which can be asked for before the sum is
 * known: it has the part and, by range, the number of the variant that holds there. Its block has
 * what does not fit: further bytes, and the variants. */
#include "tokenizer/sentencepiece/rounded_parts.h"
#include "base/memory.h"
#include "tokenizer/cache/word_tables.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BITS = 10,      /* places of the table at first */
    BYTES_PER_PLACE = 16, /* of the largest table of words: 64 MiB for the largest there is */
    LONGEST_PART = 512,
    INSIDE = 16, /* bytes of a part that lie in its record */
    /* Ranges: sums that are 0, and negative ones of 2^FIRST_POWER to 2^17 by power and parity. The
     * few that are closer to 0 or above it leave their power of two at once. */
    FIRST_POWER = 2,
    END_POWER = 17,
    AT_ZERO = 2 * (END_POWER - FIRST_POWER),
    N_RANGES,
    NO_RANGE,
    VARIANT_HEAD = 2 /* words before the ids */
};

typedef struct Record {
    WordKey key;               /* the first bytes */
    uint8_t variant[N_RANGES]; /* by range: 0: none, or the number of a variant, from 1 */
    uint8_t n;                 /* variants */
    float low, high;           /* how far sums get from the one before, with any variant */
    uint32_t block;            /* in `words` */
    uint16_t len;              /* of the part; 0: a free place */
    uint16_t stride;           /* words of a variant */
} Record;

/* A unit of sums at the floor, which is twice what any is rounded by: a sum that is closer to 0
 * than its power of two, but not once rounded, was rounded by a smaller unit. */
#define UNIT (1.0f / 128)

_Static_assert(sizeof(Record) == 64, "a line");

/* What a part comes to. In a block: `added`, n, then the ids. */
typedef struct Variant {
    float added; /* to the sum before */
    float low, high;
    const uint32_t *id;
    int64_t n;
} Variant;

struct RoundedParts {
    const SpModel *model;
    Record *table; /* linear probing */
    int bits;
    int64_t n;
    Buffer words; /* uint32_t: the blocks */
    int64_t n_words;
    size_t most;
    Buffer work, symbols;
};

static void release(void *arg)
{
    RoundedParts *r = arg;
    free(r->table);
    buffer_free(&r->words);
    buffer_free(&r->work);
    buffer_free(&r->symbols);
}

RoundedParts *rounded_parts_new(Arena *a, const SpModel *m, size_t most)
{
    RoundedParts *r = NEW(a, RoundedParts);
    r->model = m;
    r->most = most ? most : (size_t)BYTES_PER_PLACE << word_tables_most_bits();
    r->bits = FIRST_BITS;
    r->table = memory_zeroed(sizeof *r->table << r->bits);
    arena_on_free(a, release, r);
    return r;
}

static Way compute(RoundedParts *r, Str part, float sum, uint32_t **out)
{
    const SpModel *m = r->model;
    Way way = lattice_best(&m->lattice, &r->work, part, sum);
    uint32_t *symbol = buffer_grow(&r->symbols, part.len * sizeof *symbol);
    int64_t n = sp_way_symbols(m, &way, symbol);
    *out += sp_model_ids(m, part, symbol, n, *out);
    return way;
}

/* ---- parts ---- */

static WordKey key_of(Str part)
{
    return word_key(part.ptr, part.len < INSIDE ? (uint32_t)part.len : INSIDE);
}

/* The bytes that lie outside of the record, in pairs of words padded with zeros. */
static int64_t n_pairs(size_t len)
{
    return len > INSIDE ? (int64_t)(len - INSIDE + 7) / 8 : 0;
}

static uint64_t pair_at(Str part, int64_t i)
{
    size_t at = INSIDE + 8 * (size_t)i, left = part.len - at;
    return word_load(part.ptr + at) & word_low_mask[left < 8 ? left : 8];
}

static uint64_t hash_on(uint64_t hash, uint64_t pair)
{
    return (hash ^ hash >> 32 ^ pair) * 0x9E3779B97F4A7C15u;
}

uint64_t rounded_parts_ask(const RoundedParts *r, Str part)
{
    if (part.len > LONGEST_PART) return 0;
    uint64_t hash = word_hash16(key_of(part));
    for (int64_t i = 0, n = n_pairs(part.len); i < n; i++) hash = hash_on(hash, pair_at(part, i));
    __builtin_prefetch(&r->table[hash >> (64 - r->bits)]);
    return hash;
}

static uint32_t *block_of(const RoundedParts *r, const Record *e)
{
    return r->words.ptr ? (uint32_t *)r->words.ptr + e->block : NULL;
}

/* Where `stride` words of a variant start. */
static uint32_t *variant_at(uint32_t *block, size_t len, int64_t i, int64_t stride)
{
    return block + 2 * n_pairs(len) + i * stride;
}

/* A pair as block_of(r, e) has it. */
static uint64_t pair_of(const RoundedParts *r, const Record *e, int64_t i)
{
    return word_load((const char *)(block_of(r, e) + 2 * i));
}

static uint64_t record_hash(const RoundedParts *r, const Record *e)
{
    uint64_t hash = word_hash16(e->key);
    for (int64_t i = 0, n = n_pairs(e->len); i < n; i++) hash = hash_on(hash, pair_of(r, e, i));
    return hash;
}

static bool is_record_of(const RoundedParts *r, const Record *e, Str part, WordKey key)
{
    if (e->key.low != key.low || e->key.high != key.high || e->len != part.len) return false;
    uint64_t differs = 0;
    for (int64_t i = 0, n = n_pairs(part.len); i < n; i++)
        differs |= pair_of(r, e, i) ^ pair_at(part, i);
    return !differs;
}

/* The record of a part, or the free place where it would go. */
static Record *find(const RoundedParts *r, Str part, WordKey key, uint64_t hash)
{
    uint64_t last = ((uint64_t)1 << r->bits) - 1;
    for (uint64_t at = hash >> (64 - r->bits);; at = (at + 1) & last) {
        Record *e = &r->table[at];
        if (!e->len || is_record_of(r, e, part, key)) return e;
    }
}

/* ---- ranges ---- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The sign, the power of two, and the last bit of the multiple are what counts. */
static int range_of(float sum)
{
    uint32_t bits = bits_of(sum), power = (bits >> 23) - (256 + 127 + FIRST_POWER);
    if (sum == 0) return AT_ZERO;
    return power < END_POWER - FIRST_POWER ? (int)(2 * power + (bits & 1)) : NO_RANGE;
}

/* Whether sums from `low` to `high` are above the floor and in one power of two; around 0 they need
 * not be, as that is one sum alone. */
static bool stays(int range, float low, float high)
{
    return low > (float)LATTICE_FLOOR &&
           (range == AT_ZERO || bits_of(low) >> 23 == bits_of(high) >> 23);
}

/* ---- remembering ---- */

static void forget(RoundedParts *r)
{
    memset(r->table, 0, sizeof *r->table << r->bits);
    r->n = r->n_words = 0;
}

static void grow(RoundedParts *r)
{
    Record *old = r->table;
    int64_t n = (int64_t)1 << r->bits++;
    uint64_t last = ((uint64_t)1 << r->bits) - 1;
    r->table = memory_zeroed(sizeof *r->table << r->bits);
    for (int64_t i = 0; i < n; i++) {
        if (!old[i].len) continue;
        uint64_t at = record_hash(r, &old[i]) >> (64 - r->bits);
        while (r->table[at].len) at = (at + 1) & last;
        r->table[at] = old[i];
    }
    free(old);
}

/* Half full the table grows; when it may not, all is forgotten. */
static void make_room(RoundedParts *r)
{
    if (r->n < (int64_t)1 << (r->bits - 1)) return;
    if (sizeof *r->table << (r->bits + 1) <= r->most / 2)
        grow(r);
    else
        forget(r);
}

/* Further words after the others; -1 when they would be too many. */
static int64_t add_words(RoundedParts *r, int64_t n)
{
    size_t most = r->most / 2, bytes = (size_t)(r->n_words + n) * sizeof(uint32_t);
    if (bytes > most) return -1;
    size_t room = r->words.cap ? r->words.cap : sizeof(Record) << FIRST_BITS;
    while (room < bytes) room *= 2;
    buffer_grow(&r->words, room < most ? room : most);
    r->n_words += n;
    return r->n_words - n;
}

/* Gives a record a block with room for twice as many variants, of up to `stride` words. */
static bool new_block(RoundedParts *r, Record *e, Str part, int64_t stride)
{
    int64_t pairs = n_pairs(part.len), room = e->n ? 2 * e->n : 1;
    int64_t at = add_words(r, 2 * pairs + room * stride);
    if (at < 0) return false;
    uint32_t *from = block_of(r, e), *to = (uint32_t *)r->words.ptr + at;
    for (int64_t i = 0; i < pairs; i++) {
        uint64_t pair = pair_at(part, i);
        memcpy(to + 2 * i, &pair, sizeof pair);
    }
    for (int64_t i = 0; i < e->n; i++)
        memcpy(variant_at(to, part.len, i, stride), variant_at(from, part.len, i, e->stride),
               e->stride * sizeof *to);
    e->block = (uint32_t)at;
    e->stride = (uint16_t)stride;
    return true;
}

static bool is_variant(const uint32_t *at, const Variant *v)
{
    return at[0] == bits_of(v->added) && at[1] == v->n &&
           !memcmp(at + VARIANT_HEAD, v->id, (size_t)v->n * sizeof *at);
}

/* The number of a variant, which is added unless it is the same as one before; 0: no room. */
static int number_of(RoundedParts *r, Record *e, Str part, const Variant *v)
{
    uint32_t *block = block_of(r, e);
    for (int i = 0; i < e->n; i++)
        if (is_variant(variant_at(block, part.len, i, e->stride), v)) return i + 1;
    int64_t stride = VARIANT_HEAD + v->n;
    bool full = (e->n & (e->n - 1)) == 0; /* there is room for a power of two, or more */
    if ((full || stride > e->stride) &&
        !new_block(r, e, part, stride > e->stride ? stride : e->stride))
        return 0;
    uint32_t *at = variant_at(block_of(r, e), part.len, e->n, e->stride);
    at[0] = bits_of(v->added);
    at[1] = (uint32_t)v->n;
    memcpy(at + VARIANT_HEAD, v->id, (size_t)v->n * sizeof *at);
    return ++e->n;
}

/* False, and nothing has changed, when there is no room. */
static bool remember(RoundedParts *r, Str part, uint64_t hash, int range, const Variant *v)
{
    make_room(r);
    WordKey key = key_of(part);
    Record *place = find(r, part, key, hash), e = *place;
    if (!place->len)
        e = (Record){ .key = key, .low = v->low, .high = v->high, .len = (uint16_t)part.len };
    int number = number_of(r, &e, part, v);
    if (!number) return false;
    e.variant[range] = (uint8_t)number;
    e.low = fminf(e.low, v->low);
    e.high = fmaxf(e.high, v->high);
    r->n += !place->len;
    *place = e;
    return true;
}

/* Writes the ids of a variant; returns what it adds to the sum. */
static float write_variant(const uint32_t *at, uint32_t **out)
{
    float added;
    memcpy(&added, at, sizeof added);
    const uint32_t *id = at + VARIANT_HEAD;
    for (uint32_t i = 0, n = at[1]; i < n; i++) *(*out)++ = id[i];
    return added;
}

float rounded_parts_encode(RoundedParts *r, Str part, uint64_t hash, float sum, uint32_t **out)
{
    int range = part.len && part.len <= LONGEST_PART ? range_of(sum) : NO_RANGE;
    if (range != NO_RANGE) {
        const Record *e = find(r, part, key_of(part), hash);
        if (e->variant[range] && stays(range, sum + e->low, sum + e->high))
            return sum +
                   write_variant(
                       variant_at(block_of(r, e), part.len, e->variant[range] - 1, e->stride), out);
    }
    const uint32_t *id = *out;
    Way way = compute(r, part, sum, out);
    float low = (float)way.low, high = (float)way.high + UNIT;
    if (range != NO_RANGE && stays(range, low, high)) {
        Variant v = { (float)way.sum - sum, low - sum, high - sum, id, *out - id };
        if (!remember(r, part, hash, range, &v)) {
            forget(r);
            remember(r, part, hash, range, &v);
        }
    }
    return (float)way.sum;
}
