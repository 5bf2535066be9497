/* rounded_parts.c - remembers parts whose ids depend on rounding, by where the sum before them lies
 * among the floats.
 *
 * Between two powers of two floats are multiples of one unit, so what is added to them is rounded
 * alike wherever they lie; halves go to the even multiple, so two units further on everything is
 * the same again. The ids of a part, and what it adds, thus follow from the power of two and from
 * whether the sum is an even multiple: as long as no sum on the way leaves the range. */
#include "tokenizer/rounded_parts.h"
#include "tokenizer/word_bytes.h"
#include <math.h>
#include <string.h>

enum {
    PLACE_BITS = 18,
    ROOM = 16 << 20, /* bytes for parts and their ids; when they are used up, all is forgotten */
    LONGEST_PART = 512
};

/* A part that is remembered: n 0: none. At `at` in the memory its ids, then its bytes. */
typedef struct Place {
    uint32_t range, at;
    uint32_t len, n;
    float added, low, high; /* to the sum before it: in the end, and on any way */
} Place;

struct RoundedParts {
    const SpModel *model;
    Place *place; /* direct-mapped */
    char *memory;
    size_t used;
    Buffer work, symbols;
};

static void release(void *arg)
{
    RoundedParts *r = arg;
    buffer_free(&r->work);
    buffer_free(&r->symbols);
}

RoundedParts *rounded_parts_new(Arena *a, const SpModel *m)
{
    RoundedParts *r = NEW(a, RoundedParts);
    r->model = m;
    r->place = NEW_N(a, Place, 1 << PLACE_BITS);
    r->memory = NEW_N(a, char, ROOM);
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

/* Sign, power of two, and the last bit of the multiple. */
static uint32_t range_of(float sum)
{
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return (bits & 0xFF800000) | (bits & 1);
}

/* Whether sums from `low` to `high` are in one range, and above the floor. */
static bool is_one_range(float low, float high)
{
    return low > LATTICE_FLOOR && ((range_of(low) ^ range_of(high)) & ~1u) == 0;
}

static Place *place_of(const RoundedParts *r, Str part, uint32_t range)
{
    uint64_t hash = (word_hash(part.ptr, part.len) ^ range) * 0x9E3779B97F4A7C15u;
    return &r->place[hash >> (64 - PLACE_BITS)];
}

static bool is_known(const RoundedParts *r, const Place *p, Str part, uint32_t range, float sum)
{
    return p->n && p->range == range && p->len == part.len &&
           !memcmp(r->memory + p->at + p->n * sizeof(uint32_t), part.ptr, part.len) &&
           is_one_range(sum + p->low, sum + p->high);
}

static void remember(RoundedParts *r, Place p, Str part, const uint32_t *id)
{
    size_t ids = p.n * sizeof *id, bytes = (ids + part.len + 3) & ~(size_t)3;
    if (r->used + bytes > ROOM) {
        memset(r->place, 0, sizeof(Place) << PLACE_BITS);
        r->used = 0;
    }
    p.at = (uint32_t)r->used;
    r->used += bytes;
    memcpy(r->memory + p.at, id, ids);
    memcpy(r->memory + p.at + ids, part.ptr, part.len);
    *place_of(r, part, p.range) = p;
}

float rounded_parts_encode(RoundedParts *r, Str part, float sum, uint32_t **out)
{
    uint32_t range = range_of(sum);
    const Place *known = place_of(r, part, range);
    if (is_known(r, known, part, range, sum)) {
        memcpy(*out, r->memory + known->at, known->n * sizeof **out);
        *out += known->n;
        return sum + known->added;
    }
    const uint32_t *id = *out;
    Way way = compute(r, part, sum, out);
    /* A way that lost went on from a known sum by one step. */
    float step = (float)r->model->max_score + 1, low = (float)way.low - step,
          high = (float)way.high + step;
    if (part.len <= LONGEST_PART && is_one_range(low, high)) {
        Place p = { .range = range, .len = (uint32_t)part.len, .n = (uint32_t)(*out - id) };
        p.added = (float)way.sum - sum;
        p.low = low - sum;
        p.high = high - sum;
        remember(r, p, part, id);
    }
    return (float)way.sum;
}
