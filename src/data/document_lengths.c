/* document_lengths.c - a histogram with steps of constant relative width, and its picture. */
#include "data/document_lengths.h"
#include "base/error.h"

enum { STEP_BITS = 10, STEPS = 1 << STEP_BITS, N_STEPS = (64 - STEP_BITS) * STEPS };

/* Lengths below 2 * STEPS have a step each; then each power of two has STEPS of them. */
static int64_t step_of(int64_t length)
{
    if (length < STEPS) return length;
    int shift = 63 - __builtin_clzll((uint64_t)length) - STEP_BITS;
    return ((int64_t)shift << STEP_BITS) + (length >> shift);
}

static int64_t step_begin(int64_t step)
{
    if (step < 2 * STEPS) return step;
    int64_t shift = (step >> STEP_BITS) - 1;
    return (STEPS + (step & (STEPS - 1))) << shift;
}

DocumentLengths *document_lengths_new(Arena *a)
{
    DocumentLengths *d = NEW(a, DocumentLengths);
    d->count = NEW_N(a, int64_t, N_STEPS);
    return d;
}

void document_lengths_add(DocumentLengths *d, int64_t length)
{
    CHECK(length >= 0);
    d->count[step_of(length)]++;
    if (!d->n || length < d->shortest) d->shortest = length;
    if (length > d->longest) d->longest = length;
    d->sum += length;
    d->n++;
}

int64_t document_lengths_quantile(const DocumentLengths *d, double share)
{
    int64_t rank = (int64_t)(share * (double)(d->n - 1)), seen = 0;
    for (int64_t i = 0; i < N_STEPS; i++)
        if ((seen += d->count[i]) > rank) return step_begin(i);
    return 0;
}

/* Documents of [from, to), and roughly their tokens. */
static int64_t count_range(const DocumentLengths *d, int64_t from, int64_t to, double *tokens)
{
    int64_t n = 0;
    *tokens = 0;
    for (int64_t i = step_of(from), end = step_of(to - 1); i <= end; i++) {
        n += d->count[i];
        *tokens += (double)d->count[i] * (double)step_begin(i);
    }
    return n;
}

/* Eighths of a cell where the terminal has them. */
static void put_bar(Text *out, double share, int width, bool is_utf8)
{
    static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    int n = (int)(share * width * 8 + 0.5), n_cells = n / 8, used = n_cells;
    if (share > 0 && n == 0) n = 1; /* what is there is seen */
    for (int i = 0; i < n_cells; i++) text_puts(out, is_utf8 ? "█" : "#");
    if (is_utf8 && n % 8) {
        text_puts(out, eighths[n % 8]);
        used++;
    } else if (!is_utf8 && !n_cells && n) {
        text_putc(out, '.');
        used++;
    }
    text_printf(out, "%*s", width - used, "");
}

void document_lengths_draw(const DocumentLengths *d, int width, bool is_utf8, Text *out)
{
    enum { FIXED = 2 * 11 + 4 + 12 + 10, MOST_ROWS = 64 };
    int bar = width - FIXED < 10 ? 10 : width - FIXED > 60 ? 60 : width - FIXED;
    int64_t from[MOST_ROWS], to[MOST_ROWS], n[MOST_ROWS], most = 1, n_rows = 0;
    double tokens[MOST_ROWS];
    if (!d->n) return;
    int64_t begin =
        d->shortest < 1 ? 0 : INT64_C(1) << (63 - __builtin_clzll((uint64_t)d->shortest));
    for (; begin <= d->longest && n_rows < MOST_ROWS; begin = to[n_rows++]) {
        from[n_rows] = begin;
        to[n_rows] = begin ? begin * 2 : 1;
        n[n_rows] = count_range(d, begin, to[n_rows], &tokens[n_rows]);
        if (n[n_rows] > most) most = n[n_rows];
    }
    text_printf(out, "%24s  %*s%11s%10s\n", "tokens", bar, "", "documents", "of tokens");
    for (int64_t i = 0; i < n_rows; i++) {
        text_printf(out, "%10lld to %10lld  ", (long long)from[i], (long long)to[i] - 1);
        put_bar(out, (double)n[i] / (double)most, bar, is_utf8);
        double share = d->sum ? 100 * tokens[i] / (double)d->sum : 0;
        text_printf(out, "%11lld%8.1f %%\n", (long long)n[i], share > 100 ? 100 : share);
    }
}
