/* order.c - permutations by place. */
#include "data/order.h"
#include "base/error.h"
#include "base/rng.h"

struct Order {
    int64_t n;
    bool shuffle;
    uint64_t seed;
    /* An arena of its own: the first question may come from the loader's thread. */
    Arena *arena;
    uint32_t *narrow;
    int64_t *wide;
};

static void release(void *order)
{
    arena_free(((Order *)order)->arena);
}

Order *order_new(Arena *a, int64_t n, bool shuffle, uint64_t seed)
{
    Order *o = NEW(a, Order);
    *o = (Order){ .n = n, .shuffle = shuffle, .seed = seed, .arena = arena_new() };
    arena_on_free(a, release, o);
    return o;
}

static void shuffle_once(Order *o)
{
    if (o->n < INT64_C(1) << 32) {
        o->narrow = NEW_N(o->arena, uint32_t, o->n);
        torch_randperm32(o->seed, o->n, o->narrow);
    } else {
        o->wide = NEW_N(o->arena, int64_t, o->n);
        torch_randperm(o->seed, o->n, o->wide);
    }
}

int64_t order_at(Order *o, int64_t place)
{
    CHECK(place >= 0 && place < o->n);
    if (!o->shuffle) return place;
    if (!o->narrow && !o->wide) shuffle_once(o);
    if (o->narrow) return o->narrow[place];
    CHECK(o->wide != NULL);
    return o->wide[place];
}
