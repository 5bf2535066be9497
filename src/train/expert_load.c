/* expert_load.c - takes the shares of experts from the outputs of a training program. */
#include "train/expert_load.h"
#include "models/decoder.h"

void expert_load_new(Arena *a, const Model *m, ExpertLoad *out)
{
    const Decoder *d = decoder_of(m);
    int n = 0;
    *out = (ExpertLoad){ 0 };
    if (!d || !d->moe) return;
    out->n = moe_all_experts(d->moe);
    out->output = NEW_N(a, const char *, out->n);
    for (int64_t i = 0; i < out->n; i++) out->output[i] = moe_share_name(a, i);
    out->name[n++] = "expert load max";
    out->name[n++] = "expert load min";
    out->name[n++] = "expert pairs dropped";
    for (int64_t i = 0; i < out->n && out->n <= MAX_SHOWN_EXPERTS; i++)
        out->name[n++] = arena_printf(a, "expert load/%lld", (long long)i);
}

static double sum_of(const Program *p, const char *name, int64_t n_microbatches)
{
    double sum = 0;
    for (int64_t m = 0; m < n_microbatches && program_has_scalar(p, name); m++)
        sum += program_scalar(p, name, m);
    return sum;
}

/* Ranks of one microbatch (tp, cp) have the same shares, which multiplies all of them alike. */
Error *expert_load_take(ExpertLoad *l, const Program *p, int64_t n_microbatches,
                        Consensus *together)
{
    if (!l->n) return NULL;
    Arena *a = arena_new();
    double *share = NEW_N(a, double, l->n + 1), all = 0, most = 0, least = INFINITY;
    for (int64_t i = 0; i < l->n; i++) share[i] = sum_of(p, l->output[i], n_microbatches);
    share[l->n] = sum_of(p, MOE_DROPPED, n_microbatches);
    Error *e = consensus_sum(together, share, (int)(l->n + 1));
    for (int64_t i = 0; i < l->n; i++) all += share[i];
    for (int64_t i = 0; i < l->n; i++) {
        const double load = all > 0 ? share[i] * (double)l->n / all : 0;
        if (load > most) most = load;
        if (load < least) least = load;
        if (l->n <= MAX_SHOWN_EXPERTS) l->value[N_LOAD_SUMMARIES + i] = load;
    }
    l->value[0] = most;
    l->value[1] = least;
    l->value[2] = all > 0 ? share[l->n] / all : 0;
    arena_free(a);
    return e;
}
