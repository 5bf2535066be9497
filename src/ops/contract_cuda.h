/* contract_cuda.h - the letters of a product, for its kernel. Compiles as C and C++. */
#ifndef OPS_CONTRACT_CUDA_H
#define OPS_CONTRACT_CUDA_H
#include <stdint.h>

enum { CONTRACT_FREE = 6, CONTRACT_SUMS = 3 };

/* Strides in elements; 0 where the operand lacks the letter. */
typedef struct ContractLetter {
    int64_t size, a, b, c;
} ContractLetter;

typedef struct ContractLetters {
    ContractLetter free[CONTRACT_FREE], sum[CONTRACT_SUMS];
    int32_t n_free, n_sum;
} ContractLetters;
#endif
