/* attention_graph_cuda.c - attention and its gradient from products, sums and selections, in the
 * order in which cuDNN knows them as one kernel without the matrix of scores.
 *
 * Sizes are batch, heads, queries, keys or width. cuDNN wants keys turned around, and lets heads
 * share them by their number alone. Whether the gradient is the same in every run is told by how
 * dq is made: at once, or added up in f32 first. */
#include "ops/attention_graph_cuda.h"

enum { ALIGN = 16, ALIGN_F32 = 4 };

typedef struct Builder {
    CudnnGraph *g;
    AttentionGraph *out;
    const AttentionShape *s;
    int64_t heads, scores[4], rows[4]; /* sizes of scores, and of a number per row of q */
} Builder;

static CudnnTensor *rows_of_heads(const Builder *b, int64_t heads_here, int64_t all_heads)
{
    const AttentionShape *s = b->s;
    const int64_t row = all_heads * s->d;
    return cudnn_tensor(b->g, (cudnnDataType_t)s->type,
                        (int64_t[]){ s->n_batch, heads_here, s->n_tokens, s->d },
                        (int64_t[]){ s->n_tokens * row, s->d, row, 1 }, ALIGN);
}

static CudnnTensor *of_queries(const Builder *b)
{
    return rows_of_heads(b, b->heads, b->s->all_groups * b->s->n_repeat);
}

static CudnnTensor *of_keys(const Builder *b)
{
    return rows_of_heads(b, b->s->n_groups, b->s->all_groups);
}

static CudnnTensor *of_keys_turned(const Builder *b)
{
    const AttentionShape *s = b->s;
    const int64_t row = s->all_groups * s->d;
    return cudnn_tensor(b->g, (cudnnDataType_t)s->type,
                        (int64_t[]){ s->n_batch, s->n_groups, s->d, s->n_tokens },
                        (int64_t[]){ s->n_tokens * row, s->d, 1, row }, ALIGN);
}

static CudnnTensor *of_rows(const Builder *b)
{
    const int64_t heads = b->s->all_groups * b->s->n_repeat;
    return cudnn_tensor(b->g, CUDNN_DATA_FLOAT, b->rows,
                        (int64_t[]){ b->s->n_tokens * heads, 1, heads, 1 }, ALIGN_F32);
}

static CudnnTensor *f32_scores(const Builder *b)
{
    return cudnn_inner(b->g, CUDNN_DATA_FLOAT, b->scores, NULL);
}

static CudnnTensor *bool_scores(const Builder *b)
{
    return cudnn_inner(b->g, CUDNN_DATA_BOOLEAN, b->scores, NULL);
}

/* Scores where `x` and `y` compare as wanted, and `nothing` elsewhere. */
static CudnnTensor *keep_where(const Builder *b, cudnnPointwiseMode_t compare, const CudnnTensor *x,
                               const CudnnTensor *y, const CudnnTensor *scores)
{
    const CudnnTensor *seen = cudnn_pointwise(b->g, compare, x, y, NULL, bool_scores(b));
    return cudnn_pointwise(b->g, CUDNN_POINTWISE_BINARY_SELECT, scores, b->out->nothing, seen,
                           f32_scores(b));
}

static const CudnnTensor *mask_window(const Builder *b, const CudnnTensor *scores)
{
    const CudnnTensor *query = cudnn_index(b->g, scores, 2), *key = cudnn_index(b->g, scores, 3);
    const CudnnTensor *end = cudnn_pointwise(b->g, CUDNN_POINTWISE_ADD, key, b->out->window, NULL,
                                             cudnn_inner(b->g, CUDNN_DATA_INT32, b->scores, NULL));
    return keep_where(b, CUDNN_POINTWISE_CMP_GT, end, query, scores);
}

