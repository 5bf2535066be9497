/* stack_fast.c - copies of matrices, as bytes. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include <string.h>

enum { BYTES = 1 << 18 }; /* of a task */

/* Part i of all bytes from one to the other, where the list of matrices lies in `list`. */
static void copy_part(const Tensor *list, char *stack, bool stacks, int64_t i)
{
    const int64_t bytes = (int64_t)tensor_bytes(&list[0]), parts = chunk_count(bytes, BYTES),
                  k = i / parts;
    const Range r = chunk(bytes, BYTES, i % parts);
    char *one = (char *)list[k].data + r.from, *all = stack + k * bytes + r.from;
    memcpy(stacks ? all : one, stacks ? one : all, (size_t)(r.to - r.from));
}

static void stack_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    copy_part(l->in, l->out[0].data, true, i);
}

static void unstack_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    copy_part(l->out, l->in[0].data, false, i);
}

static int run_stack(const Launch *l)
{
    const int64_t parts = chunk_count((int64_t)tensor_bytes(&l->in[0]), BYTES);
    pool_run(l->stream->pool, l->n_in * parts, stack_task, (void *)l);
    return KERNEL_OK;
}

static int run_unstack(const Launch *l)
{
    const int64_t parts = chunk_count((int64_t)tensor_bytes(&l->out[0]), BYTES);
    pool_run(l->stream->pool, l->n_out * parts, unstack_task, (void *)l);
    return KERNEL_OK;
}

static bool serves(const Launch *l)
{
    for (int k = 0; k < l->n_in; k++)
        if (l->in[k].dtype != l->out[0].dtype) return false;
    return tensor_count(&l->in[0]) > 0;
}

const KernelDef TABLE[] = {
    { "stack", "cpu", "*", LEVEL, run_stack, NULL, serves },
    { "unstack", "cpu", "*", LEVEL, run_unstack, NULL, serves },
    { 0 },
};
