/* mma.h - products of small tiles by the tensor cores of Ampere and later, and what brings operands
 * to them: a warp's mma.sync and ldmatrix, and a thread's cp.async, in PTX's terms. In the emulator
 * they are functions that do the same for the same lanes; copies are done as late as waiting
 * allows.
 *
 * Numbers have 16 bits, two in a word. Lane i has, of a matrix of 8 x 8, the pair 2 * (i % 4) of
 * row i / 4. All lanes of a warp call together. */
#ifndef DEVICE_CUDA_MMA_H
#define DEVICE_CUDA_MMA_H
#include "device/cuda/kernel.h"

/* d (16 x 8) += a (16 x 16) b (16 x 8), sums in f32. a: the matrices of rows 0 and columns 0, rows
 * 8 and columns 0, rows 0 and columns 8, rows 8 and columns 8. b: those of b's transpose with
 * columns 0 and 8. d: the pairs of rows i / 4 and 8 + i / 4. */
template <bool IS_BF16>
__device__ inline void multiply_tiles(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                      uint32_t b1)
{
#ifdef __CUDACC__
    if (IS_BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    uint64_t two[3][WARP]; /* words */
    emulator_all_of_warp((uint64_t)a[1] << 32 | a[0], two[0]);
    emulator_all_of_warp((uint64_t)a[3] << 32 | a[2], two[1]);
    emulator_all_of_warp((uint64_t)b1 << 32 | b0, two[2]);
    const int lane = (int)emulator_lane();
    for (int i = 0; i < 4; i++) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; k++) {
            const int half = k % 2 * 16, from = k % 8 / 2;
            const uint16_t x = (uint16_t)(two[k / 8][row % 8 * 4 + from] >> (row / 8 * 32 + half)),
                           y = (uint16_t)(two[2][column * 4 + from] >> (k / 8 * 32 + half));
            d[i] += IS_BF16 ? widen_bf16(x) * widen_bf16(y) : widen_f16(x) * widen_f16(y);
        }
    }
#endif
}

/* Four matrices from shared memory: lane i tells where row i % 8 of matrix i / 8 begins, on 16
 * bytes. TURNED: to[k] is of the transpose of matrix k. */
template <bool TURNED> __device__ inline void load_matrices(uint32_t (&to)[4], const uint16_t *row)
{
#ifdef __CUDACC__
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    if (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(at)
                     : "memory");
#else
    uint64_t first[WARP];
    const int lane = (int)emulator_lane();
    emulator_check_alignment(row);
    emulator_all_of_warp((uint64_t)(uintptr_t)row, first);
    for (int k = 0; k < 4; k++) {
        uint16_t pair[2];
        for (int i = 0; i < 2; i++) {
            const int line = TURNED ? lane % 4 * 2 + i : lane / 4,
                      column = TURNED ? lane / 4 : lane % 4 * 2 + i;
            pair[i] = ((const uint16_t *)(uintptr_t)first[k * 8 + line])[column];
        }
        to[k] = (uint32_t)pair[0] | (uint32_t)pair[1] << 16;
    }
    emulator_wait_for_warp(); /* nobody writes there before all have read */
#endif
}

/* 16 bytes to shared memory, zeros where they are not there; both on 16 bytes. */
__device__ inline void copy_later(uint16_t *to, const uint16_t *from, bool is_there)
{
#ifdef __CUDACC__
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    const int bytes = is_there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
                 : "memory");
#else
    emulator_copy_later(to, from, is_there);
#endif
}

/* Ends a group of this thread's copies. */
__device__ inline void end_copies()
{
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    emulator_end_copies();
#endif
}

/* This thread's copies are there but those of the last N groups. */
template <int N> __device__ inline void wait_for_copies()
{
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#else
    emulator_wait_for_copies(N);
#endif
}
#endif
