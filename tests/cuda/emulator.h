/* emulator.h - enough of CUDA's language for kernels of src/ops to run on the CPU, as C++.
 *
 * Each thread of a block is a fiber; blocks run one after the other. Barriers, exchanges within a
 * warp, votes and atomics are as on a GPU; a warp's lanes must all take part. Not there: inline
 * PTX (what device/cuda/mma.h has of it is written out there), and what goes wrong between blocks
 * that run at once. */
#ifndef TESTS_CUDA_EMULATOR_H
#define TESTS_CUDA_EMULATOR_H
#include <stdint.h>
#include <string.h>
#include <vector_functions.h>
#include <vector_types.h>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __shared__ static /* one block runs at a time */
#define __launch_bounds__(...)
#define __grid_constant__

struct Call;

struct EmulatorIndex {
    unsigned x, y, z;
};

/* Of the fiber that runs. */
extern EmulatorIndex threadIdx, blockIdx, blockDim, gridDim;

/* Order in which the threads of a block take turns: 0 rising, 1 falling, 2 by chance. A kernel that
 * is right gives the same in all. */
extern "C" __global__ void emulator_set_order(int order);
/* Runs all blocks; for one thread of the host at a time. */
extern "C" void emulator_run(void (*kernel)(Call), const Call *call, int64_t blocks, int threads);

void emulator_wait_for_block();
void emulator_wait_for_warp();
/* Gives `x` to the lane's warp, and takes what lane `from` gave. */
uint64_t emulator_exchange(uint64_t x, unsigned from);
/* One bit of every lane of the warp. */
unsigned emulator_vote(bool vote);
unsigned emulator_lane();
/* What each lane of the warp gives; `out` has room for all. */
void emulator_all_of_warp(uint64_t x, uint64_t *out);
/* 16 bytes, or zeros: they come when the thread waits, not before. Groups of copies end in the
 * order in which they were given; all but the last n are waited for. */
void emulator_copy_later(void *to, const void *from, bool is_there);
void emulator_end_copies();
void emulator_wait_for_copies(int n);
/* An address that is no multiple of 16 is a failure. */
void emulator_check_alignment(const void *p);

inline void __syncthreads()
{
    emulator_wait_for_block();
}

inline void __syncwarp(unsigned = ~0u)
{
    emulator_wait_for_warp();
}

template <class T> inline T emulator_take(T x, unsigned from)
{
    static_assert(sizeof(T) <= 8, "a lane gives at most eight bytes");
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    bits = emulator_exchange(bits, from);
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T> inline T __shfl_sync(unsigned, T x, int from)
{
    return emulator_take(x, (unsigned)from & 31);
}

template <class T> inline T __shfl_xor_sync(unsigned, T x, int mask)
{
    return emulator_take(x, emulator_lane() ^ (unsigned)mask);
}

inline unsigned __ballot_sync(unsigned, int vote)
{
    return emulator_vote(vote != 0);
}

/* The lanes that have the same number. */
inline unsigned __match_any_sync(unsigned, int x)
{
    uint64_t of_lane[32];
    unsigned same = 0;
    emulator_all_of_warp((unsigned)x, of_lane);
    for (int i = 0; i < 32; i++) same |= (unsigned)(of_lane[i] == (unsigned)x) << i;
    return same;
}

inline int __any_sync(unsigned mask, int vote)
{
    return __ballot_sync(mask, vote) != 0;
}

inline int atomicCAS(int *at, int expected, int wanted)
{
    const int old = *at;
    if (old == expected) *at = wanted;
    return old;
}

inline int atomicAdd(int *at, int more)
{
    const int old = *at;
    *at = old + more;
    return old;
}

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
#endif
