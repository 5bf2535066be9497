/* emulator.cpp - blocks of threads as fibers of one thread of the host. */
#include "emulator.h"
extern "C" {
#include "device/cuda/call.h"
}
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { STACK = 64 << 10, MOST_THREADS = 1024, WARP = 32 };
/* Copies of a thread that nobody has waited for. */
enum { MOST_COPIES = 64 };
struct Copies {
    struct {
        void *to;
        const void *from;
        int group;
    } item[MOST_COPIES];
    int n, group;
};

enum State { RUNS, AT_BLOCK, AT_WARP, DONE };

struct Fiber {
    void *stack_pointer;
    char *stack;
    State state;
    bool turn;
    Copies copies;
};

EmulatorIndex threadIdx, blockIdx, blockDim, gridDim;

static struct Block {
    Fiber fiber[MOST_THREADS];
    uint64_t slot[2][MOST_THREADS];
    void *scheduler;
    int n, current;
    void (*kernel)(Call);
    const Call *call;
} block;

static int order;
static unsigned chance = 2463534242u;

static unsigned random_number()
{
    chance ^= chance << 13;
    chance ^= chance >> 17;
    chance ^= chance << 5;
    return chance;
}

/* Saves the registers that a function must keep, and takes those of the other stack. */
extern "C" void emulator_switch(void **from, void *to);
#if defined(__x86_64__)
asm(".text\n.globl emulator_switch\n.hidden emulator_switch\nemulator_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#else
#error "the emulator of CUDA's threads is written for x86-64"
#endif

static void leave(State why)
{
    Fiber *f = &block.fiber[block.current];
    f->state = why;
    emulator_switch(&f->stack_pointer, block.scheduler);
}

void emulator_wait_for_block()
{
    leave(AT_BLOCK);
}

void emulator_wait_for_warp()
{
    leave(AT_WARP);
}

unsigned emulator_lane()
{
    return (unsigned)block.current % WARP;
}

/* Two sets of slots in turns: nobody writes to a set before all have read what was in it. */
static uint64_t *give(uint64_t x)
{
    Fiber *f = &block.fiber[block.current];
    uint64_t *slot = &block.slot[f->turn][block.current / WARP * WARP];
    slot[emulator_lane()] = x;
    f->turn = !f->turn;
    emulator_wait_for_warp();
    return slot;
}

uint64_t emulator_exchange(uint64_t x, unsigned from)
{
    return give(x)[from];
}

void emulator_all_of_warp(uint64_t x, uint64_t *out)
{
    memcpy(out, give(x), WARP * sizeof *out);
}

void emulator_check_alignment(const void *p)
{
    if (((uintptr_t)p & 15) == 0) return;
    fprintf(stderr, "an address is no multiple of 16\n");
    abort();
}

void emulator_copy_later(void *to, const void *from, bool is_there)
{
    Copies *c = &block.fiber[block.current].copies;
    emulator_check_alignment(to);
    if (is_there) emulator_check_alignment(from);
    if (c->n == MOST_COPIES) abort();
    c->item[c->n].to = to;
    c->item[c->n].from = is_there ? from : NULL;
    c->item[c->n++].group = c->group;
}

void emulator_end_copies()
{
    block.fiber[block.current].copies.group++;
}

void emulator_wait_for_copies(int n)
{
    Copies *c = &block.fiber[block.current].copies;
    int kept = 0;
    for (int i = 0; i < c->n; i++) {
        if (c->item[i].group >= c->group - n)
            c->item[kept++] = c->item[i];
        else if (c->item[i].from)
            memcpy(c->item[i].to, c->item[i].from, 16);
        else
            memset(c->item[i].to, 0, 16);
    }
    c->n = kept;
}

unsigned emulator_vote(bool vote)
{
    const uint64_t *slot = give(vote);
    unsigned all = 0;
    for (int i = 0; i < WARP; i++) all |= (unsigned)slot[i] << i;
    return all;
}

static void begin()
{
    block.kernel(*block.call);
    leave(DONE);
    abort();
}

static void make_fiber(int i)
{
    Fiber *f = &block.fiber[i];
    if (!f->stack) {
        f->stack = (char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->stack == MAP_FAILED) abort();
    }
    void **top = (void **)(f->stack + STACK - 64);
    *--top = NULL; /* alignment of a call */
    *--top = (void *)begin;
    for (int k = 0; k < 6; k++) *--top = NULL;
    f->stack_pointer = top;
    f->state = RUNS;
    f->turn = false;
    f->copies.n = f->copies.group = 0;
    block.slot[0][i] = block.slot[1][i] = 0;
}

static void run_fiber(int i)
{
    block.current = i;
    threadIdx = { (unsigned)i, 0, 0 };
    emulator_switch(&block.scheduler, block.fiber[i].stack_pointer);
}

/* The lanes of a warp that can run, in the order asked for. */
static int run_warp(int first)
{
    const int n = block.n - first < WARP ? block.n - first : WARP,
              turn = order == 2 ? (int)(random_number() % (unsigned)n) : 0;
    int n_run = 0, n_waiting = 0, n_live = 0;
    for (int k = 0; k < n; k++) {
        const int i = first + (order == 1 ? n - 1 - k : (k + turn) % n);
        if (block.fiber[i].state != RUNS) continue;
        run_fiber(i);
        n_run++;
    }
    for (int i = first; i < first + n; i++) {
        n_live += block.fiber[i].state != DONE;
        n_waiting += block.fiber[i].state == AT_WARP;
    }
    for (int i = first; n_waiting && n_waiting == n_live && i < first + n; i++)
        if (block.fiber[i].state == AT_WARP) block.fiber[i].state = RUNS;
    return n_run;
}

static void run_block()
{
    const int n_warps = (block.n + WARP - 1) / WARP;
    for (int i = 0; i < block.n; i++) make_fiber(i);
    for (;;) {
        int n_run = 0, n_done = 0, n_waiting = 0;
        const int turn = order == 2 ? (int)(random_number() % (unsigned)n_warps) : 0;
        for (int k = 0; k < n_warps; k++)
            n_run += run_warp(WARP * (order == 1 ? n_warps - 1 - k : (k + turn) % n_warps));
        for (int i = 0; i < block.n; i++) {
            n_done += block.fiber[i].state == DONE;
            n_waiting += block.fiber[i].state == AT_BLOCK;
        }
        if (n_done == block.n) return;
        if (n_waiting && n_waiting + n_done == block.n) {
            for (int i = 0; i < block.n; i++)
                if (block.fiber[i].state == AT_BLOCK) block.fiber[i].state = RUNS;
        } else if (!n_run) {
            fprintf(stderr, "the threads of block %u wait at different barriers\n", blockIdx.x);
            abort();
        }
    }
}

extern "C" void emulator_set_order(int wanted)
{
    order = wanted;
}

extern "C" void emulator_run(void (*kernel)(Call), const Call *call, int64_t blocks, int threads)
{
    if (threads > MOST_THREADS || threads % WARP) {
        fprintf(stderr, "%d threads of a block: whole warps, at most %d\n", threads, MOST_THREADS);
        abort();
    }
    block.n = threads;
    block.kernel = kernel;
    block.call = call;
    gridDim = { (unsigned)blocks, 1, 1 };
    blockDim = { (unsigned)threads, 1, 1 };
    for (int64_t i = 0; i < blocks; i++) {
        blockIdx = { (unsigned)i, 0, 0 };
        run_block();
    }
}
