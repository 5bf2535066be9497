/* elementwise_cuda.c - starts the kernels of elementwise.cu. */
#include "device/cuda/cuda.h"
#include "ops/clamped_swiglu.h"
#include "ops/clip.h"
#include "ops/elementwise.h"
#include "ops/fill.h"
#include "ops/kernels.h"
#include "ops/logit_cap.h"
#include "ops/offset.h"

static int run_copy(const Launch *l)
{
    return cuda_run_elements(l, "copy_kernel", 0);
}

static int run_add(const Launch *l)
{
    return cuda_run_elements(l, "add_kernel", 0);
}

static int run_mul(const Launch *l)
{
    return cuda_run_elements(l, "mul_kernel", 0);
}

static int run_scale(const Launch *l)
{
    return cuda_run_elements(l, "scale_kernel", sizeof(Scale));
}

static int run_silu(const Launch *l)
{
    return cuda_run_elements(l, "silu_kernel", 0);
}

static int run_silu_grad(const Launch *l)
{
    return cuda_run_elements(l, "silu_grad_kernel", 0);
}

static int run_gelu(const Launch *l)
{
    return cuda_run_elements(l, "gelu_kernel", 0);
}

static int run_gelu_grad(const Launch *l)
{
    return cuda_run_elements(l, "gelu_grad_kernel", 0);
}

static int run_gelu_tanh(const Launch *l)
{
    return cuda_run_elements(l, "gelu_tanh_kernel", 0);
}

static int run_gelu_tanh_grad(const Launch *l)
{
    return cuda_run_elements(l, "gelu_tanh_grad_kernel", 0);
}

static int run_relu(const Launch *l)
{
    return cuda_run_elements(l, "relu_kernel", 0);
}

static int run_relu_grad(const Launch *l)
{
    return cuda_run_elements(l, "relu_grad_kernel", 0);
}

static int run_relu_squared(const Launch *l)
{
    return cuda_run_elements(l, "relu_squared_kernel", 0);
}

static int run_relu_squared_grad(const Launch *l)
{
    return cuda_run_elements(l, "relu_squared_grad_kernel", 0);
}

static int run_offset(const Launch *l)
{
    return cuda_run_elements(l, "offset_kernel", sizeof(Offset));
}

static int run_logit_cap(const Launch *l)
{
    return cuda_run_elements(l, "logit_cap_kernel", sizeof(LogitCap));
}

static int run_logit_cap_grad(const Launch *l)
{
    return cuda_run_elements(l, "logit_cap_grad_kernel", sizeof(LogitCap));
}

static int run_clip(const Launch *l)
{
    return cuda_run_elements(l, "clip_kernel", sizeof(Clip));
}

static int run_clip_grad(const Launch *l)
{
    return cuda_run_elements(l, "clip_grad_kernel", sizeof(Clip));
}

static int run_clamped_swiglu(const Launch *l)
{
    return cuda_run_elements(l, "clamped_swiglu_kernel", sizeof(ClampedSwiglu));
}

static int run_clamped_swiglu_grad(const Launch *l)
{
    return cuda_run_elements(l, "clamped_swiglu_grad_kernel", sizeof(ClampedSwiglu));
}

static int run_swiglu(const Launch *l)
{
    return cuda_run_elements(l, "swiglu_kernel", 0);
}

static int run_swiglu_grad(const Launch *l)
{
    return cuda_run_elements(l, "swiglu_grad_kernel", 0);
}

static int run_fill(const Launch *l)
{
    return cuda_run(l, "fill_kernel", sizeof(Fill), cuda_blocks(l, tensor_count(&l->out[0]), 256),
                    256);
}

static int run_loss_seed(const Launch *l)
{
    return cuda_run(l, "loss_seed_kernel", 0, 1, 32);
}