static const CudnnTensor *mask_later(const Builder *b, const CudnnTensor *scores)
{
    const AttentionShape *s = b->s;
    if (s->causal)
        scores = keep_where(b, CUDNN_POINTWISE_CMP_GE, cudnn_index(b->g, scores, 2),
                            cudnn_index(b->g, scores, 3), scores);
    if (s->window && s->window < s->n_tokens) scores = mask_window(b, scores);
    return scores;
}

/* Only what was computed before may stand first in a comparison, so the keys' documents are laid
 * over their numbers, which are taken off again. */
static const CudnnTensor *mask_documents(const Builder *b, const CudnnTensor *scores)
{
    CudnnGraph *g = b->g;
    const CudnnTensor *key = cudnn_index(g, scores, 3);
    const CudnnTensor *sum =
        cudnn_pointwise(g, CUDNN_POINTWISE_ADD, key, b->out->key_document, NULL,
                        cudnn_inner(g, CUDNN_DATA_INT32, b->scores, NULL));
    const CudnnTensor *document = cudnn_pointwise(
        g, CUDNN_POINTWISE_SUB, sum, key, NULL, cudnn_inner(g, CUDNN_DATA_INT32, b->scores, NULL));
    return keep_where(b, CUDNN_POINTWISE_CMP_EQ, document, b->out->query_document, scores);
}

/* In gradients: with documents of keys in their graph cuDNN 9.14 gave zeros for most of dq (seen on
 * an H100); what is added to each score it has right. */
static const CudnnTensor *add_hidden(const Builder *b, const CudnnTensor *scores)
{
    const int64_t n = b->s->n_tokens, size[] = { b->s->n_batch, 1, n, n },
                  stride[] = { n * n, n * n, n, 1 };
    b->out->hidden = cudnn_tensor(b->g, (cudnnDataType_t)b->s->type, size, stride, ALIGN);
    return cudnn_pointwise(b->g, CUDNN_POINTWISE_ADD, scores, b->out->hidden, NULL, f32_scores(b));
}

static const CudnnTensor *make_scores(const Builder *b)
{
    const CudnnTensor *products = cudnn_matmul(b->g, b->out->q, b->out->k, f32_scores(b));
    const CudnnTensor *scores =
        cudnn_pointwise(b->g, CUDNN_POINTWISE_MUL, products, b->out->scale, NULL, f32_scores(b));
    if (!b->s->documents) return scores;
    return b->s->backward ? add_hidden(b, scores) : mask_documents(b, scores);
}

static CudnnTensor *f32_rows(const Builder *b)
{
    return cudnn_inner(b->g, CUDNN_DATA_FLOAT, b->rows, NULL);
}

static void forward(const Builder *b)
{
    CudnnGraph *g = b->g;
    AttentionGraph *o = b->out;
    const cudnnDataType_t type = (cudnnDataType_t)b->s->type;
    o->v = of_keys(b);
    const CudnnTensor *scores = mask_later(b, make_scores(b));
    const CudnnTensor *top = cudnn_reduce(g, CUDNN_REDUCE_TENSOR_MAX, scores, f32_rows(b));
    const CudnnTensor *below =
        cudnn_pointwise(g, CUDNN_POINTWISE_SUB, scores, top, NULL, f32_scores(b));
    const CudnnTensor *weight =
        cudnn_pointwise(g, CUDNN_POINTWISE_EXP, below, NULL, NULL, f32_scores(b));
    const CudnnTensor *sum = cudnn_reduce(g, CUDNN_REDUCE_TENSOR_ADD, weight, f32_rows(b));
    const CudnnTensor *logarithm =
        cudnn_pointwise(g, CUDNN_POINTWISE_LOG, sum, NULL, NULL, f32_rows(b));
    cudnn_pointwise(g, CUDNN_POINTWISE_ADD, top, logarithm, NULL, o->lse);
    const CudnnTensor *share = cudnn_pointwise(g, CUDNN_POINTWISE_DIV, weight, sum, NULL,
                                               cudnn_inner(g, type, b->scores, NULL));
    cudnn_matmul(g, share, o->v, o->o);
}

