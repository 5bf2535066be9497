/* fsdp1.c - sharding strategies and mixed precisions of the older FSDP, by name. */
#include "passes/fsdp1.h"
#include "passes/data_parallel.h"

const char *const fsdp1_precisions[] = {
    "FP_16", "BF_16", "BF_16_WORKING", "FP_32", "MIXED_PRECISION_MEGATRON", "NO_MIXED_PRECISION",
    NULL
};
const char *const fsdp1_strategies[] = { "FULL_SHARD",   "SHARD_GRAD_OP",       "NO_SHARD",
                                         "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2", NULL };

/* By index: what is computed in, and what gradients are sent as. */
static const Dtype compute[] = { F16, BF16, F32, F32, BF16, F32 };
static const Dtype reduce[] = { F16, BF16, BF16, F32, F32, F32 };

static const struct {
    ZeroStage stage;
    bool is_hybrid;
} sharding[] = {
    { ZERO_PARAMETERS, false }, { ZERO_GRADIENTS, false }, { ZERO_NONE, false },
    { ZERO_PARAMETERS, true },  { ZERO_GRADIENTS, true },
};

void fsdp1_apply(Arena *a, Model *m, int precision, int strategy)
{
    DataParallel *d = NEW(a, DataParallel);
    *d = (DataParallel){ .stage = sharding[strategy].stage,
                         .is_hybrid = sharding[strategy].is_hybrid,
                         .blocks_per_unit = 1,
                         .reduce_dtype = reduce[precision] };
    m->data_parallel = d;
    m->compute = compute[precision];
}
