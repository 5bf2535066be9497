/* attention_cudnn_cuda.c - attention and its gradient through cuDNN, which uses tensor cores; what
 * it has no plan for is left to the kernels of attention.cu.
 *
 * A gradient that is to be the same in every run takes 2 bytes per score; a launch that would take
 * more than a GiB is done in parts, of sequences and of groups of heads. */
#include "base/environment.h"
#include "device/cuda/cuda.h"
#include "ops/attention.h"
#include "ops/attention_graph_cuda.h"
#include "ops/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_STEP = 8, MOST_WIDTH = 256, ALIGN = 256 };
/* Up to this version gradients are wrong where the last tile of keys is not whole, as cuDNN's own
 * front end has it; under the causal mask alone they were right on an H100. */
enum { LAST_WITHOUT_TILES = 91500, TILE = 128 };

static int64_t most_score_bytes(void)
{
    const char *asked = environment_get("MODALITIES_CUDNN");
    return (int64_t)(asked ? atoi(asked) : 1024) << 20;
}

static bool is_backward(const Launch *l)
{
    return l->n_out == 3;
}

/* Tokens of other ranks would be seen, too. */
static bool is_whole(const Launch *l)
{
    for (int k = 0; k < l->n_in; k++)
        if (l->in[k].part[1]) return false;
    return true;
}

static bool has_right_shape(const Launch *l)
{
    const Attention *a = l->attrs;
    const Tensor *q = &l->in[0], *k = &l->in[1];
    const int64_t d = q->size[4];
    return q->size[1] == k->size[1] && q->size[1] > 1 && d % WIDTH_STEP == 0 && d <= MOST_WIDTH &&
           a->dropout == 0 && a->soft_cap == 0 && a->alibi == 0 && !a->chunks && is_whole(l) &&
           tensor_count(q) > 0;
}

static AttentionShape shape_of(const Launch *l)
{
    const Attention *a = l->attrs;
    const Tensor *q = &l->in[0];
    AttentionShape s;
    memset(&s, 0, sizeof s);
    s.n_batch = q->size[0];
    s.n_tokens = q->size[1];
    s.n_groups = s.all_groups = q->size[2];
    s.n_repeat = q->size[3];
    s.d = q->size[4];
    s.window = a->window;
    s.type = q->dtype == BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
    s.causal = a->causal;
    s.documents = l->n_in == 5 || l->n_in == 8;
    s.backward = is_backward(l);
    s.any_order = s.backward && cuda_stream_of(l->stream)->cuda->any_order;
    attention_shape_fit(&s, most_score_bytes());
    return s;
}

static bool is_wrong(const Cuda *d, const AttentionShape *s)
{
    const bool is_hidden = s->causal && !s->documents;
    return s->backward && !is_hidden && s->n_tokens % TILE &&
           d->calls->cudnnGetVersion() <= LAST_WITHOUT_TILES;
}

/* The graph for a launch, made at the first call; NULL: cuDNN has no plan for it. */
static const AttentionGraph *graph_of(const Launch *l)
{
    Cuda *d = cuda_stream_of(l->stream)->cuda;
    const CudnnTarget *cudnn = cuda_cudnn(d);
    if (!cudnn) return NULL;
    const AttentionShape shape = shape_of(l);
    if (is_wrong(d, &shape)) return NULL;
    const Str key = { (const char *)&shape, sizeof shape };
    AttentionGraph *g = map_get(d->kept, key);
    if (!g) {
        g = NEW(d->arena, AttentionGraph);
        if (attention_graph_make(cudnn, d->arena, &shape, g)) g->plan.it = NULL;
        map_set(d->kept, key, g);
    }
    return g->plan.it ? g : NULL;
}

