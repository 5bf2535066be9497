/* head_loss_cuda.c - the head with its loss on a GPU: products through cuBLASLt, chunks of tokens
 * at a time, so that only a chunk's logits are ever there.
 *
 * Logits are f32, since their rounding would be that of the loss. The kernels between the products
 * (cross_entropy.cu) write their gradients, which are of the dtype of x, where the logits are, or
 * after them. */
#include "device/cuda/matmul.h"
#include "ops/token_loss_cuda.h"

/* Bytes of logits at a time: large products, and little memory. */
enum { CHUNK_BYTES = 256 << 20, LEAST_TOKENS = 128 };

typedef struct Head {
    const Launch *l;
    const Tensor *x, *weight;
    int64_t n, d, v, chunk; /* tokens, width, vocabulary; tokens at a time */
} Head;

static Head head_of(const Launch *l)
{
    Head h = { .l = l, .x = &l->in[0], .weight = &l->in[1], .n = tensor_count(&l->in[2]) };
    h.v = h.weight->size[0];
    h.d = h.weight->size[1];
    const int64_t row = h.v * (int64_t)sizeof(float);
    h.chunk = row ? CHUNK_BYTES / row / LEAST_TOKENS * LEAST_TOKENS : h.n;
    if (h.chunk < LEAST_TOKENS) h.chunk = LEAST_TOKENS;
    if (h.chunk > h.n) h.chunk = h.n;
    return h;
}

static size_t logit_bytes(const Head *h)
{
    return ((size_t)(h->chunk * h->v) * sizeof(float) + 255) / 256 * 256;
}

static void *gradients_of(const Head *h)
{
    return h->x->dtype == F32 ? h->l->scratch : (char *)h->l->scratch + logit_bytes(h);
}

static size_t scratch_of_loss(const Launch *l, int n_threads)
{
    const Head h = head_of(l);
    (void)n_threads;
    return logit_bytes(&h);
}

static size_t scratch(const Launch *l, int n_threads)
{
    const Head h = head_of(l);
    const size_t narrow = (size_t)(h.chunk * h.v) * dtype_size(h.x->dtype);
    return scratch_of_loss(l, n_threads) + (h.x->dtype == F32 ? 0 : narrow);
}

static void *row_of(const Tensor *t, int64_t row, int64_t width)
{
    return (char *)t->data + row * width * (int64_t)dtype_size(t->dtype);
}

/* The chunk's tokens, or its logits, as a factor. */
static MatmulFactor factor(const void *data, const Head *h, bool k_inner)
{
    return (MatmulFactor){ data, h->x->dtype, k_inner };
}

static int make_logits(const Head *h, int64_t first, int64_t n)
{
    const Matmul p = { .m = n,
                       .n = h->v,
                       .k = h->d,
                       .n_batches = 1,
                       .a = factor(row_of(h->x, first, h->d), h, true),
                       .b = factor(h->weight->data, h, true),
                       .c = h->l->scratch,
                       .c_dtype = F32 };
    return matmul_run(h->l, &p);
}

/* dx = dlogits weight; dweight += dlogits^T x. */
static int multiply_back(const Head *h, int64_t first, int64_t n, int dx, int dweight)
{
    const Launch *l = h->l;
    const Matmul to_weight = { .m = h->v,
                               .n = h->d,
                               .k = n,
                               .n_batches = 1,
                               .a = factor(gradients_of(h), h, false),
                               .b = factor(row_of(h->x, first, h->d), h, false),
                               .c = l->out[dweight].data,
                               .c_dtype = l->out[dweight].dtype,
                               .add = first > 0 || launch_adds(l, dweight) };
    const Matmul to_x = { .m = n,
                          .n = h->d,
                          .k = h->v,
                          .n_batches = 1,
                          .a = factor(gradients_of(h), h, true),
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
    c.in[0] = chunk_tensor(&c, l->scratch, F32, n, h->v);
    c.number[0] = first;
    return c;
}

static int run_loss(const Launch *l)
{
    const Head h = head_of(l);
    int status = KERNEL_OK;
    for (int64_t i = 0; !status && i < h.n; i += h.chunk) {
        const int64_t n = h.n - i < h.chunk ? h.n - i : h.chunk;
        status = make_logits(&h, i, n);
        const Call c = chunk_call(&h, i, n);
        if (!status) status = token_loss_start(l, "token_loss_kernel", &c, n);
    }
    return status;
}

/* Loss and gradients, or with the lse of an earlier pass gradients alone; those of x and the weight
 * are results `dx` and the next one. The gradient of the logits takes the place of dx in the call.
 */
static int run_back(const Launch *l, const char *kernel, int dx)
{
    const Head h = head_of(l);
    int status = KERNEL_OK;
    for (int64_t i = 0; !status && i < h.n; i += h.chunk) {
        const int64_t n = h.n - i < h.chunk ? h.n - i : h.chunk;
        status = make_logits(&h, i, n);
        Call c = chunk_call(&h, i, n);
        c.out[dx] = chunk_tensor(&c, gradients_of(&h), h.x->dtype, n, h.v);
        if (!status) status = token_loss_start(l, kernel, &c, n);
        if (!status) status = multiply_back(&h, i, n, dx, dx + 1);
    }
    return status;
}

/* in: x, weight, targets, lse, gradient of the loss; out: dx, dweight. */
static int run_grad(const Launch *l)
{
    return run_back(l, "token_loss_grad_kernel", 0);
}

/* in: x, weight, targets, gradient of the loss; out: loss, dx, dweight. */
static int run_step(const Launch *l)
{
    return run_back(l, "token_step_kernel", 1);
}

/* The vocabulary is whole. */
static bool serves_loss(const Launch *l)
{
    return l->in[1].part[0] == NULL;
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
    { "head_loss_grad", "cuda", "f32 f32 i32 f64 f32>any f32", CPU_SCALAR, run_grad, scratch, serves_grad },
    { "head_loss_grad", "cuda", "bf16 bf16 i32 f64 f32>any f32", CPU_SCALAR, run_grad, scratch, serves_grad },
    { "head_step", "cuda", "f32 f32 i32 f32>f32 any f32", CPU_SCALAR, run_step, scratch, serves_step },
    { "head_step", "cuda", "bf16 bf16 i32 f32>f32 any f32", CPU_SCALAR, run_step, scratch, serves_step },
    { 0 },
};
/* clang-format on */
