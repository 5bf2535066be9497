/* select_keys.c - the keys that a lightning indexer scores highest (DeepSeek-AI 2025).
 *
 * Letters: b batch, s query, t key, h heads of the indexer, d their width, n keys of a query. */
#include "ops/select_keys.h"
#include "base/arena.h"
#include <math.h>
#include <stdlib.h>

static const OpDef op_select_keys;

static const Field attrs[] = {
    FIELD_INT(SelectKeys, top_k, NULL, 0, 0, "keys of a query, at most"),
    FIELD_INT(SelectKeys, rate, NULL, 0, 0, "tokens of a key"),
    { 0 },
};

Value *select_keys(Graph *g, Value *q, Value *k, Value *w, Value *documents, const SelectKeys *a)
{
    const int64_t t = k->dim[1].size, top_k = a->top_k;
    const char *size = arena_printf(g->arena, "n=%lld", (long long)(top_k < t ? top_k : t));
    const char *dims = documents ? "bsh!d!,bt!d!,bsh!,bs,bt!->bsn!" : "bsh!d!,bt!d!,bsh!->bsn!";
    Value *in[] = { q, k, w, documents, documents };
    return graph_add_dims(g, &op_select_keys, dims, size, a, documents ? 5 : 3, in)->out[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    (void)n;
    out[0] = I32;
}

static int64_t flops(const Node *n)
{
    const Value *q = n->in[0];
    const int64_t s = q->dim[1].size, t = n->in[1]->dim[1].size;
    int64_t pairs = 0;
    const int64_t rate = ((const SelectKeys *)n->attrs)->rate;
    for (int64_t i = t * rate - s; i < t * rate; i++) pairs += i < 0 ? 0 : (i + 1) / rate;
    return 2 * q->dim[0].size * pairs * q->dim[2].size * q->dim[3].size;
}

typedef struct Scored {
    double score;
    int64_t key;
} Scored;

static int higher_first(const void *x, const void *y)
{
    const Scored *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->key < b->key ? -1 : 1;
}

static int earlier_first(const void *x, const void *y)
{
    const Scored *a = x, *b = y;
    return a->key < b->key ? -1 : 1;
}

static double score_of(const Launch *l, int64_t row, int64_t key)
{
    const Tensor *q = &l->in[0], *k = &l->in[1];
    const int64_t n_heads = q->size[2], d = q->size[3];
    const double *of_query = (const double *)q->data + row * n_heads * d,
                 *of_key = (const double *)k->data + key * d,
                 *weight = (const double *)l->in[2].data + row * n_heads;
    double sum = 0;
    for (int64_t h = 0; h < n_heads; h++) {
        double dot = 0;
        for (int64_t i = 0; i < d; i++) dot += of_query[h * d + i] * of_key[i];
        sum += weight[h] * (dot > 0 ? dot : 0);
    }
    return isnan(sum) ? -INFINITY : sum;
}

static int reference(const Launch *l)
{
    const Tensor *q = &l->in[0], *k = &l->in[1];
    const int64_t n_keys = k->size[1], n_query = q->size[1], n = l->out[0].size[2],
                  rate = ((const SelectKeys *)l->attrs)->rate;
    const int32_t *documents = l->n_in == 5 ? l->in[3].data : NULL,
                  *of_keys = l->n_in == 5 ? l->in[4].data : NULL;
    Arena *arena = arena_new();
    Scored *seen = NEW_N(arena, Scored, n_keys);
    int32_t *to = l->out[0].data;
    for (int64_t row = 0; row < q->size[0] * n_query; row++, to += n) {
        const int64_t b = row / n_query,
                      position = global_index(q, 1, row % n_query) + row_position(l->now, b);
        int64_t count = 0;
        for (int64_t j = 0; j < n_keys; j++) {
            if ((global_index(k, 1, j) + 1) * rate > position + 1) continue;
            if (documents && documents[row] != of_keys[b * n_keys + j]) continue;
            seen[count++] = (Scored){ score_of(l, row, b * n_keys + j), j };
        }
        if (count > n) {
            qsort(seen, (size_t)count, sizeof *seen, higher_first);
            count = n;
        }
        qsort(seen, (size_t)count, sizeof *seen, earlier_first);
        for (int64_t i = 0; i < n; i++) to[i] = i < count ? (int32_t)seen[i].key : -1;
    }
    arena_free(arena);
    return KERNEL_OK;
}

static const OpDef op_select_keys = {
    .name = "select_keys",
    .doc = "for each query the keys that a narrow attention scores highest, as indices",
    .attrs = attrs,
    .attrs_size = sizeof(SelectKeys),
    .dtypes = dtypes,
    .flops = flops,
    .reference = reference,
};

const OpDef *const select_keys_ops[] = { &op_select_keys, NULL };
