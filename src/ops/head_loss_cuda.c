/* head_loss_cuda.c - the head with its loss on a GPU: products through cuBLASLt, chunks of tokens
 * at a time, so that only a chunk's logits are ever there.
 *
 * Logits are f32, since their rounding would be that of the loss. The kernels between the products
 * (cross_entropy.cu) write their gradients, which are of the dtype of x, for a group of chunks;
 * then two products are made of all of them. Gradients in f32 lie where the logits are: a group is
 * one chunk.
 *
 * Why groups: each product of k tokens for the weight's gradient reads and writes that in f32, 8
 * bytes for 2 k operations. A GPU that does some 200 operations in the time of a byte (H100: 650
 * T/s, 3.35 TB/s) takes 800 / k longer for that: 60 % with 1280 tokens, 10 % with 8192. And the
 * product for x has only tokens * width / 32768 tiles of 128 x 256 for 132 multiprocessors. Logits
 * need not be as many: their product has a tile for each 256 rows of the vocabulary, too. */
#include "device/cuda/matmul.h"
#include "ops/token_loss_batch.h"
#include "ops/token_loss_cuda.h"
#include "ops/vocabulary_cuda.h"

/* At a time: bytes of logits; bytes of gradients in 16 bits, and their tokens. Of large
 * vocabularies these are fewer tokens, but never less than a tile of the products has. */
enum { LOGIT_BYTES = 256 << 20, GRADIENT_BYTES = 1 << 30, GROUP_TOKENS = 8192, TILE = 128 };

typedef struct Head {
    const Launch *l;
    const Tensor *x, *weight;
    int64_t n, d, v;      /* tokens, width, vocabulary */
    int64_t group, chunk; /* tokens at a time: of gradients, of logits */
} Head;

/* n in pieces of at most `most`, which are alike, and whole tiles. */
static int64_t piece_of(int64_t n, int64_t most)
{
    const int64_t whole = most < TILE ? TILE : most / TILE * TILE;
    if (n <= whole) return n;
    const int64_t n_pieces = (n + whole - 1) / whole, piece = (n + n_pieces - 1) / n_pieces;
    return (piece + TILE - 1) / TILE * TILE;
}

static Head head_of(const Launch *l)
{
    Head h = { .l = l, .x = &l->in[0], .weight = &l->in[1], .n = tensor_count(&l->in[2]) };
    h.v = h.weight->size[0];
    h.d = h.weight->size[1];
    const int64_t v = h.v > 0 ? h.v : 1, tokens = LOGIT_BYTES / (v * (int64_t)sizeof(float)),
                  more = GRADIENT_BYTES / (v * (int64_t)sizeof(uint16_t));
    h.group = piece_of(h.n, h.x->dtype == F32 ? tokens : more < GROUP_TOKENS ? more : GROUP_TOKENS);
    h.chunk = piece_of(h.group, tokens);
    return h;
}

static size_t logit_bytes(const Head *h)
{
    return ((size_t)(h->chunk * h->v) * sizeof(float) + 255) / 256 * 256;
}

static bool is_split(const Launch *l)
{
    return l->in[1].part[0] != NULL;
}

/* What ranks that divide the vocabulary need beside the logits, at the beginning. */
static size_t split_bytes(const Head *h)
{
    return is_split(h->l) ? (split_loss_bytes(h->chunk) + 255) / 256 * 256 : 0;
}

static void *logits_of(const Head *h)
{
    return (char *)h->l->scratch + split_bytes(h);
}

/* Those of token i of a group. */
static void *gradients_of(const Head *h, int64_t i)
{
    if (h->x->dtype == F32) return logits_of(h);
    return (char *)logits_of(h) + logit_bytes(h) + i * h->v * (int64_t)dtype_size(h->x->dtype);
}

static size_t scratch_of_loss(const Launch *l, int n_threads)
{
    const Head h = head_of(l);
    (void)n_threads;
    return split_bytes(&h) + logit_bytes(&h);
}

static size_t scratch(const Launch *l, int n_threads)
{
    const Head h = head_of(l);
    const size_t narrow = (size_t)(h.group * h.v) * dtype_size(h.x->dtype);
    return scratch_of_loss(l, n_threads) + (h.x->dtype == F32 ? 0 : narrow);
}

static void *row_of(const Tensor *t, int64_t row, int64_t width)
{
    return (char *)t->data + row * width * (int64_t)dtype_size(t->dtype);
}

/* The chunk's tokens, or its logits, as a factor. */
static MatmulFactor factor(const void *data, const Head *h, bool k_inner)
{
    return (MatmulFactor){ .data = data, .dtype = h->x->dtype, .k_inner = k_inner };
}

