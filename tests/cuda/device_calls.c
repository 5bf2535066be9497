/* device_calls.c - a group of GPUs as a group whose memory is the host's. */
#include "device_calls.h"
#include "base/arena.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

typedef struct DeviceCalls {
    Comm comm;
    Comm *there;
    Device *device;
    Stream *stream;
} DeviceCalls;

/* Memory of the host and of the device. */
typedef struct Mirror {
    const void *host;
    void *there;
    size_t bytes;
    bool is_own; /* of this one alone */
} Mirror;

struct Pending {
    DeviceCalls *calls;
    struct Pending *of_group;
    Mirror *mirror;
    int n, n_sends;
};

static DeviceCalls *of(Comm *c)
{
    return (DeviceCalls *)c;
}

static Error *mirror(DeviceCalls *x, const void *host, size_t bytes, Mirror *out)
{
    *out = (Mirror){ .host = host, .bytes = bytes, .is_own = true };
    TRY(x->device->alloc(x->device, bytes, &out->there));
    return device_copy_now(x->device, out->there, host, bytes, x->stream);
}

static Error *back(DeviceCalls *x, const Mirror *m, void *host)
{
    Error *e = host ? device_copy_now(x->device, host, m->there, m->bytes, x->stream)
                    : x->device->synchronize(x->device, x->stream);
    x->device->release(x->device, m->there, m->bytes);
    return e;
}

static int64_t sum(const int64_t *counts, int n)
{
    int64_t total = 0;
    for (int r = 0; r < n; r++) total += counts[r];
    return total;
}

static void *moved(const Mirror *m, const void *host)
{
    return (char *)m->there + ((const char *)host - (const char *)m->host);
}

static bool is_within(const void *p, const void *base, size_t bytes)
{
    return (const char *)p >= (const char *)base && (const char *)p < (const char *)base + bytes;
}

static Error *all_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, struct Stream *s)
{
    DeviceCalls *x = of(c);
    Mirror m;
    (void)s;
    TRY(mirror(x, data, dtype_size(t) * (size_t)n, &m));
    x->there->origin = c->origin;
    x->there->n_nodes = c->n_nodes;
    TRY(x->there->all_reduce(x->there, m.there, n, t, op, x->stream));
    return back(x, &m, data);
}

/* `in` may lie in `out`, or `out` in `in`. */
static Error *two_places(DeviceCalls *x, const void *in, size_t in_bytes, void *out,
                         size_t out_bytes, Mirror *from, Mirror *to)
{
    const bool in_out = in_bytes <= out_bytes && is_within(in, out, out_bytes + 1),
               out_in = !in_out && is_within(out, in, in_bytes + 1);
    if (!in_out) TRY(mirror(x, in, in_bytes, from));
    if (!out_in) TRY(mirror(x, out, out_bytes, to));
    if (in_out) *from = (Mirror){ .host = in, .there = moved(to, in) };
    if (out_in) *to = (Mirror){ .host = out, .there = moved(from, out) };
    return NULL;
}

static Error *two_back(DeviceCalls *x, Mirror *from, Mirror *to, void *out, size_t out_bytes)
{
    TRY(device_copy_now(x->device, out, to->there, out_bytes, x->stream));
    if (from->is_own) TRY(back(x, from, NULL));
    return to->is_own ? back(x, to, NULL) : NULL;
}

static Error *all_gather(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                         struct Stream *s)
{
    DeviceCalls *x = of(c);
    Mirror from, to;
    (void)s;
    const size_t bytes = dtype_size(t) * (size_t)sum(counts, c->size);
    TRY(two_places(x, in, dtype_size(t) * (size_t)counts[c->rank], out, bytes, &from, &to));
    TRY(x->there->all_gather(x->there, from.there, to.there, counts, t, x->stream));
    return two_back(x, &from, &to, out, bytes);
}

static Error *reduce_scatter(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                             ReduceOp op, struct Stream *s)
{
    DeviceCalls *x = of(c);
    Mirror from, to;
    (void)s;
    const size_t bytes = dtype_size(t) * (size_t)counts[c->rank];
    TRY(two_places(x, in, dtype_size(t) * (size_t)sum(counts, c->size), out, bytes, &from, &to));
    TRY(x->there->reduce_scatter(x->there, from.there, to.there, counts, t, op, x->stream));
    return two_back(x, &from, &to, out, bytes);
}

