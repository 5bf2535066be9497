/* store_fill.c - initial numbers of parameters and states, by all threads: each is a function of
 * its element's place in the whole.
 *
 * Where the device has memory of its own, slabs of numbers take turns at two pieces of the host's
 * memory that copies come from: one is filled while the other is on its way. */
#include "base/rng.h"
#include "base/thread.h"
#include "exec/store.h"
#include "graph/split.h"
#include "tensor/halves.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 16, SLAB_BYTES = 16 << 20, SLABS = 2 };

/* Elements [first, end) of a tensor. */
typedef struct Filling {
    const Init *init;
    const Tensor *whole;
    void *to; /* in host memory */
    int64_t first, end;
    bool is_split;
    bool in_halves; /* F32: the high halves of all come first */
    uint64_t key;
    double from, span; /* TRUNCATED: the shares of the normal that are kept */
} Filling;

/* Those of a row lie as far apart as they can, from a number that is drawn on. */
static double choice(const Filling *f, uint64_t i)
{
    const uint64_t columns = (uint64_t)f->init->columns, n = (uint64_t)f->init->high,
                   first = (uint64_t)(rng_uniform(f->key, i / columns) * f->init->high);
    return (double)((first + i % columns * (n / columns)) % n);
}

static double init_number(const Filling *f, uint64_t i)
{
    const Init *r = f->init;
    switch (r->kind) {
    case INIT_ZEROS:
        return 0;
    case INIT_ONES:
        return 1;
    case INIT_NORMAL:
        return r->mean + r->std * rng_normal(f->key, i);
    case INIT_TRUNCATED:
        return r->mean + r->std * rng_normal_between(f->key, i, f->from, f->from + f->span);
    case INIT_UNIFORM:
        return r->low + (r->high - r->low) * rng_uniform(f->key, i);
    case INIT_CHOICES:
        return choice(f, i);
    case INIT_LOG_COUNT:
        return log((double)(i % (uint64_t)r->columns + 1));
    }
    CHECK(!"init kind");
    return 0;
}

static void put_float(const Filling *f, int64_t i, float x)
{
    uint16_t *high = f->to;
    const int64_t at = i - f->first;
    if (f->in_halves) {
        high[at] = high_half_of(x);
        high[f->end - f->first + at] = (uint16_t)low_half_of(x);
    } else {
        ((float *)f->to)[at] = x;
    }
}

static void put_number(const Filling *f, int64_t i, double x)
{
    if (f->whole->dtype == F32)
        put_float(f, i, (float)x);
    else
        dtype_set(f->whole->dtype, f->to, i - f->first, x);
}

/* Most parameters: many numbers at a time. */
static void fill_normal(const Filling *f, int64_t from, int64_t to)
{
    double some[RNG_NORMALS];
    for (int64_t n; from < to; from += n) {
        n = to - from < RNG_NORMALS ? to - from : RNG_NORMALS;
        rng_normals(f->key, (uint64_t)from, n, some);
        for (int64_t i = 0; i < n; i++)
            put_float(f, from + i, (float)(f->init->mean + f->init->std * some[i]));
    }
}

/* A number is a function of its element's place in the whole, wherever that lies. */
static void fill_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const Filling *f = arg;
    const Tensor *t = f->whole;
    int64_t from = f->first + chunk * CHUNK, to = from + CHUNK < f->end ? from + CHUNK : f->end;
    if (f->init->kind == INIT_NORMAL && t->dtype == F32 && !f->is_split) {
        fill_normal(f, from, to);
        return;
    }
    for (int64_t i = from; i < to; i++) {
        int64_t element = f->is_split ? global_element(t, i) : i;
        put_number(f, i, element < 0 ? 0 : init_number(f, (uint64_t)element));
    }
}

static void fill_range(const Filling *f, struct Pool *pool)
{
    const int64_t n_chunks = (f->end - f->first + CHUNK - 1) / CHUNK;
    if (pool)
        pool_run(pool, n_chunks, fill_chunk, (void *)f);
    else
        for (int64_t i = 0; i < n_chunks; i++) fill_chunk((void *)f, i, 0);
}

typedef struct Slabs {
    Device *device;
    Stream *stream;
    void *data[SLABS];
    StreamMark sent[SLABS];
    size_t bytes; /* of each */
    int64_t n_given;
} Slabs;

