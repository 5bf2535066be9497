/* order.c - permutations by place. */
#include "data/order.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "data/shared_order.h"
#include <pthread.h>
#include <stdatomic.h>

const char *const shuffle_methods[] = { "torch", "feistel", NULL };

OrderKind order_kind(bool shuffle, int shuffle_method)
{
    return shuffle ? (OrderKind)(ORDER_TORCH + shuffle_method) : ORDER_RISING;
}

enum {
    FEISTEL_ROUNDS = 8,
    SHARED_FROM = 1 << 20, /* samples; less is made in the time that sharing takes */
};

struct Order {
    int64_t n;
    OrderKind kind;
    uint64_t seed;
    /* torch: an arena of its own, since the first question may come from a loader's thread */
    Arena *arena;
    bool is_shared;
    int64_t entry_bytes;
    const void *entry;
    atomic_bool is_made;
    pthread_mutex_t lock; /* held while it is made */
};

static void release(void *order)
{
    Order *o = order;
    arena_free(o->arena);
    pthread_mutex_destroy(&o->lock);
}

Order *order_new(Arena *a, int64_t n, OrderKind kind, uint64_t seed, bool is_shared)
{
    Order *o = NEW(a, Order);
    *o = (Order){ .n = n,
                  .kind = kind,
                  .seed = seed,
                  .is_shared = is_shared && n >= SHARED_FROM,
                  .entry_bytes = n < INT64_C(1) << 32 ? 4 : 8 };
    if (kind != ORDER_TORCH) return o;
    o->arena = arena_new();
    pthread_mutex_init(&o->lock, NULL);
    arena_on_free(a, release, o);
    return o;
}

static void permute(uint64_t seed, int64_t n, int64_t entry_bytes, void *out)
{
    if (entry_bytes == 4)
        torch_randperm32(seed, n, out);
    else
        torch_randperm(seed, n, out);
}

static const void *make_entries(Order *o)
{
    size_t n_bytes = (size_t)(o->n * o->entry_bytes);
    if (o->is_shared) {
        const void *shared;
        SharedOrder s = { shared_order_folder, o->n, o->entry_bytes, o->seed, permute };
        Error *e = shared_order_open(o->arena, &s, &shared);
        if (!e) return shared;
        log_warning("the processes of this machine cannot share the order of %lld samples (%s); "
                    "each takes %.1f GB for its own",
                    (long long)o->n, error_text(e), (double)n_bytes * 1e-9);
        error_free(e);
    }
    void *own = arena_alloc(o->arena, n_bytes);
    permute(o->seed, o->n, o->entry_bytes, own);
    return own;
}

static void shuffle_once(Order *o)
{
    pthread_mutex_lock(&o->lock);
    if (!atomic_load(&o->is_made)) {
        o->entry = make_entries(o);
        atomic_store(&o->is_made, true);
    }
    pthread_mutex_unlock(&o->lock);
}

static int64_t torch_at(Order *o, int64_t place)
{
    if (!atomic_load_explicit(&o->is_made, memory_order_acquire)) shuffle_once(o);
    return o->entry_bytes == 4 ? ((const uint32_t *)o->entry)[place]
                               : ((const int64_t *)o->entry)[place];
}

/* One half is changed by the other in turn, which any function leaves reversible (Feistel; here
 * with halves that may differ by a bit). This permutes the next power of two; a place that leaves
 * [0, n) goes on until it comes back, after less than two tries on average. */
int64_t feistel_at(int64_t n, uint64_t key, int64_t place)
{
    int bits = n > 1 ? 64 - __builtin_clzll((uint64_t)n - 1) : 0;
    int half[] = { bits / 2, bits - bits / 2 };
    uint64_t x = (uint64_t)place, round[FEISTEL_ROUNDS];
    for (uint64_t i = 0; i < FEISTEL_ROUNDS; i++) round[i] = rng_key(key, RNG_DATA, i, 0);
    do {
        for (int i = 0; i < FEISTEL_ROUNDS; i++) {
            int high = half[i % 2], low = half[1 - i % 2]; /* the halves change places */
            uint64_t left = x >> low, right = x & ((UINT64_C(1) << low) - 1);
            left ^= rng_bits(round[i], right) & ((UINT64_C(1) << high) - 1);
            x = right << high | left;
        }
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

int64_t order_at(Order *o, int64_t place)
{
    CHECK(place >= 0 && place < o->n);
    switch (o->kind) {
    case ORDER_TORCH:
        return torch_at(o, place);
    case ORDER_FEISTEL:
        return feistel_at(o->n, o->seed, place);
    default:
        return place;
    }
}
