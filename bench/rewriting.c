/* rewriting.c - merging and shuffling of packed files: shares of the rate at which they are copied.
 *
 * usage: rewriting [-r ROUNDS] [-m MEGABYTES] [FOLDER]
 * The folder (default: /dev/shm, so that no disk is measured) needs twice that room. Documents have
 * 400 to 8000 bytes. The copy has the same bytes, file system and threads: each reads and writes
 * blocks of 256 KiB, wherever the next one is; cp has one thread. All take turns; medians of
 * wall-clock time, so others on the machine disturb. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/thread.h"
#include "data/merge.h"
#include "data/pbin.h"
#include "data/shuffle.h"
#include "measure.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ROUNDS = 64 };
enum { COPY, CP, MERGE, SHUFFLE, N_KINDS };
static const char *const names[] = { "copy", "cp", "merge", "shuffle" };
static const double BAR = 0.7; /* of the copy */

static void make_file(Arena *a, const char *path, int64_t n_bytes)
{
    enum { POOL = 16 << 20, LONGEST = 8000, SHORTEST = 400 };
    char *pool = arena_alloc(a, POOL);
    uint64_t key = rng_key(1, RNG_DATA, 0, 0), k = 0;
    for (size_t i = 0; i < POOL; i += 8) {
        uint64_t bits = rng_bits(key, i);
        memcpy(pool + i, &bits, 8);
    }
    PbinWriter w;
    die(pbin_create(path, 2, &w));
    for (int64_t done = 0, n; done < n_bytes; done += n) {
        n = SHORTEST + (int64_t)(rng_bits(key, k++) % (LONGEST - SHORTEST)) / 2 * 2;
        die(pbin_add(&w, pool + rng_bits(key, k++) % (POOL - LONGEST), (size_t)n));
    }
    die(pbin_commit(&w));
}

enum { BLOCK = 256 << 10 };

typedef struct Copy {
    int from, to;
    char *buffer; /* a block for each thread */
} Copy;

static void copy_block(void *arg, int64_t i, int thread)
{
    const Copy *c = arg;
    char *block = c->buffer + (size_t)thread * BLOCK;
    ssize_t n = pread(c->from, block, BLOCK, i * BLOCK);
    if (n < 0 || pwrite(c->to, block, (size_t)n, i * BLOCK) != n) die(error_new("cannot copy"));
}

static void copy_file(Pool *pool, const char *from, const char *to)
{
    int64_t size;
    Arena *a = arena_new();
    die(file_size(from, &size));
    Copy c = { open(from, O_RDONLY), open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600),
               arena_alloc(a, (size_t)pool_size(pool) * BLOCK) };
    pool_run(pool, (size + BLOCK - 1) / BLOCK, copy_block, &c);
    if (close(c.from) || fsync(c.to) || close(c.to)) die(error_new("cannot copy %s", from));
    arena_free(a);
}

static double run(Arena *a, Pool *pool, int kind, const char *from, const char *to)
{
    MergeSummary merged;
    ShuffleSummary shuffled;
    die(remove_tree(to));
    double start = clock_seconds();
    if (kind == COPY) copy_file(pool, from, to);
    if (kind == CP && system(arena_printf(a, "cp %s %s", from, to)) != 0) exit(1);
    if (kind == MERGE) die(merge_pbin(&from, 1, to, &merged));
    if (kind == SHUFFLE) die(shuffle_file(PIECES_PBIN, from, to, 1, NULL, &shuffled));
    return clock_seconds() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int n_rounds = 7;
    int64_t megabytes = 1000;
    for (int c; (c = getopt(argc, argv, "r:m:")) != -1;) {
        if (c == 'r') n_rounds = atoi(optarg);
        if (c == 'm') megabytes = atoll(optarg);
        if (c == '?') return 2;
    }
    if (n_rounds < 1 || n_rounds > MAX_ROUNDS || megabytes < 1) return 2;
    Arena *a = arena_new();
    const char *folder = optind < argc ? argv[optind] : "/dev/shm";
    const char *from = arena_printf(a, "%s/modalities-bench-%d.pbin", folder, (int)getpid());
    const char *to = arena_printf(a, "%s.new", from);
    double seconds[N_KINDS][MAX_ROUNDS], bytes = (double)megabytes * 1e6;
    Pool *pool = pool_new(0);
    make_file(a, from, megabytes * 1000000);
    Watch watch = watch_start();
    for (int i = 0; i < n_rounds; i++)
        for (int kind = 0; kind < N_KINDS; kind++) seconds[kind][i] = run(a, pool, kind, from, to);
    for (int kind = 0; kind < N_KINDS; kind++)
        qsort(seconds[kind], (size_t)n_rounds, sizeof(double), compare);
    double copy = seconds[COPY][n_rounds / 2];
    for (int kind = 0; kind < N_KINDS; kind++) {
        double median = seconds[kind][n_rounds / 2];
        printf("%-8s %6.2f GB/s", names[kind], bytes / median / 1e9);
        if (kind == COPY) printf("  %d threads", pool_size(pool));
        if (kind == CP) printf("  1 thread");
        if (kind >= MERGE)
            printf("  %4.0f %% of the copy (bar %.0f %%): %s", 100 * copy / median, 100 * BAR,
                   copy / median >= BAR ? "holds" : "DOES NOT HOLD");
        printf("\n");
    }
    pool_free(pool);
    watch_report(&watch);
    die(remove_tree(from));
    die(remove_tree(to));
    arena_free(a);
    return 0;
}