/* The same numbers with queries and keys exchanged, in the type of q. */
static const CudnnTensor *turned(const Builder *b, const CudnnTensor *scores)
{
    const int64_t s = b->s->n_tokens, stride[] = { b->heads * s * s, s * s, 1, s };
    return cudnn_reshape(b->g, scores,
                         cudnn_inner(b->g, (cudnnDataType_t)b->s->type, b->scores, stride));
}

/* What keys or values get from all queries of all heads that share them. */
static void sum_over_queries(const Builder *b, const CudnnTensor *scores, const CudnnTensor *rows,
                             CudnnTensor *to)
{
    const AttentionShape *s = b->s;
    if (s->n_repeat == 1) {
        cudnn_matmul(b->g, scores, rows, to);
        return;
    }
    const int64_t size[] = { s->n_batch, b->heads, s->n_tokens, s->d },
                  stride[] = { s->n_tokens * b->heads * s->d, s->n_tokens * s->d, s->d, 1 };
    CudnnTensor *each = cudnn_inner(b->g, (cudnnDataType_t)s->type, size, stride);
    cudnn_reduce(b->g, CUDNN_REDUCE_TENSOR_ADD, cudnn_matmul(b->g, scores, rows, each), to);
}

static void make_flow(const Builder *b)
{
    const AttentionShape *s = b->s;
    const int64_t size[] = { s->n_batch, b->heads, s->n_tokens, s->d },
                  dense[] = { b->heads * s->n_tokens, s->n_tokens, 1, 1 };
    CudnnGraph *g = b->g;
    const CudnnTensor *product =
        cudnn_pointwise(g, CUDNN_POINTWISE_MUL, b->out->out_grad, b->out->o, NULL,
                        cudnn_inner(g, CUDNN_DATA_FLOAT, size, NULL));
    const CudnnTensor *sum = cudnn_reduce(g, CUDNN_REDUCE_TENSOR_ADD, product, f32_rows(b));
    b->out->flow = cudnn_tensor(g, CUDNN_DATA_FLOAT, b->rows, dense, ALIGN);
    cudnn_pointwise(g, CUDNN_POINTWISE_MUL, sum, b->out->one, NULL, b->out->flow);
}

static void make_q_grad(const Builder *b, const CudnnTensor *score_grad)
{
    const AttentionShape *s = b->s;
    CudnnGraph *g = b->g;
    const int64_t row = s->all_groups * s->d,
                  size[] = { s->n_batch, s->n_groups, s->n_tokens, s->d },
                  stride[] = { s->n_tokens * row, s->d, row, 1 };
    const CudnnTensor *k =
        cudnn_reshape(g, b->out->k, cudnn_inner(g, (cudnnDataType_t)s->type, size, stride));
    if (!s->any_order) {
        cudnn_matmul(g, score_grad, k, b->out->q_grad);
        return;
    }
    const int64_t n = s->n_tokens, whole[] = { s->n_batch, b->heads, n, s->d },
                  dense[] = { b->heads * n * s->d, n * s->d, s->d, 1 };
    b->out->q_sum = cudnn_tensor(g, CUDNN_DATA_FLOAT, whole, dense, ALIGN);
    cudnn_matmul(g, score_grad, k, b->out->q_sum);
    cudnn_pointwise(g, CUDNN_POINTWISE_IDENTITY, b->out->q_sum, NULL, NULL, b->out->q_grad);
}

