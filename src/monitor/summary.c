/* summary.c - a track of numbers in a few. */
#include "monitor/summary.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool summarise(const Track *t, Summary *s)
{
    *s = (Summary){ .first = NAN, .least = INFINITY, .greatest = -INFINITY };
    for (int64_t i = 0; t && i < t->n; i++) {
        double v = t->value[i];
        if (isnan(v)) continue;
        if (isnan(s->first)) s->first = v;
        s->last = v;
        s->last_step = t->step[i];
        if (v < s->least) {
            s->least = v;
            s->least_step = t->step[i];
        }
        if (v > s->greatest) {
            s->greatest = v;
            s->greatest_step = t->step[i];
        }
    }
    return !isnan(s->first);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double median(Arena *a, const Track *t)
{
    int64_t n = 0;
    double *v = NEW_N(a, double, t ? t->n + 1 : 1);
    for (int64_t i = 0; t && i < t->n; i++)
        if (!isnan(t->value[i])) v[n++] = t->value[i];
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n ? v[n / 2] : NAN;
}

double track_at(const Track *t, double step)
{
    double value = NAN;
    for (int64_t i = 0; t && i < t->n && t->step[i] <= step; i++) value = t->value[i];
    return value;
}

bool is_evaluation_loss(const History *h, const Track *t)
{
    return t->is_loss && history_find(h, t->tag, "evaluation_num_samples_per_second");
}

/* The loss function's name only where a loader has several. */
const char *loss_name(Arena *a, const History *h, const Track *t)
{
    int n = 0;
    for (int64_t i = 0; i < h->n; i++) n += h->track[i].is_loss && !strcmp(h->track[i].tag, t->tag);
    return arena_printf(a, "%s %s", t->tag, n > 1 ? t->key : "loss");
}
