/* selected_attention.c - softmax(q k^T) v over keys that a list names; letters and gradients are
 * those of attention.c, n the keys of a list. */
#include "ops/selected_attention.h"
#include "base/arena.h"
#include "ops/attention_join.h"
#include "ops/dropout_mask.h"
#include "ops/softmax.h"
#include <string.h>

static const OpDef op_selected_attention_grad, op_selected_shares;

static const Field attrs[] = {
    FIELD_FLOAT(SelectedAttention, scale, NULL, 0, 0, "of the products; 0: 1/sqrt(d)"),
    FIELD_FLOAT(SelectedAttention, dropout, NULL, 0, 1,
                "share of the probabilities that become zero"),
    FIELD_INT(SelectedAttention, salt, NULL, 0, 0, "tells the dropout of layers apart"),
    { 0 },
};

Value *selected_attention(Graph *g, Value *q, Value *k, Value *v, Value *selected,
                          const SelectedAttention *a)
{
    Value *in[] = { q, k, v, selected };
    return graph_add_dims(g, &op_selected_attention, "bsgrd!,bt!gd,bt!gd,bsn!->bsgrd,bsgr", NULL, a,
                          4, in)
        ->out[0];
}

static const Field share_attrs[] = {
    FIELD_FLOAT(SelectedAttention, scale, NULL, 0, 0, "of the products; 0: 1/sqrt(d)"),
    { 0 },
};

Value *selected_shares(Graph *g, Value *q, Value *k, Value *lse, Value *selected, double scale)
{
    Value *in[] = { q, k, lse, selected };
    return graph_add(g, &op_selected_shares, &(SelectedAttention){ .scale = scale }, 4, in)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    CHECK(dout[1] == NULL); /* lse is for the gradient only */
    const Node *whole = attention_whole(g, n);
    Value *in[] = { n->in[0], n->in[1], n->in[2], n->in[3], whole->out[0], whole->out[1], dout[0] };
    Node *made = graph_add_dims(g, &op_selected_attention_grad,
                                "bsgrd!,bt!gd,bt!gd,bsn!,bsgrd,bsgr,bsgrd->bsgrd,btgd,btgd", NULL,
                                n->attrs, 7, in);
    for (int k = 0; k < 3; k++) din[k] = made->out[k];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[0]->dtype;
    out[1] = dtype_for_sums(n->in[0]->dtype);
}

/* Of as many keys as a query sees of those before it, at most. */
static int64_t products(const Node *n, int64_t n_products)
{
    const Value *q = n->in[0];
    const int64_t s = q->dim[1].size, t = n->in[1]->dim[1].size, most = n->in[3]->dim[2].size;
    int64_t pairs = 0;
    for (int64_t i = t - s + 1; i <= t; i++) pairs += i < 0 ? 0 : i < most ? i : most;
    return 2 * n_products * pairs * q->dim[0].size * q->dim[2].size * q->dim[3].size *
           q->dim[4].size;
}

static int64_t forward_flops(const Node *n)
{
    return products(n, 2);
}

static void share_dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

static int64_t share_flops(const Node *n)
{
    return products(n, 1);
}

static int64_t backward_flops(const Node *n)
{
    return products(n, 5);
}

/* One launch; row b s g r of q has the keys of its token's list, which is input 3 of all ops. */
typedef struct Rows {
    const Launch *l;
    const SelectedAttention *a;
    const Tensor *q, *k;
    const double *query, *keys, *values;
    int64_t n_query, n_key, n_group, n_repeat, d, n;
    double scale;
    uint64_t key;
    double *score; /* of a row */
} Rows;

static Rows rows_of(const Launch *l, Arena *arena)
{
    const Tensor *q = &l->in[0], *k = &l->in[1];
    const SelectedAttention *a = l->attrs;
    return (Rows){
        .l = l,
        .a = a,
        .q = q,
        .k = k,
        .query = q->data,
        .keys = k->data,
        .values = l->in[2].data,
        .n_query = q->size[1],
        .n_key = k->size[1],
        .n_group = q->size[2],
        .n_repeat = q->size[3],
        .d = q->size[4],
        .n = l->in[3].size[2],
        .scale = a->scale != 0 ? a->scale : 1 / sqrt((double)q->size[4]),
        .key = a->dropout > 0 ? dropout_key(l->now, a->salt) : 0,
        .score = NEW_N(arena, double, l->in[3].size[2]),
    };
}

/* The list of a row. */
static const int32_t *list_of(const Rows *w, int64_t row)
{
    return (const int32_t *)w->l->in[3].data + row / (w->n_repeat * w->n_group) * w->n;
}

/* Where key j of a row lies in k and v. */
static int64_t key_at(const Rows *w, int64_t row, int64_t j)
{
    const int64_t group = row / w->n_repeat % w->n_group,
                  b = row / (w->n_repeat * w->n_group * w->n_query);
    return ((b * w->n_key + j) * w->n_group + group) * w->d;
}

/* What dropout multiplies the probability of key j with. */
static double kept(const Rows *w, int64_t row, int64_t j)
{
    const double p = w->a->dropout;
    if (p <= 0) return 1;
    const int64_t first = dropout_row(w->l->now, w->q, row, global_size(w->k, 1));
    return dropout_keeps(w->key, first + global_index(w->k, 1, j), p) ? 1 / (1 - p) : 0;
}

