/* attention.c - softmax(q k^T) v with causal mask, window, chunks, documents, soft cap, ALiBi and
 * dropout.
 *
 * Letters: b batch, s query, t key, g key/value head, r query heads that share it, d width. The
 * forward pass keeps lse, the logarithm of the sum of exponentials of a row of scores, instead of
 * the probabilities: P = exp(score - lse) brings them back (Dao et al. 2022). With the row sum
 * D = sum(do * o), the gradient of a score is P (dP - D). */
#include "ops/attention.h"
#include "base/arena.h"
#include "ops/attention_join.h"
#include "ops/dropout_mask.h"
#include "ops/softmax.h"
#include <string.h>

const Field attention_fields[] = {
    FIELD_FLOAT(Attention, scale, NULL, 0, 0, "of the products; 0: 1/sqrt(d)"),
    FIELD_FLOAT(Attention, soft_cap, NULL, 0, 0, "scores become cap tanh(score / cap); 0: off"),
    FIELD_FLOAT(Attention, dropout, NULL, 0, 1, "share of the probabilities that become zero"),
    FIELD_FLOAT(Attention, alibi, NULL, 0, 0,
                "scores fall with the distance of keys, in the last head by 2^-alibi; 0: off"),
    FIELD_FLOAT(Attention, alibi_scale, NULL, 0, 0, "of what they fall by; 0: 1"),
    FIELD_INT(Attention, window, NULL, 0, 0, "keys that a causal query sees; 0: all earlier ones"),
    FIELD_BOOL(Attention, chunks, NULL, "windows begin at multiples of their size"),
    FIELD_INT(Attention, salt, NULL, 0, 0, "tells the dropout of layers apart"),
    FIELD_BOOL(Attention, causal, NULL, "queries see no later keys"),
    { 0 },
};

Value *attention(Graph *g, Value *q, Value *k, Value *v, Value *documents, const Attention *a)
{
    if (a->window && !a->causal)
        graph_fail(g, error_new("attention: a window needs a causal mask"));
    if (a->chunks && !a->window)
        graph_fail(g, error_new("attention: chunks need a window, which is their size"));
    if (a->alibi > 0 && !a->causal)
        graph_fail(g, error_new("attention: alibi needs a causal mask"));
    if (a->alibi > 0 && a->soft_cap > 0)
        graph_fail(g, error_new("attention: scores with alibi have no soft cap"));
    Value *in[] = { q, k, v, documents, documents };
    const char *dims =
        documents ? "bsgrd!,bt!gd,bt!gd,bs,bt->bsgrd,bsgr" : "bsgrd!,bt!gd,bt!gd->bsgrd,bsgr";
    return graph_add_dims(g, &op_attention, dims, NULL, a, documents ? 5 : 3, in)->out[0];
}

static const OpDef op_attention_max;

/* Keys stand for the values, too, so that operands are those of attention. */
Value *attention_max(Graph *g, const Node *n)
{
    Value *in[5];
    Attention a = *(const Attention *)n->attrs;
    a.soft_cap = a.dropout = a.alibi = a.alibi_scale = 0;
    memcpy(in, n->in, sizeof *in * (size_t)n->n_in);
    in[2] = in[1];
    const char *dims = n->n_in == 5 ? "bsgrd!,bt!gd,bt!gd,bs,bt->(gr)" : "bsgrd!,bt!gd,bt!gd->(gr)";
    Value *v = graph_add_dims(g, &op_attention_max, dims, NULL, &a, n->n_in, in)->out[0];
    v->reduce = REDUCE_MAX;
    return v;
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    CHECK(dout[1] == NULL); /* lse is for the gradient and for joining parts only */
    Value *in[8];
    memcpy(in, n->in, sizeof *in * (size_t)n->n_in);
    const Node *whole = attention_whole(g, n);
    in[n->n_in] = whole->out[0];
    in[n->n_in + 1] = whole->out[1];
    in[n->n_in + 2] = dout[0];
    const char *dims = n->n_in == 5 ? "bsgrd!,bt!gd,bt!gd,bs,bt,bsgrd,bsgr,bsgrd->bsgrd,btgd,btgd"
                                    : "bsgrd!,bt!gd,bt!gd,bsgrd,bsgr,bsgrd->bsgrd,btgd,btgd";
    Node *made = graph_add_dims(g, &op_attention_grad, dims, NULL, n->attrs, n->n_in + 3, in);
    for (int k = 0; k < 3; k++) din[k] = made->out[k];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = dtype_for_sums(n->in[0]->dtype);
}

