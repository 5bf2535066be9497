/* contract_cuda.c - products on a GPU: through cuBLASLt where the dimensions are those of matrices,
 * else by a kernel of our own (contract.cu). */
#include "ops/contract_cuda.h"
#include "ops/contract_pieces.h"
#include "ops/kernels.h"
#include "ops/product_cuda.h"
#include "tensor/dims.h"
#include <string.h>

bool contract_is_matmul(const Launch *l, Product *p)
{
    return matmul_fits(l->in[0].dtype, l->in[1].dtype, l->out[0].dtype) && product_of(l, p) &&
           p->k > 0 && p->n_batches <= INT32_MAX;
}

static bool serves_matmul(const Launch *l)
{
    Product p;
    return contract_is_matmul(l, &p);
}

static int run_matmul(const Launch *l)
{
    Product p;
    CHECK(product_of(l, &p));
    const Matmul m = matmul_of(&p);
    return matmul_run(l, &m);
}

static int64_t stride_of(const Operand *o, const Tensor *t, int slot, int64_t *size)
{
    for (int d = 0; d < o->n_dims; d++) {
        if (o->dim[d].n != 1 || o->dim[d].slot[0] != slot) continue;
        *size = t->size[d];
        return tensor_volume(t, d + 1, t->n_dims);
    }
    return 0;
}

static bool letters_of(const Launch *l, ContractLetters *out)
{
    const DimSpec *s = l->dims;
    *out = (ContractLetters){ 0 };
    for (int slot = N_SLOTS - 1; slot >= 0; slot--) {
        const bool in_c = dims_uses(&s->out[0], slot);
        ContractLetter x = { .size = 1 };
        if (!in_c && !dims_uses(&s->in[0], slot) && !dims_uses(&s->in[1], slot)) continue;
        x.a = stride_of(&s->in[0], &l->in[0], slot, &x.size);
        x.b = stride_of(&s->in[1], &l->in[1], slot, &x.size);
        x.c = stride_of(&s->out[0], &l->out[0], slot, &x.size);
        if (in_c ? out->n_free == CONTRACT_FREE : out->n_sum == CONTRACT_SUMS) return false;
        if (in_c)
            out->free[out->n_free++] = x;
        else
            out->sum[out->n_sum++] = x;
    }
    return true;
}

static bool serves_letters(const Launch *l)
{
    ContractLetters letters;
    return cuda_floats_fit(l) && letters_of(l, &letters);
}

static int run_letters(const Launch *l)
{
    ContractLetters letters;
    Call c = cuda_call(l);
    CHECK(letters_of(l, &letters));
    memcpy(c.attrs, &letters, sizeof letters);
    return cuda_start(l, "contract_kernel", &c, cuda_blocks(l, c.out[0].count, 256), 256, 0);
}

int contract_run(const Launch *l)
{
    return serves_matmul(l) ? run_matmul(l) : run_letters(l);
}

bool contract_serves(const Launch *l)
{
    return serves_matmul(l) || serves_letters(l);
}

/* ---- products in pieces that travel between ranks (ops/contract_pieces.h) ---- */

static const PieceKernel alone = { .run = contract_run };

static int run_gather(const Launch *l)
{
    return gather_contract(l, &alone);
}

static int run_scatter(const Launch *l)
{
    return contract_scatter(l, &alone);
}

static size_t pieces_scratch(const Launch *l, int n_threads)
{
    return contract_pieces_scratch(l, &alone, n_threads);
}

static bool pieces_serve(const Launch *l)
{
    return contract_pieces_serve(l, NULL, contract_serves);
}

/* clang-format off */
const KernelDef contract_cuda[] = {
    { "contract", "cuda", "any any>any", CPU_SCALAR, run_matmul, NULL, serves_matmul },
    { "contract", "cuda", "any any>any", CPU_SCALAR, run_letters, NULL, serves_letters },
    { "gather_contract", "cuda", "*", CPU_SCALAR, run_gather, pieces_scratch, pieces_serve },
    { "contract_scatter", "cuda", "*", CPU_SCALAR, run_scatter, pieces_scratch, pieces_serve },
    { 0 },
};
/* clang-format on */
_Static_assert(sizeof(ContractLetters) <= CALL_ATTRS, "letters fit into a call");