static int make_logits(const Head *h, int64_t first, int64_t n)
{
    const Matmul p = { .m = n,
                       .n = h->v,
                       .k = h->d,
                       .n_batches = 1,
                       .a = factor(row_of(h->x, first, h->d), h, true),
                       .b = factor(h->weight->data, h, true),
                       .c = logits_of(h),
                       .c_dtype = F32 };
    return matmul_run(h->l, &p);
}

/* dx = dlogits weight; dweight += dlogits^T x; of a group. */
static int multiply_back(const Head *h, int64_t first, int64_t n, int dx, int dweight)
{
    const Launch *l = h->l;
    const Matmul to_weight = { .m = h->v,
                               .n = h->d,
                               .k = n,
                               .n_batches = 1,
                               .a = factor(gradients_of(h, 0), h, false),
                               .b = factor(row_of(h->x, first, h->d), h, false),
                               .c = l->out[dweight].data,
                               .c_dtype = l->out[dweight].dtype,
                               .add = first > 0 || launch_adds(l, dweight) };
    const Matmul to_x = { .m = n,
                          .n = h->d,
                          .k = h->v,
                          .n_batches = 1,
                          .a = factor(gradients_of(h, 0), h, true),
                          .b = factor(h->weight->data, h, false),
                          .c = row_of(&l->out[dx], first, h->d),
                          .c_dtype = l->out[dx].dtype,
                          .add = launch_adds(l, dx) };
    const int status = matmul_run(l, &to_weight);
    return status ? status : matmul_run(l, &to_x);
}

/* The call of a kernel whose logits are those of the chunk; others come after them. */
static CallTensor chunk_tensor(Call *c, void *data, Dtype t, int64_t n, int64_t v)
{
    const Tensor chunk = { .data = data, .dtype = t, .n_dims = 2, .size = { n, v } };
    int n_parts = CALL_PARTS; /* none is looked for */
    return cuda_call_tensor(c, &n_parts, &chunk);
}

static Call chunk_call(const Head *h, int64_t first, int64_t n)
{
    const Launch *l = h->l;
    Call c = cuda_call(l);
    for (int k = 1; k + 1 < l->n_in; k++) c.in[k] = c.in[k + 1];
    c.in[0] = chunk_tensor(&c, logits_of(h), F32, n, h->v);
    c.number[0] = first;
    return c;
}

/* Loss and log-sum-exps of a chunk; the latter are in scratch where ranks divide the vocabulary. */
static int find_loss(const Head *h, int64_t first, int64_t n)
{
    const Launch *l = h->l;
    Call c = chunk_call(h, first, n);
    if (!is_split(l)) return token_loss_start(l, "token_loss_kernel", &c, n);
    return split_loss_start(l, &c, n, h->weight, 0, l->scratch);
}

static int keep_lse(const Head *h, int64_t first, int64_t n)
{
    if (!is_split(h->l)) return KERNEL_OK;
    return cuda_move(h->l, (double *)h->l->out[1].data + first, split_loss_of(h->l->scratch, n).lse,
                     sizeof(double) * (size_t)n);
}

static int run_loss(const Launch *l)
{
    const Head h = head_of(l);
    int status = KERNEL_OK;
    for (int64_t i = 0; !status && i < h.n; i += h.chunk) {
        const int64_t n = h.n - i < h.chunk ? h.n - i : h.chunk;
        status = make_logits(&h, i, n);
        if (!status) status = find_loss(&h, i, n);
        if (!status) status = keep_lse(&h, i, n);
    }
    return status;
}

/* What a multiprocessor's threads keep of a row, and how many blocks share it (cross_entropy.cu,
 * token_step_kernel). */
static int step_start(const Launch *l, Call *c, int64_t n)
{
    enum { OF_SUMS = 1024, PROCESSOR_THREADS = 1024 /* by their registers */ };
    const struct cudaDeviceProp *facts = &cuda_stream_of(l->stream)->cuda->facts;
    const int64_t v = c->in[0].size[1], room = (int64_t)facts->sharedMemPerBlockOptin - OF_SUMS,
                  row = v * (int64_t)sizeof(float);
    const int threads = v <= 2048 ? 256 : v <= 16384 ? 512 : 1024;
    const int64_t batch = (int64_t)threads * STEP_READS * STEP_WIDE * (int64_t)sizeof(float);
    int64_t kept = row < room ? row : room / batch * batch;
    if (v % STEP_WIDE || kept < 0) kept = 0; /* rows that do not begin on 16 bytes */
    int64_t blocks = (int64_t)facts->sharedMemPerMultiprocessor / (kept + 2 * OF_SUMS);
    if (blocks > PROCESSOR_THREADS / threads) blocks = PROCESSOR_THREADS / threads;
    if (blocks < 1) blocks = 1;
    blocks *= cuda_multiprocessors(l);
    c->number[1] = kept / (int64_t)sizeof(float);
    return cuda_start(l, "token_step_kernel", c, n < blocks ? n : blocks, threads, (size_t)kept);
}

