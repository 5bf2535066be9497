/* head_loss_cuda.c - the head with its loss on a GPU: products through cuBLASLt, chunks of tokens
 * at a time, so that only a chunk's logits are ever there.
 *
 * Logits are f32, since their rounding would be that of the loss. The kernels between the products
 * (cross_entropy.cu) write their gradients, which are of the dtype of x, where the logits are, or
 * after them. */
#include "device/cuda/matmul.h"
#include "ops/token_loss_cuda.h"
#include "ops/vocabulary_cuda.h"

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

static void *gradients_of(const Head *h)
{
    return h->x->dtype == F32 ? logits_of(h) : (char *)logits_of(h) + logit_bytes(h);
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

/* The gradient of the logits takes the place of dx, result `dx`, in the call of `kernel`. */
static int whole_gradients(const Head *h, const char *kernel, int64_t first, int64_t n, int dx)
{
    Call c = chunk_call(h, first, n);
    c.out[dx] = chunk_tensor(&c, gradients_of(h), h->x->dtype, n, h->v);
    return token_loss_start(h->l, kernel, &c, n);
}

/* The same where ranks divide the vocabulary: a step finds the loss first. The gradient of the loss
 * is the last input. */
static int split_gradients(const Head *h, int64_t first, int64_t n, int dx)
{
    const Launch *l = h->l;
    const bool is_step = dx == 1;
    const int status = is_step ? find_loss(h, first, n) : KERNEL_OK;
    const double *lse =
        is_step ? split_loss_of(l->scratch, n).lse : (const double *)l->in[3].data + first;
    Call c = chunk_call(h, first, n);
    c.in[2] = c.in[l->n_in - 2];
    c.out[0] = chunk_tensor(&c, gradients_of(h), h->x->dtype, n, h->v);
    return status ? status : split_grad_start(l, &c, n, h->weight, 0, lse);
}

/* Loss and gradients, or with the lse of an earlier pass gradients alone; those of x and the weight
 * are results `dx` and the next one. */
static int run_back(const Launch *l, const char *kernel, int dx)
{
    const Head h = head_of(l);
    int status = KERNEL_OK;
    for (int64_t i = 0; !status && i < h.n; i += h.chunk) {
        const int64_t n = h.n - i < h.chunk ? h.n - i : h.chunk;
        status = make_logits(&h, i, n);
        if (!status)
            status =
                is_split(l) ? split_gradients(&h, i, n, dx) : whole_gradients(&h, kernel, i, n, dx);
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
