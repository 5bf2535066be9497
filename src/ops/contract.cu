/* contract.cu - any product over letters on a GPU, a thread per element of the result: for those
 * that cuBLASLt does not take (contract_cuda.c). */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/contract_cuda.h"
}

/* Steps to the next combination of letters, the last one first; moves the offsets along. */
__device__ static void step(const ContractLetter *letter, int n, int64_t *at, int64_t *a,
                            int64_t *b)
{
    for (int k = n - 1; k >= 0; k--) {
        *a += letter[k].a;
        *b += letter[k].b;
        if (++at[k] < letter[k].size) return;
        *a -= letter[k].a * letter[k].size;
        *b -= letter[k].b * letter[k].size;
        at[k] = 0;
    }
}

KERNEL(contract_kernel, 256)
{
    const ContractLetters &l = attrs_of<ContractLetters>(c);
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        int64_t a = 0, b = 0, to = 0, rest = i, at[CONTRACT_SUMS] = { 0 }, n = 1;
        for (int k = l.n_free - 1; k >= 0; k--) {
            const int64_t index = rest % l.free[k].size;
            rest /= l.free[k].size;
            a += index * l.free[k].a;
            b += index * l.free[k].b;
            to += index * l.free[k].c;
        }
        for (int k = 0; k < l.n_sum; k++) n *= l.sum[k].size;
        float sum = 0;
        for (int64_t k = 0; k < n; k++) {
            sum += get(c.in[0], a) * get(c.in[1], b);
            step(l.sum, l.n_sum, at, &a, &b);
        }
        put(c.out[0], to, sum);
    }
}