static bool serves(const Launch *l)
{
    return l->stream && has_right_shape(l) && graph_of(l);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Of a gradient: what is summed up, which keys are hidden, then the library's own. */
static size_t hidden_at(const AttentionShape *s)
{
    return aligned(attention_flow_bytes(s)) + aligned(attention_sum_bytes(s));
}

static size_t own_scratch(const AttentionShape *s)
{
    return hidden_at(s) + aligned(attention_hidden_bytes(s));
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    const AttentionGraph *g = graph_of(l);
    return g->plan.workspace_bytes + (g->shape.backward ? own_scratch(&g->shape) : 0);
}

static const void *element(const Tensor *t, int64_t i)
{
    return (const char *)t->data + (size_t)i * dtype_size(t->dtype);
}

/* Where a part begins: sequence b, group g. */
typedef struct Part0 {
    int64_t sequence, group;
} Part0;

/* Of tensors whose heads have so many rows per group, of `width` numbers. */
static const void *start(const Tensor *t, const Part0 *p, int64_t per_group, int64_t width)
{
    const int64_t per_token = t->size[2] * per_group * width;
    return element(t, p->sequence * t->size[1] * per_token + p->group * per_group * width);
}

static void bind_backward(const Launch *l, const AttentionGraph *g, const Part0 *p, CudnnBound *b)
{
    const AttentionShape *s = &g->shape;
    const int at = l->n_in - 3;
    char *free = l->scratch;
    cudnn_bind(b, g->o, start(&l->in[at], p, s->n_repeat, s->d));
    cudnn_bind(b, g->lse, start(&l->in[at + 1], p, s->n_repeat, 1));
    cudnn_bind(b, g->out_grad, start(&l->in[at + 2], p, s->n_repeat, s->d));
    cudnn_bind(b, g->q_grad, start(&l->out[0], p, s->n_repeat, s->d));
    cudnn_bind(b, g->k_grad, start(&l->out[1], p, 1, s->d));
    cudnn_bind(b, g->v_grad, start(&l->out[2], p, 1, s->d));
    cudnn_bind(b, g->flow, free);
    if (g->q_sum) cudnn_bind(b, g->q_sum, free + aligned(attention_flow_bytes(s)));
    if (g->hidden) cudnn_bind(b, g->hidden, free + hidden_at(s));
}

static cudnnStatus_t run_part(const Launch *l, const CudnnTarget *cudnn, const AttentionGraph *g,
                              const Part0 *p)
{
    const Attention *a = l->attrs;
    const AttentionShape *s = &g->shape;
    AttentionNumbers n = { .scale = a->scale != 0 ? (float)a->scale : 1 / sqrtf((float)s->d),
                           .nothing = -INFINITY,
                           .one = 1,
                           .window = (int32_t)a->window };
    CudnnBound b = { .n = 0 };
    char *workspace = l->scratch;
    cudnn_bind(&b, g->q, start(&l->in[0], p, s->n_repeat, s->d));
    cudnn_bind(&b, g->k, start(&l->in[1], p, 1, s->d));
    cudnn_bind(&b, g->v, start(&l->in[2], p, 1, s->d));
    cudnn_bind(&b, g->scale, &n.scale);
    if (g->one) cudnn_bind(&b, g->one, &n.one);
    if (s->causal || g->query_document) cudnn_bind(&b, g->nothing, &n.nothing);
    if (g->window) cudnn_bind(&b, g->window, &n.window);
    if (g->query_document) {
        cudnn_bind(&b, g->query_document, element(&l->in[3], p->sequence * s->n_tokens));
        cudnn_bind(&b, g->key_document, element(&l->in[4], p->sequence * s->n_tokens));
    }
    if (s->backward) {
        bind_backward(l, g, p, &b);
        workspace += own_scratch(s);
    } else {
        cudnn_bind(&b, g->o, start(&l->out[0], p, s->n_repeat, s->d));
        cudnn_bind(&b, g->lse, start(&l->out[1], p, s->n_repeat, 1));
    }
    return cudnn_run(cudnn, &g->plan, &b, workspace);
}

/* Of the sequences from `first` on. */
static int hide(const Launch *l, const AttentionShape *s, int64_t first)
{
    enum { MINUS_INFINITY_BF16 = 0xff80, MINUS_INFINITY_F16 = 0xfc00 };
    Call c = cuda_call(l);
    c.scratch = (char *)l->scratch + hidden_at(s);
    c.number[0] = first * s->n_tokens;
    c.number[1] = s->n_batch;
    c.number[2] = s->n_tokens;
    c.number[3] = s->type == CUDNN_DATA_BFLOAT16 ? MINUS_INFINITY_BF16 : MINUS_INFINITY_F16;
    const int64_t n = s->n_batch * s->n_tokens * s->n_tokens;
    return cuda_start(l, "hidden_keys_kernel", &c, cuda_blocks(l, n, 256), 256, 0);
}

static int run(const Launch *l)
{
    const CudaStream *stream = cuda_stream_of(l->stream);
    const CudnnTarget *cudnn = cuda_cudnn(stream->cuda);
    const AttentionGraph *g = graph_of(l);
    const AttentionShape *s = &g->shape;
    cudnnStatus_t status = cudnn->calls->cudnnSetStream(cudnn->handle, stream->queue);
    for (int64_t b = 0; b < l->in[0].size[0]; b += s->n_batch) {
        const int hidden = g->hidden ? hide(l, s, b) : KERNEL_OK;
        if (hidden) return hidden;
        for (int64_t h = 0; h < s->all_groups && !status; h += s->n_groups)
            status = run_part(l, cudnn, g, &(Part0){ b, h });
    }
    return cuda_cudnn_status(status);
}

/* clang-format off */
const KernelDef attention_cudnn_cuda[] = {
    { "attention", "cuda", "bf16 bf16 bf16>bf16 f32", CPU_SCALAR, run, scratch, serves },
    { "attention", "cuda", "f16 f16 f16>f16 f32", CPU_SCALAR, run, scratch, serves },
    { "attention", "cuda", "bf16 bf16 bf16 i32 i32>bf16 f32", CPU_SCALAR, run, scratch, serves },
    { "attention", "cuda", "f16 f16 f16 i32 i32>f16 f32", CPU_SCALAR, run, scratch, serves },
    { "attention_grad", "cuda", "bf16 bf16 bf16 bf16 f32 bf16>bf16 bf16 bf16", CPU_SCALAR, run, scratch, serves },
    { "attention_grad", "cuda", "f16 f16 f16 f16 f32 f16>f16 f16 f16", CPU_SCALAR, run, scratch, serves },
    { "attention_grad", "cuda", "bf16 bf16 bf16 i32 i32 bf16 f32 bf16>bf16 bf16 bf16", CPU_SCALAR, run, scratch, serves },
    { "attention_grad", "cuda", "f16 f16 f16 i32 i32 f16 f32 f16>f16 f16 f16", CPU_SCALAR, run, scratch, serves },
    { 0 },
};
/* clang-format on */