static void backward(const Builder *b)
{
    CudnnGraph *g = b->g;
    AttentionGraph *o = b->out;
    o->v = of_keys_turned(b);
    o->out_grad = of_queries(b);
    o->q_grad = of_queries(b);
    o->k_grad = of_keys(b);
    o->v_grad = of_keys(b);
    make_flow(b);
    const CudnnTensor *below =
        cudnn_pointwise(g, CUDNN_POINTWISE_SUB, make_scores(b), o->lse, NULL, f32_scores(b));
    const CudnnTensor *share =
        cudnn_pointwise(g, CUDNN_POINTWISE_EXP, mask_later(b, below), NULL, NULL, f32_scores(b));
    sum_over_queries(b, turned(b, share), o->out_grad, o->v_grad);
    const CudnnTensor *slope = cudnn_matmul(g, o->out_grad, o->v, f32_scores(b));
    slope = cudnn_pointwise(g, CUDNN_POINTWISE_SUB, slope, o->flow, NULL, f32_scores(b));
    slope = cudnn_pointwise(g, CUDNN_POINTWISE_MUL, slope, share, NULL, f32_scores(b));
    slope = cudnn_pointwise(g, CUDNN_POINTWISE_MUL, slope, o->scale, NULL, f32_scores(b));
    sum_over_queries(b, turned(b, slope), o->q, o->k_grad);
    make_q_grad(b, slope);
}

cudnnStatus_t attention_graph_make(const CudnnTarget *target, Arena *a, const AttentionShape *shape,
                                   AttentionGraph *out)
{
    CudnnGraph *g = cudnn_graph_new(target, a);
    const int64_t heads = shape->n_groups * shape->n_repeat, n = shape->n_tokens;
    const Builder b = { .g = g,
                        .out = out,
                        .s = shape,
                        .heads = heads,
                        .scores = { shape->n_batch, heads, n, n },
                        .rows = { shape->n_batch, heads, n, 1 } };
    *out = (AttentionGraph){ .shape = *shape };
    out->q = of_queries(&b);
    out->k = of_keys_turned(&b);
    out->o = of_queries(&b);
    out->lse = of_rows(&b);
    out->scale = cudnn_number(g, CUDNN_DATA_FLOAT);
    out->nothing = cudnn_number(g, CUDNN_DATA_FLOAT);
    if (shape->backward) out->one = cudnn_number(g, CUDNN_DATA_FLOAT);
    if (shape->window && shape->window < n) out->window = cudnn_number(g, CUDNN_DATA_INT32);
    if (shape->documents && !shape->backward) {
        const int64_t queries[] = { shape->n_batch, 1, n, 1 }, keys[] = { shape->n_batch, 1, 1, n },
                      of_query[] = { n, n, 1, 1 }, of_key[] = { n, n, n, 1 };
        out->query_document = cudnn_tensor(g, CUDNN_DATA_INT32, queries, of_query, ALIGN_F32);
        out->key_document = cudnn_tensor(g, CUDNN_DATA_INT32, keys, of_key, ALIGN_F32);
    }
    (shape->backward ? backward : forward)(&b);
    return cudnn_plan(g, &out->plan);
}

static int64_t largest_below(int64_t divisor, int64_t of)
{
    do divisor--;
    while (of % divisor);
    return divisor;
}

void attention_shape_fit(AttentionShape *s, int64_t most_bytes)
{
    const int64_t batch = s->n_batch, bytes = 2 * s->n_tokens * s->n_tokens,
                  of_group = s->any_order ? 0 : s->n_repeat * bytes,
                  of_all = s->documents ? bytes : 0;
    if (!s->backward) return;
    while (s->n_batch > 1 && s->n_batch * (of_all + s->n_groups * of_group) > most_bytes)
        s->n_batch = largest_below(s->n_batch, batch);
    while (s->n_groups > 1 && of_group && of_all + s->n_groups * of_group > most_bytes)
        s->n_groups = largest_below(s->n_groups, s->all_groups);
}

size_t attention_flow_bytes(const AttentionShape *s)
{
    return sizeof(float) * (size_t)(s->n_batch * s->n_groups * s->n_repeat * s->n_tokens);
}

size_t attention_sum_bytes(const AttentionShape *s)
{
    return s->any_order ? attention_flow_bytes(s) * (size_t)s->d : 0;
}

size_t attention_hidden_bytes(const AttentionShape *s)
{
    const size_t n = (size_t)s->n_tokens;
    return s->backward && s->documents ? 2 * (size_t)s->n_batch * n * n : 0;
}
