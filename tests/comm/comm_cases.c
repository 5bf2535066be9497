/* comm_cases.c - what every transport must do, as each of its ranks tries it. */
#include "comm_cases.h"
#include "base/arena.h"
#include <string.h>

static const Dtype dtypes[] = { F64, F32, BF16, F16, I64, I32, U8, BOOL };

/* Numbers whose sums depend on the order of adding in floats, and fit in every dtype. */
static double sample(int rank, int64_t i, Dtype t)
{
    uint64_t x = ((uint64_t)rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 32;
    if (t == BOOL) return (double)(x % 2);
    if (!dtype_is_float(t)) return (double)(x % 30);
    return ((double)(x % 2000001) - 1e6) * ((x >> 40) % 2 ? 1e-6 : 1e-3);
}

/* `from` so that each part of a call has numbers of its own. */
static void *samples(Arena *a, int rank, int64_t from, int64_t n, Dtype t)
{
    void *data = arena_alloc(a, dtype_size(t) * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) dtype_set(t, data, i, sample(rank, from + i, t));
    return data;
}

/* The reduction of element i over ranks 0..n_ranks-1, as comm.h promises it. */
static void expect_reduced(int n_ranks, int64_t i, Dtype t, ReduceOp op, void *out, int64_t at)
{
    char one[8];
    double sum = 0;
    for (int r = 0; r < n_ranks; r++) {
        dtype_set(t, one, 0, sample(r, i, t));
        double x = dtype_get(t, one, 0);
        if (r == 0)
            sum = x;
        else if (op == REDUCE_MAX)
            sum = x > sum ? x : sum;
        else if (dtype_is_float(t) && t != F64)
            sum = (double)((float)sum + (float)x);
        else
            sum += x;
    }
    dtype_set(t, out, at, sum);
}

static Error *compare(const Comm *c, const char *op, Dtype t, int64_t n, const void *got,
                      const void *expected)
{
    for (int64_t i = 0; i < n; i++) {
        size_t at = (size_t)i * dtype_size(t);
        if (memcmp((const char *)got + at, (const char *)expected + at, dtype_size(t)))
            return error_new("%s of %lld %s, rank %d of %d: element %lld is %.9g instead of %.9g",
                             op, (long long)n, dtype_name(t), c->rank, c->size, (long long)i,
                             dtype_get(t, got, i), dtype_get(t, expected, i));
    }
    return NULL;
}

static int64_t *unequal_counts(Arena *a, int size, int64_t n)
{
    int64_t *counts = NEW_N(a, int64_t, size);
    for (int r = 0; r < size; r++) counts[r] = (r * 5 + n) % 3 == 0 ? 0 : n / (r + 1) + r % 2;
    return counts;
}

static int64_t sum_of(const int64_t *counts, int n)
{
    int64_t total = 0;
    for (int r = 0; r < n; r++) total += counts[r];
    return total;
}

static Error *try_all_reduce(Arena *a, Comm *c, int64_t n, Dtype t, ReduceOp op)
{
    void *data = samples(a, c->rank, 0, n, t), *expected = samples(a, 0, 0, n, t);
    for (int64_t i = 0; i < n; i++) expect_reduced(c->size, i, t, op, expected, i);
    TRY(c->all_reduce(c, data, n, t, op, NULL));
    return compare(c, op == REDUCE_SUM ? "all_reduce" : "all_reduce of maxima", t, n, data,
                   expected);
}

static Error *try_all_gather(Arena *a, Comm *c, int64_t n, Dtype t, bool in_place)
{
    int64_t *counts = unequal_counts(a, c->size, n), total = sum_of(counts, c->size), at = 0;
    char *expected = arena_alloc(a, dtype_size(t) * (size_t)(total + 1));
    char *out = arena_alloc(a, dtype_size(t) * (size_t)(total + 1));
    const void *in = samples(a, c->rank, 0, counts[c->rank], t);
    for (int r = 0; r < c->size; at += counts[r++])
        for (int64_t i = 0; i < counts[r]; i++) dtype_set(t, expected, at + i, sample(r, i, t));
    if (in_place) {
        char *own = out + dtype_size(t) * (size_t)sum_of(counts, c->rank);
        memcpy(own, in, dtype_size(t) * (size_t)counts[c->rank]);
        in = own;
    }
    TRY(c->all_gather(c, in, out, counts, t, NULL));
    return compare(c, "all_gather", t, total, out, expected);
}

static Error *try_reduce_scatter(Arena *a, Comm *c, int64_t n, Dtype t, ReduceOp op, bool in_place)
{
    int64_t *counts = unequal_counts(a, c->size, n), total = sum_of(counts, c->size);
    int64_t own = counts[c->rank], from = sum_of(counts, c->rank);
    char *in = samples(a, c->rank, 0, total, t), *expected = samples(a, 0, 0, own, t);
    char *out = in_place ? in + dtype_size(t) * (size_t)from : samples(a, 0, 0, own, t);
    for (int64_t i = 0; i < own; i++) expect_reduced(c->size, from + i, t, op, expected, i);
    TRY(c->reduce_scatter(c, in, out, counts, t, op, NULL));
    return compare(c, "reduce_scatter", t, own, out, expected);
}

/* What rank r sends to rank p. */
static int64_t amount(int r, int p, int64_t n)
{
    return (r + 2 * p) % 3 == 0 ? 0 : n / (1 + r) + p;
}

static Error *try_all_to_all(Arena *a, Comm *c, int64_t n, Dtype t)
{
    int64_t *send = NEW_N(a, int64_t, c->size), *receive = NEW_N(a, int64_t, c->size), at = 0;
    for (int p = 0; p < c->size; p++) {
        send[p] = amount(c->rank, p, n);
        receive[p] = amount(p, c->rank, n);
    }
    int64_t n_sent = sum_of(send, c->size), n_received = sum_of(receive, c->size);
    void *in = samples(a, c->rank, 0, n_sent, t), *out = samples(a, 0, 0, n_received, t);
    void *expected = samples(a, 0, 0, n_received, t);
    for (int p = 0; p < c->size; at += receive[p++]) {
        int64_t before = 0;
        for (int q = 0; q < c->rank; q++) before += amount(p, q, n);
        for (int64_t i = 0; i < receive[p]; i++)
            dtype_set(t, expected, at + i, sample(p, before + i, t));
    }
    TRY(c->all_to_all(c, in, send, out, receive, t, NULL));
    return compare(c, "all_to_all", t, n_received, out, expected);
}

static Error *try_broadcast(Arena *a, Comm *c, int64_t n, int root)
{
    void *data = samples(a, c->rank, 0, n, I32), *expected = samples(a, root, 0, n, I32);
    TRY(c->broadcast(c, data, sizeof(int32_t) * (size_t)n, root, NULL));
    return compare(c, "broadcast", I32, n, data, expected);
}

static Error *try_all(Arena *a, Comm *c, int64_t n, Dtype t)
{
    for (int op = REDUCE_SUM; op <= REDUCE_MAX; op++) {
        TRY(try_all_reduce(a, c, n, t, (ReduceOp)op));
        TRY(try_reduce_scatter(a, c, n, t, (ReduceOp)op, false));
    }
    TRY(try_reduce_scatter(a, c, n, t, REDUCE_SUM, true));
    TRY(try_all_gather(a, c, n, t, false));
    TRY(try_all_gather(a, c, n, t, true));
    return try_all_to_all(a, c, n, t);
}

Error *comm_cases_calls(Comm *c, int64_t n_max)
{
    static const int64_t sizes[] = { 0, 1, 3, 63, 64, 129, 1000, 5003, 300001, 5000011 };
    Arena *a = arena_new();
    Error *e = NULL;
    for (size_t k = 0; !e && k < sizeof sizes / sizeof *sizes && sizes[k] <= n_max; k++) {
        for (size_t d = 0; !e && d < sizeof dtypes / sizeof *dtypes; d++) {
            /* the largest ones are about messages in pieces, not about dtypes */
            if (sizes[k] > 5003 && dtypes[d] != F32 && dtypes[d] != BF16) continue;
            e = try_all(a, c, sizes[k], dtypes[d]);
            arena_clear(a);
        }
        for (int root = 0; !e && root < c->size; root++) e = try_broadcast(a, c, sizes[k], root);
        arena_clear(a);
    }
    arena_free(a);
    return e;
}

/* Each rank sends to the next one and receives from the one before; its own number travels. */
static Error *try_ring(Arena *a, Comm *c, size_t bytes, int tag)
{
    int next = (c->rank + 1) % c->size, before = (c->rank + c->size - 1) % c->size;
    unsigned char *out = arena_alloc(a, bytes + 1), *in = arena_alloc(a, bytes + 1);
    memset(out, c->rank + tag, bytes);
    Transfer send = { next, tag, out, bytes }, receive = { before, tag, in, bytes };
    TRY(c->exchange(c, &send, 1, &receive, 1, NULL));
    for (size_t i = 0; i < bytes; i++)
        if (in[i] != (unsigned char)(before + tag))
            return error_new("ring of %zu bytes: rank %d got %d from %d", bytes, c->rank, in[i],
                             before);
    return NULL;
}

/* To all, itself included, with two tags that are received in the other order. */
static Error *try_all_pairs(Arena *a, Comm *c)
{
    int n = 2 * c->size;
    Transfer *send = NEW_N(a, Transfer, n), *receive = NEW_N(a, Transfer, n);
    int64_t *out = NEW_N(a, int64_t, n), *in = NEW_N(a, int64_t, n);
    for (int i = 0; i < n; i++) {
        int peer = i / 2, tag = i % 2 ? 7 : COMM_MAX_TAG - 1;
        out[i] = c->rank * 1000 + peer * 10 + tag % 10;
        send[i] = (Transfer){ peer, tag, &out[i], sizeof *out };
        receive[n - 1 - i] = (Transfer){ peer, tag, &in[i], sizeof *in };
    }
    TRY(c->exchange(c, send, n, receive, n, NULL));
    for (int i = 0; i < n; i++) {
        int peer = i / 2, tag = i % 2 ? 7 : COMM_MAX_TAG - 1;
        if (in[i] != peer * 1000 + c->rank * 10 + tag % 10)
            return error_new("rank %d got %lld from %d", c->rank, (long long)in[i], peer);
    }
    return NULL;
}

/* Rank 0 sends many messages and overwrites them before anybody waits; the last rank takes them by
 * tags, backwards, after a call with everybody. */
static Error *try_early(Arena *a, Comm *c, size_t bytes)
{
    enum { MESSAGES = 5 };
    char *data = arena_alloc(a, bytes + 1);
    int32_t together = 1;
    Transfer t = { c->size - 1, 0, data, bytes };
    for (t.tag = 0; c->rank == 0 && t.tag < MESSAGES; t.tag++) {
        memset(data, 'a' + t.tag, bytes);
        TRY(c->exchange(c, &t, 1, NULL, 0, NULL));
        memset(data, '-', bytes);
    }
    TRY(c->all_reduce(c, &together, 1, I32, REDUCE_SUM, NULL));
    t.peer = 0;
    for (t.tag = MESSAGES - 1; c->rank == c->size - 1 && t.tag >= 0; t.tag--) {
        TRY(c->exchange(c, NULL, 0, &t, 1, NULL));
        for (size_t i = 0; i < bytes; i++)
            if (data[i] != 'a' + t.tag)
                return error_new("an early message with tag %d of %zu bytes came as %d", t.tag,
                                 bytes, data[i]);
    }
    return NULL;
}

/* Messages of one tag keep their order; whether they meet a waiting rank or not. */
static Error *try_stream(Comm *c)
{
    int32_t in = -1, peer = c->rank ^ 1;
    if (peer >= c->size) return NULL;
    for (int32_t i = 0; i < 50; i++) {
        Transfer send = { peer, 3, &i, sizeof i }, receive = { peer, 3, &in, sizeof in };
        if (c->rank % 2 == 0)
            TRY(c->exchange(c, &send, 1, NULL, 0, NULL));
        else
            TRY(c->exchange(c, NULL, 0, &receive, 1, NULL));
        if (c->rank % 2 && in != i) return error_new("message %d came as number %d", in, i);
    }
    return NULL;
}

Error *comm_cases_exchange(Comm *c, size_t largest)
{
    static const size_t sizes[] = { 0, 1, 100, 5000, 100000, 20000003 };
    Arena *a = arena_new();
    Error *e = try_all_pairs(a, c);
    if (!e) e = try_stream(c);
    for (size_t k = 0; !e && k < sizeof sizes / sizeof *sizes && sizes[k] <= largest; k++) {
        e = try_ring(a, c, sizes[k], (int)k);
        if (!e) e = try_early(a, c, sizes[k]);
    }
    arena_free(a);
    return e;
}

static Error *try_group(Comm *c, const int *ranks, int n, int key, Comm **out)
{
    TRY(c->group(c, ranks, n, key, out));
    if ((*out)->size != n || ranks[(*out)->rank] != c->rank)
        return error_new("rank %d is rank %d of %d in a group", c->rank, (*out)->rank,
                         (*out)->size);
    return comm_cases_calls(*out, 129);
}

Error *comm_cases_groups(Comm *c)
{
    int ranks[64], n = 0;
    Comm *same, *reversed, *half, *again;
    for (int r = c->size - 1; r >= 0; r--) ranks[n++] = r;
    TRY(try_group(c, ranks, n, 0, &reversed));
    n = 0;
    for (int r = c->rank % 2; r < c->size; r += 2) ranks[n++] = r; /* odd or even ones */
    TRY(try_group(c, ranks, n, 1, &same));
    TRY(try_group(c, ranks, n, 2, &half));
    n = 0;
    for (int r = 0; r < half->size; r++) ranks[n++] = r;
    TRY(try_group(half, ranks, n, 1, &again));
    TRY(comm_cases_exchange(again, 5000));
    same->free(same);
    half->free(half);
    TRY(comm_cases_calls(again, 3));
    again->free(again);
    reversed->free(reversed);
    return comm_cases_calls(c, 3);
}
