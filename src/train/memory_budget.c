/* memory_budget.c - how many blocks are computed again, so that a training fits into its memory. */
#include "train/memory_budget.h"
#include "base/log.h"
#include "base/str.h"
#include "passes/recompute.h"
#include <inttypes.h>

/* What the step takes with n blocks computed again. */
static Error *plan(const PlannedStep *s, int64_t n, double *bytes)
{
    s->model->budget->recompute->n = n;
    return planned_step_bytes(s, bytes);
}

static Error *keep(const PlannedStep *s)
{
    const MemoryBudget *budget = s->model->budget;
    const int64_t most = budget->recompute->of;
    int64_t low = 0, high = most; /* high fits, and what is below low does not */
    double bytes, fits;
    char text[32], allowed[32];
    format_bytes(budget->bytes, allowed);
    TRY(plan(s, most, &fits));
    format_bytes(fits, text);
    if (fits > budget->bytes)
        return error_new("memory_budget: a training step takes %s on this rank with all %" PRId64
                         " blocks computed again, more than %s; a smaller microbatch, or more "
                         "ranks, would fit",
                         text, most, allowed);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        TRY(plan(s, middle, &bytes));
        if (bytes <= budget->bytes) {
            high = middle;
            fits = bytes;
        } else {
            low = middle + 1;
        }
    }
    budget->recompute->n = high;
    format_bytes(fits, text);
    log_info("memory_budget: %" PRId64 " of %" PRId64 " blocks are computed again in the backward "
             "pass; a step takes %s of %s",
             high, most, text, allowed);
    return NULL;
}

Error *memory_budget_keep(const PlannedStep *s)
{
    return s->model->budget ? keep(s) : NULL;
}