static void dtype_of_max(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

/* Pairs of a query and a key that it sees, in one sequence; documents are not known here. */
static int64_t n_pairs(const Attention *a, int64_t s, int64_t t)
{
    if (!a->causal) return s * t;
    int64_t n = 0;
    for (int64_t i = 0; i < s; i++) { /* the last query sees the last key */
        int64_t seen = t - s + i + 1;
        const int64_t oldest = attention_oldest(a, t - s + i);
        if (oldest > 0) seen -= oldest;
        if (seen > 0) n += seen;
    }
    return n;
}

static int64_t products(const Node *n, int64_t n_products)
{
    const Value *q = n->in[0];
    int64_t pairs = n_pairs(n->attrs, q->dim[1].size, n->in[1]->dim[1].size);
    return 2 * n_products * pairs * q->dim[0].size * q->dim[2].size * q->dim[3].size *
           q->dim[4].size;
}

static int64_t forward_flops(const Node *n)
{
    return products(n, 2);
}

static int64_t max_flops(const Node *n)
{
    return products(n, 1);
}

static int64_t backward_flops(const Node *n)
{
    return products(n, 5);
}

/* What a kernel needs to know of one launch, and one row of it: query i of head h of sequence b. */
typedef struct Rows {
    const Launch *l;
    const Attention *attrs;
    const Tensor *q, *k, *v;
    const int32_t *query_document, *key_document; /* NULL: one document */
    int64_t n_batch, n_query, n_key, n_group, n_repeat, d;
    double scale;
    uint64_t key;
    double *score, *capped_slope; /* of one row */
    bool *seen;
} Rows;

static Rows rows_of(const Launch *l, Arena *arena)
{
    const Tensor *q = &l->in[0], *k = &l->in[1];
    const Attention *a = l->attrs;
    bool documents = l->n_in == 5 || l->n_in == 8;
    return (Rows){
        .l = l,
        .attrs = a,
        .q = q,
        .k = k,
        .v = &l->in[2],
        .query_document = documents ? l->in[3].data : NULL,
        .key_document = documents ? l->in[4].data : NULL,
        .n_batch = q->size[0],
        .n_query = q->size[1],
        .n_key = k->size[1],
        .n_group = q->size[2],
        .n_repeat = q->size[3],
        .d = q->size[4],
        .scale = a->scale != 0 ? a->scale : 1 / sqrt((double)q->size[4]),
        .key = a->dropout > 0 ? dropout_key(l->now, a->salt) : 0,
        .score = NEW_N(arena, double, k->size[1]),
        .capped_slope = NEW_N(arena, double, k->size[1]),
        .seen = NEW_N(arena, bool, k->size[1]),
    };
}

/* Row b s g r of q is row number `row`; its keys are rows of k and v. */
static const double *key_row(const Rows *w, const Tensor *t, int64_t row, int64_t j)
{
    int64_t group = row / w->n_repeat % w->n_group;
    int64_t b = row / (w->n_repeat * w->n_group * w->n_query);
    return (const double *)t->data + ((b * w->n_key + j) * w->n_group + group) * w->d;
}

static int64_t position_of(const Rows *w, int64_t row)
{
    const int64_t token = row / (w->n_repeat * w->n_group);
    return global_index(w->q, 1, token % w->n_query) + row_position(w->l->now, token / w->n_query);
}

static bool sees(const Rows *w, int64_t row, int64_t j)
{
    int64_t token = row / (w->n_repeat * w->n_group), b = token / w->n_query;
    if (w->query_document && w->query_document[token] != w->key_document[b * w->n_key + j])
        return false;
    if (!w->attrs->causal) return true;
    int64_t query = position_of(w, row), key = global_index(w->k, 1, j);
    return key <= query && key >= attention_oldest(w->attrs, query);
}

/* What a token of distance takes off the scores of a row. */
static double fall_of(const Rows *w, int64_t row)
{
    const Tensor *q = w->q;
    if (w->attrs->alibi <= 0) return 0;
    const int64_t g = global_index(q, 2, row / w->n_repeat % w->n_group),
                  r = global_index(q, 3, row % w->n_repeat), n_repeat = global_size(q, 3);
    return alibi_slope(w->attrs, g * n_repeat + r, global_size(q, 2) * n_repeat);
}

/* Fills score (minus infinity where the query does not see the key), its slope under the cap, and
 * seen. */
static void score_row(const Rows *w, int64_t row)
{
    const double *q = (const double *)w->q->data + row * w->d;
    double cap = w->attrs->soft_cap, fall = fall_of(w, row);
    int64_t position = position_of(w, row);
    for (int64_t j = 0; j < w->n_key; j++) {
        w->seen[j] = sees(w, row, j);
        w->score[j] = -INFINITY;
        if (!w->seen[j]) continue;
        const double *k = key_row(w, w->k, row, j);
        double dot = 0;
        for (int64_t i = 0; i < w->d; i++) dot += q[i] * k[i];
        double tangent = cap > 0 ? tanh(w->scale * dot / cap) : 0;
        w->score[j] = cap > 0 ? cap * tangent : w->scale * dot;
        w->score[j] -= fall * (double)(position - global_index(w->k, 1, j));
        w->capped_slope[j] = w->scale * (1 - tangent * tangent);
    }
}

/* What dropout multiplies the probability of key j with. */
static double kept(const Rows *w, int64_t row, int64_t j)
{
    const double p = w->attrs->dropout;
    if (p <= 0) return 1;
    const int64_t first = dropout_row(w->l->now, w->q, row, global_size(w->k, 1));
    return dropout_keeps(w->key, first + global_index(w->k, 1, j), p) ? 1 / (1 - p) : 0;
}

static int reference(const Launch *l)
{
    Arena *arena = arena_new();
    Rows w = rows_of(l, arena);
    double *o = l->out[0].data, *lse = l->out[1].data;
    for (int64_t row = 0; row < tensor_count(&l->out[1]); row++, o += w.d) {
        score_row(&w, row);
        lse[row] = log_sum_exp(w.score, w.n_key);
        for (int64_t i = 0; i < w.d; i++) o[i] = 0;
        for (int64_t j = 0; j < w.n_key; j++) {
            if (!w.seen[j]) continue;
            double p = exp(w.score[j] - lse[row]) * kept(&w, row, j);
            const double *v = key_row(&w, w.v, row, j);
            for (int64_t i = 0; i < w.d; i++) o[i] += p * v[i];
        }
    }
    arena_free(arena);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    Arena *arena = arena_new();
    Rows w = rows_of(l, arena);
    const Tensor *made = &l->in[l->n_in - 3];
    const double *o = made[0].data, *lse = made[1].data, *out_grad = made[2].data;
    double *dq = l->out[0].data, *dk = l->out[1].data, *dv = l->out[2].data;
    for (int k = 0; k < 3; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t row = 0; row < tensor_count(&made[1]); row++) {
        const double *q = (const double *)w.q->data + row * w.d, *go = out_grad + row * w.d;
        double sum = 0; /* D */
        for (int64_t i = 0; i < w.d; i++) sum += go[i] * o[row * w.d + i];
        score_row(&w, row);
        for (int64_t j = 0; j < w.n_key; j++) {
            if (!w.seen[j]) continue;
            const double *k = key_row(&w, w.k, row, j), *v = key_row(&w, w.v, row, j);
            int64_t at = k - (const double *)w.k->data;
            double p = exp(w.score[j] - lse[row]), keep = kept(&w, row, j), dp = 0;
            for (int64_t i = 0; i < w.d; i++) dp += go[i] * v[i];
            double ds = p * (dp * keep - sum) * w.capped_slope[j];
            for (int64_t i = 0; i < w.d; i++) {
                dq[row * w.d + i] += ds * k[i];
                dk[at + i] += ds * q[i];
                dv[at + i] += p * keep * go[i];
            }
        }
    }
    arena_free(arena);
    return KERNEL_OK;
}

static int max_reference(const Launch *l)
{
    Arena *arena = arena_new();
    Rows w = rows_of(l, arena);
    const int64_t n_heads = w.n_group * w.n_repeat;
    double *largest = l->out[0].data;
    for (int64_t h = 0; h < n_heads; h++) largest[h] = -INFINITY;
    for (int64_t row = 0; row < w.n_batch * w.n_query * n_heads; row++) {
        double *most = &largest[row % n_heads];
        score_row(&w, row);
        for (int64_t j = 0; j < w.n_key; j++)
            if (w.score[j] > *most) *most = w.score[j];
    }
    arena_free(arena);
    return KERNEL_OK;
}

const OpDef op_attention = {
    .name = "attention",
    .doc = "softmax(q k^T) v over the keys that a query sees; also the log-sum-exp of each row",
    .attrs = attention_fields,
    .attrs_size = sizeof(Attention),
    .dtypes = dtypes,
    .grad = grad,
    .flops = forward_flops,
    .reference = reference,
    .flags = OP_RANDOM | OP_ATTENTION,
};
const OpDef op_attention_grad = {
    .name = "attention_grad",
    .doc = "gradients of q, k and v from o, lse and the gradient of o",
    .attrs = attention_fields,
    .attrs_size = sizeof(Attention),
    .flops = backward_flops,
    .reference = grad_reference,
    .flags = OP_RANDOM | OP_ATTENTION,
};

static const OpDef op_attention_max = {
    .name = "attention_max",
    .doc = "the largest logit of each query head",
    .attrs = attention_fields,
    .attrs_size = sizeof(Attention),
    .dtypes = dtype_of_max,
    .flops = max_flops,
    .reference = max_reference,
};

const OpDef *const attention_ops[] = { &op_attention, &op_attention_grad, &op_attention_max, NULL };
