/* cuda_moves.c - what transfers do with memory of a GPU (device.h, Moves). */
#include "device/cuda/cuda.h"

enum { THREADS = 256, PER_THREAD = 8 };

static int copy_rows(const Launch *l, void *to, size_t to_step, const void *from, size_t from_step,
                     size_t bytes, int64_t n)
{
    const CudaStream *s = cuda_stream_of(l->stream);
    if (n == 1) return to == from ? KERNEL_OK : cuda_move(l, to, from, bytes);
    return cuda_status(s->cuda->calls->cudaMemcpy2DAsync(
        to, to_step, from, from_step, bytes, (size_t)n, cudaMemcpyDeviceToDevice, s->queue));
}

static CallTensor list_of(void *data, Dtype t, int64_t n)
{
    CallTensor made = { .data = data, .count = n, .dtype = t, .n_dims = 1 };
    made.size[0] = n;
    made.part[0] = -1;
    return made;
}

static int convert(const Launch *l, void *to, Dtype to_type, const void *from, Dtype from_type,
                   int64_t n, bool adds)
{
    const CudaStream *s = cuda_stream_of(l->stream);
    if (!adds && to_type == from_type)
        return cuda_move(l, to, from, dtype_size(to_type) * (size_t)n);
    Call c = { .now = l->now, .fault = s->fault, .launch = l, .n_in = 1, .n_out = 1 };
    c.in[0] = list_of((void *)from, from_type, n);
    c.out[0] = list_of(to, to_type, n);
    c.out[0].add = adds;
    const int64_t wanted = (n + PER_THREAD - 1) / PER_THREAD;
    return cuda_start(l, "move_kernel", &c, cuda_blocks(l, wanted, THREADS), THREADS, 0);
}

/* The error of a stream that ends while the host waits is that of the ranks' job. */
static int exchange(const Launch *l, void *to, const void *from, size_t bytes)
{
    CudaStream *s = cuda_stream_of(l->stream);
    const int status =
        cuda_status(s->cuda->calls->cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s->queue));
    if (status) return status;
    Error *e = cuda_wait_for(s);
    if (!e) return KERNEL_OK;
    if (l->comm && s->cuda->keep_error) return s->cuda->keep_error(l->comm, e);
    error_free(e);
    return KERNEL_OF_DEVICE + (int)cudaErrorUnknown;
}

const Moves cuda_moves = {
    .copy = copy_rows, .clear = cuda_clear, .convert = convert, .exchange = exchange
};
