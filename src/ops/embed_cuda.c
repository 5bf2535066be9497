/* embed_cuda.c - starts the kernels of embed.cu. */
#include "ops/embed_cuda.h"
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include <string.h>

static int run_embed(const Launch *l)
{
    return cuda_run(l, "embed_kernel", 0, cuda_blocks(l, 32 * tensor_count(&l->in[0]), 256), 256);
}

/* Enough pieces to keep a GPU busy, and few enough for every block to look at the counts of all. */
static EmbedSort sort_of(const Launch *l)
{
    enum { LEAST = 1024, MOST_PIECES = 64 };
    const int64_t n = tensor_count(&l->in[0]),
                  tiles = (n + EMBED_TILE * MOST_PIECES - 1) / (EMBED_TILE * MOST_PIECES),
                  piece = tiles * EMBED_TILE > LEAST ? tiles * EMBED_TILE : LEAST;
    return (EmbedSort){ .n = (int32_t)n,
                        .piece = (int32_t)piece,
                        .n_pieces = (int32_t)((n + piece - 1) / piece) };
}

static size_t partial_bytes(const Launch *l, const EmbedSort *s)
{
    const size_t bytes = sizeof(float) * (size_t)(s->n / EMBED_PIECE) * (size_t)l->out[0].size[1];
    return (bytes + 15) / 16 * 16;
}

/* Partial sums, the tokens twice, counts. */
static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    const EmbedSort s = sort_of(l);
    return partial_bytes(l, &s) + 2 * sizeof(uint64_t) * (size_t)s.n +
           sizeof(int32_t) * EMBED_DIGITS * (size_t)s.n_pieces;
}

/* Sorts by rows below `n_rows` and that number itself, in as few passes as can be. */
static int sort(const Launch *l, Call *c, EmbedSort *s, int64_t n_rows)
{
    int bits = 1, status = KERNEL_OK;
    uint64_t *free_place = s->to + s->n;
    while (n_rows >> bits) bits++;
    const int n_passes = (bits + 9) / 10, per_pass = (bits + n_passes - 1) / n_passes;
    s->digits = 1 << per_pass;
    for (int pass = 0; pass < n_passes && !status; pass++) {
        s->shift = pass * per_pass;
        memcpy(c->attrs, s, sizeof *s);
        status = cuda_start(l, "embed_count_kernel", c, s->n_pieces, 256, 0);
        if (!status) status = cuda_start(l, "embed_place_kernel", c, s->n_pieces, 256, 0);
        if (pass + 1 == n_passes) break;
        s->from = s->to;
        s->to = free_place;
        free_place = (uint64_t *)s->from;
    }
    return status;
}

static int run_embed_grad(const Launch *l)
{
    const Tensor *table = &l->out[0];
    const int64_t slices = (table->size[1] + 255) / 256;
    EmbedSort s = sort_of(l);
    Call c = cuda_call(l);
    s.partial = l->scratch;
    s.to = (uint64_t *)((char *)l->scratch + partial_bytes(l, &s));
    s.count = (int32_t *)(s.to + 2 * (size_t)s.n);
    int status = launch_adds(l, 0) ? KERNEL_OK : cuda_clear(l, table->data, tensor_bytes(table));
    if (!status) status = sort(l, &c, &s, table->size[0]);
    if (!status)
        status = cuda_start(l, "embed_piece_kernel", &c,
                            cuda_blocks(l, 32 * slices * (s.n / EMBED_PIECE), 256), 256, 0);
    if (!status) /* smaller blocks: more warps find registers on a multiprocessor */
        status =
            cuda_start(l, "embed_grad_kernel", &c, cuda_blocks(l, 32 * slices * s.n, 128), 128, 0);
    return status;
}

const KernelDef embed_cuda[] = {
    { "embed", "cuda", "any any>any", CPU_SCALAR, run_embed, NULL, cuda_floats_fit },
    { "embed_grad", "cuda", "any any>any", CPU_SCALAR, run_embed_grad, scratch, cuda_floats_fit },
    { 0 },
};