/* Fills score, minus infinity where the list has no key; false: it has one that is not there. */
static bool score_row(const Rows *w, int64_t row)
{
    const double *q = w->query + row * w->d;
    const int32_t *list = list_of(w, row);
    for (int64_t i = 0; i < w->n; i++) {
        w->score[i] = -INFINITY;
        if (list[i] < 0) continue;
        if (list[i] >= w->n_key) return false;
        const double *k = w->keys + key_at(w, row, list[i]);
        double dot = 0;
        for (int64_t e = 0; e < w->d; e++) dot += q[e] * k[e];
        w->score[i] = w->scale * dot;
    }
    return true;
}

static int reference(const Launch *l)
{
    Arena *arena = arena_new();
    Rows w = rows_of(l, arena);
    double *o = l->out[0].data, *lse = l->out[1].data;
    int status = KERNEL_OK;
    for (int64_t row = 0; row < tensor_count(&l->out[1]) && !status; row++, o += w.d) {
        const int32_t *list = list_of(&w, row);
        if (!score_row(&w, row)) status = KERNEL_BAD_INDEX;
        for (int64_t e = 0; e < w.d; e++) o[e] = 0;
        if (status) break;
        lse[row] = log_sum_exp(w.score, w.n);
        for (int64_t i = 0; i < w.n; i++) {
            if (list[i] < 0) continue;
            const double p = exp(w.score[i] - lse[row]) * kept(&w, row, list[i]);
            const double *v = w.values + key_at(&w, row, list[i]);
            for (int64_t e = 0; e < w.d; e++) o[e] += p * v[e];
        }
    }
    arena_free(arena);
    return status;
}

static int grad_reference(const Launch *l)
{
    Arena *arena = arena_new();
    Rows w = rows_of(l, arena);
    const double *o = l->in[4].data, *lse = l->in[5].data, *out_grad = l->in[6].data;
    double *dq = l->out[0].data, *dk = l->out[1].data, *dv = l->out[2].data;
    int status = KERNEL_OK;
    for (int k = 0; k < 3; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    for (int64_t row = 0; row < tensor_count(&l->in[5]) && !status; row++) {
        const double *q = w.query + row * w.d, *go = out_grad + row * w.d;
        const int32_t *list = list_of(&w, row);
        double sum = 0; /* D */
        for (int64_t e = 0; e < w.d; e++) sum += go[e] * o[row * w.d + e];
        if (!score_row(&w, row)) status = KERNEL_BAD_INDEX;
        for (int64_t i = 0; i < w.n && !status; i++) {
            if (list[i] < 0) continue;
            const int64_t at = key_at(&w, row, list[i]);
            const double p = exp(w.score[i] - lse[row]), keep = kept(&w, row, list[i]);
            double dp = 0;
            for (int64_t e = 0; e < w.d; e++) dp += go[e] * w.values[at + e];
            const double ds = p * (dp * keep - sum) * w.scale;
            for (int64_t e = 0; e < w.d; e++) {
                dq[row * w.d + e] += ds * w.keys[at + e];
                dk[at + e] += ds * q[e];
                dv[at + e] += p * keep * go[e];
            }
        }
    }
    arena_free(arena);
    return status;
}

static int shares_reference(const Launch *l)
{
    Arena *arena = arena_new();
    Rows w = rows_of(l, arena);
    const double *lse = l->in[2].data;
    double *shares = l->out[0].data;
    const int64_t heads = w.n_group * w.n_repeat;
    int status = KERNEL_OK;
    memset(shares, 0, tensor_bytes(&l->out[0]));
    for (int64_t row = 0; row < tensor_count(&l->in[2]) && !status; row++) {
        double *to = shares + row / heads * w.n;
        if (!score_row(&w, row)) status = KERNEL_BAD_INDEX;
        for (int64_t i = 0; i < w.n && !status; i++)
            if (list_of(&w, row)[i] >= 0) to[i] += exp(w.score[i] - lse[row]);
    }
    arena_free(arena);
    return status;
}

const OpDef op_selected_attention = {
    .name = "selected_attention",
    .doc = "softmax(q k^T) v over the keys of each query's list; also the log-sum-exp of each row",
    .attrs = attrs,
    .attrs_size = sizeof(SelectedAttention),
    .dtypes = dtypes,
    .grad = grad,
    .flops = forward_flops,
    .reference = reference,
    .flags = OP_RANDOM | OP_ATTENTION,
};

static const OpDef op_selected_attention_grad = {
    .name = "selected_attention_grad",
    .doc = "gradients of q, k and v from o, lse and the gradient of o",
    .attrs = attrs,
    .attrs_size = sizeof(SelectedAttention),
    .flops = backward_flops,
    .reference = grad_reference,
    .flags = OP_RANDOM | OP_ATTENTION,
};

static const OpDef op_selected_shares = {
    .name = "selected_shares",
    .doc = "sums over the heads of the probabilities of the keys of each query's list",
    .dims = "bsgrd!,bt!gd,bsgr,bsn!->bsn!",
    .attrs = share_attrs,
    .attrs_size = sizeof(SelectedAttention),
    .dtypes = share_dtypes,
    .flops = share_flops,
    .reference = shares_reference,
    .flags = OP_ATTENTION,
};

const OpDef *const selected_attention_ops[] = { &op_selected_attention, &op_selected_attention_grad,
                                                &op_selected_shares, NULL };
