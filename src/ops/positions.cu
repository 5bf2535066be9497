/* positions.cu - learned positions, and places within documents, on a GPU. */
#include "device/cuda/kernel.h"

/* The row of the table for row s of sample b of x; -1: after its end. */
__device__ static int64_t row_of(const Call &c, int64_t b, int64_t s, int64_t n_rows)
{
    const int64_t p = whole_index(c, c.in[0], 1, s) + first_position(c, b);
    return p < n_rows ? p : -1;
}

KERNEL(add_positions_kernel, 256)
{
    const CallTensor &x = c.in[0], &table = c.in[1];
    const int64_t s = x.size[1], d = x.size[2];
    for (int64_t i = thread_number(); i < x.count; i += all_threads()) {
        const int64_t p = row_of(c, i / d / s, i / d % s, table.size[0]);
        if (p < 0) fail(c, KERNEL_BAD_INDEX);
        put(c.out[0], i, get(x, i) + (p < 0 ? 0 : get(table, p * d + i % d)));
    }
}

/* A thread per element of the table: no two rows of x in one sample have the same position. */
KERNEL(add_positions_grad_kernel, 256)
{
    const CallTensor &dy = c.in[0], &table = c.out[0];
    const int64_t batch = dy.size[0], length = dy.size[1], d = dy.size[2];
    for (int64_t i = thread_number(); i < table.count; i += all_threads()) {
        const int64_t s = own_index(c, dy, 1, i / d - c.now->position);
        float sum = 0;
        for (int64_t b = 0; s >= 0 && b < batch; b++) sum += get(dy, (b * length + s) * d + i % d);
        put(table, i, sum);
    }
    if (thread_number() == 0 && length && row_of(c, 0, length - 1, table.size[0]) < 0)
        fail(c, KERNEL_BAD_INDEX);
}

/* A thread per token looks back to where its document begins. */
KERNEL(document_positions_kernel, 256)
{
    const CallTensor &documents = c.in[0];
    const int64_t length = documents.size[1];
    for (int64_t i = thread_number(); i < documents.count; i += all_threads()) {
        const int32_t own = get_int(documents, i);
        int64_t first = i;
        while (first % length && get_int(documents, first - 1) == own) first--;
        set(c.out[0], i, (double)(i - first));
    }
}