/* A chunk of a group: n tokens from `first` on, of which `at` come before them in the group. */
typedef struct Chunk {
    int64_t first, at, n;
} Chunk;

/* The gradient of the logits takes the place of dx, result `dx`; a step's is result 1. */
static int whole_gradients(const Head *h, Chunk k, int dx)
{
    Call c = chunk_call(h, k.first, k.n);
    c.out[dx] = chunk_tensor(&c, gradients_of(h, k.at), h->x->dtype, k.n, h->v);
    if (dx == 1) return step_start(h->l, &c, k.n);
    return token_loss_start(h->l, "token_loss_grad_kernel", &c, k.n);
}

/* The same where ranks divide the vocabulary: a step finds the loss first. The gradient of the loss
 * is the last input. */
static int split_gradients(const Head *h, Chunk k, int dx)
{
    const Launch *l = h->l;
    const bool is_step = dx == 1;
    const int status = is_step ? find_loss(h, k.first, k.n) : KERNEL_OK;
    const double *lse =
        is_step ? split_loss_of(l->scratch, k.n).lse : (const double *)l->in[3].data + k.first;
    Call c = chunk_call(h, k.first, k.n);
    c.in[2] = c.in[l->n_in - 2];
    c.out[0] = chunk_tensor(&c, gradients_of(h, k.at), h->x->dtype, k.n, h->v);
    return status ? status : split_grad_start(l, &c, k.n, h->weight, 0, lse);
}

static int group_gradients(const Head *h, int64_t first, int64_t n, int dx)
{
    int status = KERNEL_OK;
    for (int64_t i = 0; !status && i < n; i += h->chunk) {
        const Chunk k = { first + i, i, n - i < h->chunk ? n - i : h->chunk };
        status = make_logits(h, k.first, k.n);
        if (!status)
            status = is_split(h->l) ? split_gradients(h, k, dx) : whole_gradients(h, k, dx);
    }
    return status;
}

/* Loss and gradients, or with the lse of an earlier pass gradients alone; those of x and the weight
 * are results `dx` and the next one. */
static int run_back(const Launch *l, int dx)
{
    const Head h = head_of(l);
    int status = KERNEL_OK;
    for (int64_t i = 0; !status && i < h.n; i += h.group) {
        const int64_t n = h.n - i < h.group ? h.n - i : h.group;
        status = group_gradients(&h, i, n, dx);
        if (!status) status = multiply_back(&h, i, n, dx, dx + 1);
    }
    return status;
}

/* in: x, weight, targets, lse, gradient of the loss; out: dx, dweight. */
static int run_grad(const Launch *l)
{
    return run_back(l, 0);
}

/* in: x, weight, targets, gradient of the loss; out: loss, dx, dweight. */
static int run_step(const Launch *l)
{
    return run_back(l, 1);
}

static bool serves_loss(const Launch *l)
{
    return !is_split(l) || split_loss_serves(&l->in[1], 0);
}

static bool serves_grad(const Launch *l)
{
    return serves_loss(l) && matmul_fits(l->in[0].dtype, l->in[1].dtype, l->out[0].dtype);
}

static bool serves_step(const Launch *l)
{
    return serves_loss(l) && matmul_fits(l->in[0].dtype, l->in[1].dtype, l->out[1].dtype);
}

/* clang-format off */
const KernelDef head_loss_cuda[] = {
    { "head_loss", "cuda", "f32 f32 i32>f32 f64", CPU_SCALAR, run_loss, scratch_of_loss, serves_loss },
    { "head_loss", "cuda", "bf16 bf16 i32>f32 f64", CPU_SCALAR, run_loss, scratch_of_loss, serves_loss },
    { "head_loss", "cuda", "f16 f16 i32>f32 f64", CPU_SCALAR, run_loss, scratch_of_loss, serves_loss },
    { "head_loss_grad", "cuda", "f32 f32 i32 f64 f32>any f32", CPU_SCALAR, run_grad, scratch, serves_grad },
    { "head_loss_grad", "cuda", "bf16 bf16 i32 f64 f32>any f32", CPU_SCALAR, run_grad, scratch, serves_grad },
    { "head_loss_grad", "cuda", "f16 f16 i32 f64 f32>any f32", CPU_SCALAR, run_grad, scratch, serves_grad },
    { "head_step", "cuda", "f32 f32 i32 f32>f32 any f32", CPU_SCALAR, run_step, scratch, serves_step },
    { "head_step", "cuda", "bf16 bf16 i32 f32>f32 any f32", CPU_SCALAR, run_step, scratch, serves_step },
    { "head_step", "cuda", "f16 f16 i32 f32>f32 any f32", CPU_SCALAR, run_step, scratch, serves_step },
    { 0 },
};
/* clang-format on */