/* Casts of what others do not read. */
static int run_convert(const Launch *l)
{
    return cuda_run(l, "convert_kernel", 0, cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

static int run_high_half(const Launch *l)
{
    return cuda_run_elements(l, "high_half_kernel", 0);
}

static int run_join_halves(const Launch *l)
{
    return cuda_run_elements(l, "join_halves_kernel", 0);
}

const KernelDef elementwise_cuda[] = {
    { "clamped_swiglu", "cuda", "any any>any", CPU_SCALAR, run_clamped_swiglu, NULL,
      cuda_floats_fit },
    { "clamped_swiglu_grad", "cuda", "any any any>any any", CPU_SCALAR, run_clamped_swiglu_grad,
      NULL, cuda_floats_fit },
    { "cast", "cuda", "any>any", CPU_SCALAR, run_copy, NULL, cuda_floats_fit },
    { "accumulate", "cuda", "any>any", CPU_SCALAR, run_copy, NULL, cuda_floats_fit },
    { "add", "cuda", "any any>any", CPU_SCALAR, run_add, NULL, cuda_floats_fit },
    { "mul", "cuda", "any any>any", CPU_SCALAR, run_mul, NULL, cuda_floats_fit },
    { "scale", "cuda", "any>any", CPU_SCALAR, run_scale, NULL, cuda_floats_fit },
    { "silu", "cuda", "any>any", CPU_SCALAR, run_silu, NULL, cuda_floats_fit },
    { "silu_grad", "cuda", "any any>any", CPU_SCALAR, run_silu_grad, NULL, cuda_floats_fit },
    { "gelu", "cuda", "any>any", CPU_SCALAR, run_gelu, NULL, cuda_floats_fit },
    { "gelu_grad", "cuda", "any any>any", CPU_SCALAR, run_gelu_grad, NULL, cuda_floats_fit },
    { "gelu_tanh", "cuda", "any>any", CPU_SCALAR, run_gelu_tanh, NULL, cuda_floats_fit },
    { "gelu_tanh_grad", "cuda", "any any>any", CPU_SCALAR, run_gelu_tanh_grad, NULL,
      cuda_floats_fit },
    { "relu", "cuda", "any>any", CPU_SCALAR, run_relu, NULL, cuda_floats_fit },
    { "relu_grad", "cuda", "any any>any", CPU_SCALAR, run_relu_grad, NULL, cuda_floats_fit },
    { "relu_squared", "cuda", "any>any", CPU_SCALAR, run_relu_squared, NULL, cuda_floats_fit },
    { "relu_squared_grad", "cuda", "any any>any", CPU_SCALAR, run_relu_squared_grad, NULL,
      cuda_floats_fit },
    { "offset", "cuda", "any>any", CPU_SCALAR, run_offset, NULL, cuda_floats_fit },
    { "clip", "cuda", "any>any", CPU_SCALAR, run_clip, NULL, cuda_floats_fit },
    { "clip_grad", "cuda", "any any>any", CPU_SCALAR, run_clip_grad, NULL, cuda_floats_fit },
    { "logit_cap", "cuda", "any>any", CPU_SCALAR, run_logit_cap, NULL, cuda_floats_fit },
    { "logit_cap_grad", "cuda", "any any>any", CPU_SCALAR, run_logit_cap_grad, NULL,
      cuda_floats_fit },
    { "swiglu", "cuda", "any any>any", CPU_SCALAR, run_swiglu, NULL, cuda_floats_fit },
    { "swiglu_grad", "cuda", "any any any>any any", CPU_SCALAR, run_swiglu_grad, NULL,
      cuda_floats_fit },
    { "cast", "cuda", "any>any", CPU_SCALAR, run_convert, NULL, NULL },
    { "high_half", "cuda", "f32>bf16", CPU_SCALAR, run_high_half, NULL, NULL },
    { "join_halves", "cuda", "bf16 i16>f32", CPU_SCALAR, run_join_halves, NULL, NULL },
    { "fill", "cuda", ">any", CPU_SCALAR, run_fill, NULL, NULL },
    { "loss_seed", "cuda", ">any", CPU_SCALAR, run_loss_seed, NULL, NULL },
    { 0 },
};