static Error *send_range(const Slabs *x, const Filling *f)
{
    Device *d = x->device;
    const int64_t n = f->end - f->first;
    const size_t size = f->in_halves ? sizeof(uint16_t) : dtype_size(f->whole->dtype);
    const size_t bytes = (size_t)n * size;
    char *to = (char *)f->whole->data + (size_t)f->first * size;
    TRY(d->copy(d, to, f->to, bytes, x->stream));
    if (!f->in_halves) return NULL;
    to += (size_t)tensor_count(f->whole) * size;
    return d->copy(d, to, (char *)f->to + bytes, bytes, x->stream);
}

/* The next slab, when what it had is there. */
static Error *next_slab(Slabs *x, void **out)
{
    Device *d = x->device;
    const int64_t turn = x->n_given % SLABS;
    *out = x->data[turn];
    if (x->n_given < SLABS) return NULL;
    return d->reach ? d->reach(d, x->stream, &x->sent[turn]) : d->synchronize(d, x->stream);
}

static Error *fill_slabs(Slabs *x, Filling *f)
{
    const int64_t n = tensor_count(f->whole),
                  most = (int64_t)(x->bytes / dtype_size(f->whole->dtype));
    for (; f->first < n; f->first = f->end) {
        f->end = f->first + most < n ? f->first + most : n;
        TRY(next_slab(x, &f->to));
        fill_range(f, x->stream->pool);
        TRY(send_range(x, f));
        TRY(x->device->mark(x->device, x->stream, &x->sent[x->n_given++ % SLABS]));
    }
    return NULL;
}

static Error *fill(Slabs *x, const Stored *p, uint64_t seed)
{
    const Tensor numbers = stored_numbers(p);
    Filling f = { .init = &p->init,
                  .whole = &numbers,
                  .in_halves = p->low != NULL,
                  .key = rng_key(seed, RNG_INIT, 0, hash_bytes(p->name, strlen(p->name))) };
    if (p->init.kind == INIT_TRUNCATED) {
        f.from = normal_cumulative((p->init.low - p->init.mean) / p->init.std);
        f.span = normal_cumulative((p->init.high - p->init.mean) / p->init.std) - f.from;
    }
    for (int d = 0; d < numbers.n_dims; d++) f.is_split |= numbers.part[d] != NULL;
    if (!x->device->is_host) return fill_slabs(x, &f);
    f.to = numbers.data;
    f.end = tensor_count(&numbers);
    fill_range(&f, x->stream->pool);
    return NULL;
}

/* Memory starts zeroed. */
static bool needs_numbers(const Stored *p)
{
    const bool is_kept = p->kind == VALUE_PARAM || p->kind == VALUE_STATE;
    return is_kept && !p->is_set && p->init.kind != INIT_ZEROS;
}

static Error *make_slabs(ParamStore *s, Slabs *x)
{
    *x = (Slabs){ .device = s->device };
    TRY(store_stream(s, &x->stream));
    if (s->device->is_host) return NULL;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Tensor t = stored_numbers(store_at(s, i));
        const size_t bytes = needs_numbers(store_at(s, i)) ? tensor_bytes(&t) : 0;
        if (bytes > x->bytes) x->bytes = bytes < SLAB_BYTES ? bytes : SLAB_BYTES;
    }
    for (int i = 0; i < SLABS && x->bytes; i++)
        TRY(device_host_alloc(s->device, x->bytes, &x->data[i]));
    return NULL;
}

/* What was given is waited for, whatever has failed. */
static Error *free_slabs(Slabs *x, Error *e)
{
    Device *d = x->device;
    Error *last = x->bytes ? d->synchronize(d, x->stream) : NULL;
    for (int i = 0; i < SLABS; i++) {
        d->mark_free(d, &x->sent[i]);
        device_host_release(d, x->data[i]);
    }
    if (!e) return last;
    error_free(last);
    return e;
}

Error *store_initialize(ParamStore *s, uint64_t seed)
{
    Slabs slabs;
    TRY(store_before_change(s));
    TRY(store_settle(s, NULL));
    Error *e = make_slabs(s, &slabs);
    for (int64_t i = 0; !e && i < store_count(s); i++) {
        Stored *p = store_at(s, i);
        if (needs_numbers(p)) e = fill(&slabs, p, seed);
        if (p->kind == VALUE_PARAM || p->kind == VALUE_STATE) p->is_set = true;
    }
    e = free_slabs(&slabs, e);
    store_changed(s);
    return e;
}
