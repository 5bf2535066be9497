/* write_selective.c - selective state spaces (Mamba), and the periods of Jamba's layers. */
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

void hf_put_selective(Text *t, const Decoder *d, const HfFamily *f)
{
    const Selective *s = d->selective;
    const HfSelectiveKeys *k = f->selective;
    if (k->own_width) hf_put_int(t, "intermediate_size", s->width);
    hf_put_int(t, k->expand, s->width > d->width ? s->width / d->width : 1);
    hf_put_int(t, k->state_width, s->state_width);
    hf_put_int(t, k->conv_width, s->conv_width);
    hf_put_int(t, k->step_rank, s->step_rank);
    hf_put_bool(t, k->conv_bias, s->conv_bias);
    hf_put_bool(t, k->bias, s->bias);
    if (k->norm_eps && k->own_width && s->norm) hf_put_double(t, k->norm_eps, s->norm->eps);
}

static bool attends(const DecoderLayer *l)
{
    return l->mixer == MIXER_ATTENTION;
}

static bool is_sparse(const DecoderLayer *l)
{
    return l->is_sparse;
}

/* Of the layers that are so: from the first one on, at the distance of the second one. */
static void put_period(Text *t, const Decoder *d, const char *period_key, const char *offset_key,
                       bool (*is)(const DecoderLayer *))
{
    const int64_t n = d->n_layer;
    int64_t first = 0, second;
    while (first < n && !is(&d->layer[first])) first++;
    second = first + 1;
    while (second < n && !is(&d->layer[second])) second++;
    /* a single one, or none, comes once; so do others that no period gives, which is told */
    const int64_t alone = first + 1 > n - first ? first + 1 : n - first;
    hf_put_int(t, period_key, second < n && second - first > first ? second - first : alone);
    hf_put_int(t, offset_key, first);
}

void hf_put_periods(Text *t, const Decoder *d)
{
    put_period(t, d, "attn_layer_period", "attn_layer_offset", attends);
    put_period(t, d, "expert_layer_period", "expert_layer_offset", is_sparse);
    if (!d->moe) hf_put_int(t, "num_experts", 1);
}
