/* contract_epilogue_cuda.c - products that end with a bias, gelu_tanh, its gradient or a sum on a
 * GPU: cuBLASLt does that while it writes them, where it can; else kernels do it afterwards.
 *
 * Gradients of biases are not the library's: it would round them to the dtype of the product. */
#include "ops/contract_cuda.h"
#include "ops/kernels.h"
#include "ops/product_cuda.h"

/* The library wants rows of what gelu is given in steps of so many elements. */
enum { GELU_UNIT = 8 };

static bool native_of(const Launch *l, MatmulEnd end, Matmul *out)
{
    Product p;
    const Tensor *third = &l->in[2];
    if (!contract_is_matmul(l, &p) || p.n_batches != 1 || third->dtype != p.c_dtype) return false;
    if (l->n_out > 1 && l->out[1].dtype != p.c_dtype) return false;
    *out = matmul_of(&p);
    out->end = end;
    if (end == END_GELU_GRAD)
        out->gelu_of = third->data;
    else
        out->bias = third->data;
    if (l->n_out > 1) out->gelu_of = l->out[1].data;
    return (!out->gelu_of || p.n % GELU_UNIT == 0) && matmul_is_possible(l->stream, out);
}

/* Kernels of single elements, whose operands are result 0, where the product is, and others. */
static int start(const Launch *l, const char *kernel, CallTensor x, CallTensor y, CallTensor out)
{
    Call c = cuda_call(l);
    c.in[0] = x;
    c.in[1] = y;
    c.out[0] = out;
    return cuda_start(l, kernel, &c, cuda_blocks(l, (out.count + 7) / 8, 256), 256, 0);
}

static int run_afterwards(const Launch *l, MatmulEnd end)
{
    const Call c = cuda_call(l);
    const CallTensor y = c.out[0], third = c.in[2], given = l->n_out > 1 ? c.out[1] : y;
    int status = contract_run(l);
    if (status) return status;
    if (end == END_GELU_GRAD) return start(l, "gelu_tanh_grad_kernel", third, y, y);
    status = start(l, "add_bias_kernel", y, third, given);
    if (status || end == END_BIAS) return status;
    return start(l, "gelu_tanh_kernel", given, third, y);
}

static int run(const Launch *l, MatmulEnd end)
{
    Matmul m;
    return native_of(l, end, &m) ? matmul_run(l, &m) : run_afterwards(l, end);
}

static bool native_sum_of(const Launch *l, Matmul *out)
{
    Product p;
    const Tensor *bias = l->n_in == 4 ? &l->in[2] : NULL, *other = &l->in[l->n_in - 1];
    if (!contract_is_matmul(l, &p) || p.n_batches != 1 || other->dtype != p.c_dtype ||
        (bias && bias->dtype != p.c_dtype))
        return false;
    *out = matmul_of(&p);
    out->plus = other->data;
    if (bias) out->bias = bias->data, out->end = END_BIAS;
    return matmul_is_possible(l->stream, out);
}

static int run_add(const Launch *l)
{
    Matmul m;
    if (native_sum_of(l, &m)) return matmul_run(l, &m);
    const Call c = cuda_call(l);
    const CallTensor y = c.out[0];
    int status = contract_run(l);
    if (!status && l->n_in == 4) status = start(l, "add_bias_kernel", y, c.in[2], y);
    return status ? status : start(l, "add_kernel", y, c.in[l->n_in - 1], y);
}

static int run_bias(const Launch *l)
{
    return run(l, END_BIAS);
}

static int run_gelu(const Launch *l)
{
    return run(l, END_GELU);
}

static int run_gelu_grad(const Launch *l)
{
    return run(l, END_GELU_GRAD);
}

/* clang-format off */
const KernelDef contract_epilogue_cuda[] = {
    { "contract_bias", "cuda", "any any any>any", CPU_SCALAR, run_bias, NULL, contract_serves },
    { "contract_gelu", "cuda", "any any any>any", CPU_SCALAR, run_gelu, NULL, contract_serves },
    { "contract_gelu", "cuda", "any any any>any any", CPU_SCALAR, run_gelu, NULL, contract_serves },
    { "contract_gelu_grad", "cuda", "any any any>any", CPU_SCALAR, run_gelu_grad, NULL, contract_serves },
    { "contract_add", "cuda", "any any any>any", CPU_SCALAR, run_add, NULL, contract_serves },
    { "contract_add", "cuda", "any any any any>any", CPU_SCALAR, run_add, NULL, contract_serves },
    { 0 },
};
/* clang-format on */
