/* results_row.c - results as one row of a terminal. */
#include "monitor/results_row.h"
#include "monitor/results.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Adds "  name value", unless the row would exceed the width; false from then on. */
static bool put(Text *row, size_t width, const char *fmt, double value)
{
    Text item = { 0 };
    text_printf(&item, fmt, value);
    bool fits = row->len + 2 + item.len <= width;
    if (fits) text_printf(row, "  %s", item.ptr);
    text_free(&item);
    return fits;
}

static bool put_measure(Text *row, size_t width, const Results *r, const char *name,
                        const char *fmt, double factor)
{
    const Measure *m = results_find(r, name);
    return !m || put(row, width, fmt, factor * m->value);
}

static void training(const Results *r, size_t width, Text *row)
{
    const Measure *mfu = results_find(r, "train mfu (16-bit)");
    bool fits = put_measure(row, width, r, "train loss avg", "loss %7.4f", 1) &&
                put_measure(row, width, r, "grad norm avg", "norm %5.2f", 1) &&
                put_measure(row, width, r, "lr mean", "lr %.2e", 1) &&
                put_measure(row, width, r, "train samples/s", "%7.1f samples/s", 1);
    if (fits && mfu && mfu->value > 0) fits = put(row, width, "MFU %4.1f %%", 100 * mfu->value);
    if (fits) put_measure(row, width, r, "peak memory rank 0 (MB)", "%6.0f MB", 1);
}

static void evaluation(const Results *r, size_t width, Text *row)
{
    if (!r->losses.n) return;
    double loss = r->losses.item[0].value;
    const Measure *batches = results_find(r, "evaluation batches");
    bool fits = put(row, width, "loss %7.4f", loss);
    if (row->len + 2 + strlen(r->tag) <= width) text_printf(row, "  %s", r->tag);
    fits = fits && put(row, width, "perplexity %.4g", exp(loss));
    if (fits && batches) put(row, width, "of %.0f batches", (double)batches->count);
}

void results_row(const Results *r, const char *time_of_day, int width, Text *out)
{
    Text row = { 0 };
    text_printf(&row, "%s  step %6" PRId64, time_of_day, r->step);
    (r->is_evaluation ? evaluation : training)(r, (size_t)width, &row);
    text_add(out, row.ptr, row.len);
    text_free(&row);
}