static Error *all_to_all(Comm *c, const void *in, const int64_t *send, void *out,
                         const int64_t *receive, Dtype t, struct Stream *s)
{
    DeviceCalls *x = of(c);
    Mirror from, to;
    (void)s;
    TRY(mirror(x, in, dtype_size(t) * (size_t)sum(send, c->size), &from));
    TRY(mirror(x, out, dtype_size(t) * (size_t)sum(receive, c->size), &to));
    TRY(x->there->all_to_all(x->there, from.there, send, to.there, receive, t, x->stream));
    TRY(back(x, &from, NULL));
    return back(x, &to, out);
}

static Error *broadcast(Comm *c, void *data, size_t bytes, int root, struct Stream *s)
{
    DeviceCalls *x = of(c);
    Mirror m;
    (void)s;
    TRY(mirror(x, data, bytes, &m));
    TRY(x->there->broadcast(x->there, m.there, bytes, root, x->stream));
    return back(x, &m, data);
}

static Error *mirror_list(DeviceCalls *x, struct Pending *p, const Transfer *list, int n,
                          Transfer *made)
{
    for (int i = 0; i < n; i++) {
        made[i] = list[i];
        TRY(mirror(x, list[i].data, list[i].bytes, &p->mirror[p->n]));
        made[i].data = p->mirror[p->n++].there;
    }
    return NULL;
}

static Error *all_back(struct Pending *p)
{
    Error *e = NULL;
    for (int i = 0; i < p->n && !e; i++)
        e = back(p->calls, &p->mirror[i], i < p->n_sends ? NULL : (void *)p->mirror[i].host);
    free(p->mirror);
    free(p);
    return e;
}

static struct Pending *new_pending(DeviceCalls *x, int n_sends, int n)
{
    struct Pending *p = calloc(1, sizeof *p);
    assert_non_null(p);
    *p = (struct Pending){ .calls = x, .n_sends = n_sends };
    p->mirror = calloc((size_t)n + 1, sizeof *p->mirror);
    assert_non_null(p->mirror);
    return p;
}

static Error *exchange(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                       int n_receives, struct Stream *s)
{
    enum { MOST = 64 };
    Transfer out[MOST], in[MOST];
    DeviceCalls *x = of(c);
    (void)s;
    struct Pending *p = new_pending(x, n_sends, n_sends + n_receives);
    TRY(mirror_list(x, p, sends, n_sends, out));
    TRY(mirror_list(x, p, receives, n_receives, in));
    TRY(x->there->exchange(x->there, out, n_sends, in, n_receives, x->stream));
    return all_back(p);
}

static struct Pending *start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                             int n_receives, struct Stream *s)
{
    enum { MOST = 64 };
    Transfer out[MOST], in[MOST];
    DeviceCalls *x = of(c);
    (void)s;
    struct Pending *p = new_pending(x, n_sends, n_sends + n_receives);
    assert_no_error(mirror_list(x, p, sends, n_sends, out));
    assert_no_error(mirror_list(x, p, receives, n_receives, in));
    p->of_group = x->there->start(x->there, out, n_sends, in, n_receives, x->stream);
    return p;
}

static Error *finish(Comm *c, struct Pending *p, struct Stream *s)
{
    DeviceCalls *x = of(c);
    (void)s;
    TRY(x->there->finish(x->there, p->of_group, x->stream));
    return all_back(p);
}

static Error *group(Comm *c, const int *ranks, int n, int key, Comm **out)
{
    DeviceCalls *x = of(c);
    Comm *made;
    TRY(x->there->group(x->there, ranks, n, key, &made));
    return device_calls_new(x->device, made, out);
}

static void free_calls(Comm *c)
{
    DeviceCalls *x = of(c);
    x->there->free(x->there);
    x->device->stream_free(x->device, x->stream);
    free(x);
}

Error *device_calls_new(Device *d, Comm *there, Comm **out)
{
    DeviceCalls *x = calloc(1, sizeof *x);
    assert_non_null(x);
    x->device = d;
    x->there = there;
    x->comm = (Comm){ .transport = there->transport,
                      .rank = there->rank,
                      .size = there->size,
                      .all_reduce = all_reduce,
                      .all_gather = all_gather,
                      .reduce_scatter = reduce_scatter,
                      .all_to_all = all_to_all,
                      .broadcast = broadcast,
                      .exchange = exchange,
                      .start = start,
                      .finish = finish,
                      .group = group,
                      .free = free_calls };
    *out = &x->comm;
    return d->stream_new(d, false, &x->stream);
}
