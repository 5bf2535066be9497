/* through_f32.c - tuned kernels of F32 serve F16, with conversions around them.
 *
 * CPUs multiply no F16: operands become F32 in scratch memory, the kernel runs as it is, and its
 * results are rounded. What is stored and sent stays F16. */
#include "ops/through_f32.h"
#include "base/error.h"
#include "base/thread.h"
#include "graph/op.h"
#include <string.h>

enum { ALIGN = 64 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t table_bytes(const Launch *l)
{
    return aligned(sizeof(Tensor) * (size_t)(l->n_in + l->n_out));
}

static size_t widened_bytes(const Tensor *t)
{
    return t->dtype == F16 ? aligned(sizeof(float) * (size_t)tensor_count(t)) : 0;
}

/* The operand in F32, its memory taken from `scratch`. */
static Tensor widened(const Tensor *t, char **scratch)
{
    Tensor w = *t;
    if (t->dtype != F16) return w;
    w.dtype = F32;
    w.data = *scratch;
    *scratch += widened_bytes(t);
    return w;
}

/* The launch in F32: `tensor` has room for all operands, `scratch` for those of F16; what is left
 * of it is the kernel's own. */
static Launch in_f32(const Launch *l, Tensor *tensor, char *scratch)
{
    Launch inner = *l;
    for (int k = 0; k < l->n_in; k++) tensor[k] = widened(&l->in[k], &scratch);
    for (int k = 0; k < l->n_out; k++) tensor[l->n_in + k] = widened(&l->out[k], &scratch);
    inner.in = tensor;
    inner.out = tensor + l->n_in;
    inner.scratch = scratch;
    return inner;
}

static void convert(const Launch *l, CpuLevel level, const Tensor *from, const Tensor *to)
{
    Launch c = { .in = from, .out = (Tensor *)to, .n_in = 1, .n_out = 1, .stream = l->stream };
    const KernelDef *cast = kernel_find("cast", "cpu", level, &c);
    CHECK(cast && cast->run(&c) == KERNEL_OK);
}

/* Results are read, too: a kernel may add to them, or write only a part. */
static int run_at(CpuLevel level, const Launch *l)
{
    Tensor *tensor = l->scratch;
    Launch inner = in_f32(l, tensor, (char *)l->scratch + table_bytes(l));
    const KernelDef *kernel = kernel_find(l->op->name, "cpu", level, &inner);
    CHECK(kernel != NULL);
    for (int k = 0; k < l->n_in; k++)
        if (l->in[k].dtype == F16) convert(l, level, &l->in[k], &inner.in[k]);
    for (int k = 0; k < l->n_out; k++)
        if (l->out[k].dtype == F16) convert(l, level, &l->out[k], &inner.out[k]);
    int status = kernel->run(&inner);
    for (int k = 0; k < l->n_out && status == KERNEL_OK; k++)
        if (l->out[k].dtype == F16) convert(l, level, &inner.out[k], &l->out[k]);
    return status;
}

static size_t scratch_at(CpuLevel level, const Launch *l, int n_threads)
{
    enum { MOST = 64 };
    Tensor few[MOST];
    const int n = l->n_in + l->n_out;
    size_t bytes = table_bytes(l);
    CHECK(n <= MOST);
    Launch inner = in_f32(l, few, NULL);
    for (int k = 0; k < n; k++)
        bytes += widened_bytes(k < l->n_in ? &l->in[k] : &l->out[k - l->n_in]);
    const KernelDef *kernel = kernel_find(l->op->name, "cpu", level, &inner);
    return bytes + (kernel && kernel->scratch ? kernel->scratch(&inner, n_threads) : 0);
}

static int run_scalar(const Launch *l)
{
    return run_at(CPU_SCALAR, l);
}

static int run_avx2(const Launch *l)
{
    return run_at(CPU_AVX2, l);
}

static int run_avx512(const Launch *l)
{
    return run_at(CPU_AVX512, l);
}

static size_t scratch_scalar(const Launch *l, int n_threads)
{
    return scratch_at(CPU_SCALAR, l, n_threads);
}

static size_t scratch_avx2(const Launch *l, int n_threads)
{
    return scratch_at(CPU_AVX2, l, n_threads);
}

static size_t scratch_avx512(const Launch *l, int n_threads)
{
    return scratch_at(CPU_AVX512, l, n_threads);
}

static const KernelDef rows[] = {
    [CPU_SCALAR] = { "*", "cpu", "*", CPU_SCALAR, run_scalar, scratch_scalar, NULL },
    [CPU_AVX2] = { "*", "cpu", "*", CPU_AVX2, run_avx2, scratch_avx2, NULL },
    [CPU_AVX512] = { "*", "cpu", "*", CPU_AVX512, run_avx512, scratch_avx512, NULL },
};

const KernelDef *kernel_through_f32(const char *op, CpuLevel level, const Launch *l)
{
    enum { MOST = 64 };
    Tensor few[MOST];
    bool any = false;
    if (l->n_in + l->n_out > MOST) return NULL;
    for (int k = 0; k < l->n_in; k++) any |= l->in[k].dtype == F16;
    for (int k = 0; k < l->n_out; k++) any |= l->out[k].dtype == F16;
    if (!any) return NULL;
    const Launch inner = in_f32(l, few, NULL);
    if (level > CPU_AVX512) level = CPU_AVX512; /* what is above has nothing for F32 */
    return kernel_find(op, "cpu", level, &inner) ? &rows[level] : NULL;
}
