/* kernel_check.h - every row of tuned kernels against the reference of its op, on every case that
 * it fits.
 *
 * A kernel gets the reference's inputs rounded to its own dtypes, scratch and results filled with
 * NaN, and guards after them. All ways of running it must give the same bits. Launch.add is tried
 * for each result alone and for all. Small cases run in halves, too, as ranks would hold them. */
#ifndef TESTS_OPS_KERNEL_CHECK_H
#define TESTS_OPS_KERNEL_CHECK_H
#include "op_run.h"
#include "ops/kernels.h"

/* How kernels are run: in several ways that must not show. */
typedef struct KernelRunner {
    int n_ways;
    const char *differ; /* what is wrong if they do */
    int (*run)(const struct KernelRunner *self, const KernelDef *row, Launch *l, int way);
    int (*threads)(const struct KernelRunner *self, int way); /* for KernelDef.scratch */
    Stream *stream; /* of the launches; NULL: run sets one */
} KernelRunner;

/* NULL, or what is wrong with the row; owned by the arena. */
const char *kernel_check(const KernelDef *row, const KernelRunner *how, Arena *result);

/* Whether it needs other ranks: such kernels have tests of their own, and no case here. */
bool kernel_talks(const KernelDef *row);
#endif
