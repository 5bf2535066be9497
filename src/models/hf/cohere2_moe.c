/* cohere2_moe.c - what Cohere's mixtures have of their own: dense layers in front, whose
 * windows have a pattern of theirs, either kind of norm, and two ways to add shared experts. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

typedef struct Options {
    const int64_t *prefix_dense_intermediate_size;
    int64_t prefix_dense_sliding_window_pattern;
    const char *expert_selection_fn, *shared_expert_combination_strategy;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, prefix_dense_intermediate_size, "null", "width of feed-forward layers that are not sparse; null: as experts"),
    HF_COUNT(Options, prefix_dense_sliding_window_pattern, "1", "each such dense layer sees all keys; 1: and their positions turn"),
    FIELD_STRING(Options, expert_selection_fn, "null", "scores of the router"),
    FIELD_STRING(Options, shared_expert_combination_strategy, "null", "how shared experts are added"),
    { 0 },
};
/* clang-format on */

/* After the norms: the other kind where its eps is given. */
static Error *adjust(HfReading *r)
{
    Decoder *d = r->d;
    const int64_t *hidden = ((const Options *)r->own)->prefix_dense_intermediate_size;
    if (hidden) d->hidden = *hidden;
    if (!r->c.rms_norm_eps) return NULL;
    Norm *n = arena_copy(r->arena, d->usual_norm, sizeof *n);
    n->type = NORM_PYTORCH_RMS;
    n->eps = *r->c.rms_norm_eps;
    d->head_norm = d->usual_norm = d->attention_norm = n;
    return NULL;
}

/* A softmax over the logits of a token's experts alone has a sum of 1. */
static Error *read_router(const HfReading *r, Moe *m)
{
    static const char way_key[] = "shared_expert_combination_strategy";
    const HfConfig *c = &r->c;
    const Options *o = r->own;
    const char *score = o->expert_selection_fn ? o->expert_selection_fn : "softmax",
               *way = o->shared_expert_combination_strategy ? o->shared_expert_combination_strategy
                                                            : "average";
    const bool is_softmax = !strcmp(score, "softmax"), is_mean = !strcmp(way, "average");
    if (!is_softmax && strcmp(score, "sigmoid") != 0)
        return hf_unknown(r, "expert_selection_fn", "known are softmax and sigmoid");
    if (!is_mean && strcmp(way, "sum") != 0)
        return hf_unknown(r, way_key, "known are average and sum");
    m->score = is_softmax ? SCORE_SOFTMAX : SCORE_SIGMOID;
    m->normalize |= is_softmax;
    m->aux_loss = 0;
    m->shared_hidden = c->num_shared_experts ? *c->num_shared_experts * m->hidden : 0;
    if (m->shared_hidden && is_mean) m->factor = m->shared_factor = 0.5;
    return NULL;
}

/* Where nothing says which layers have windows; those of dense layers have a pattern of their own.
 */
static bool is_local(const HfReading *r, int64_t i)
{
    const HfConfig *c = &r->c;
    const Options *o = r->own;
    const int64_t n_dense = c->first_k_dense_replace ? *c->first_k_dense_replace : 0,
                  pattern = (int64_t)hf_number(r->root, "sliding_window_pattern", 4);
    if (i < n_dense) return (i + 1) % o->prefix_dense_sliding_window_pattern != 0;
    return (i - n_dense + 1) % pattern != 0;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    const HfConfig *c = &r->c;
    const Options *o = r->own;
    const Yaml *v = c->sliding_window;
    const int64_t window = !v ? r->family->window : v->type == YAML_INT ? v->integer : 0;
    for (int64_t i = 0; i < r->d->n_layer; i++) {
        DecoderLayer *l = &layer[i];
        if (!c->layer_types) l->window = is_local(r, i) ? window : 0;
        const bool is_forced = !l->is_sparse && o->prefix_dense_sliding_window_pattern == 1;
        l->n_rope = l->window > 0 || is_forced;
    }
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    const Moe *m = d->moe;
    if (!m) return;
    bool turns = true;
    for (int64_t i = 0; i < d->n_layer; i++)
        if (!d->layer[i].is_sparse && !d->layer[i].window) turns = d->layer[i].n_rope;
    hf_put_text(t, "expert_selection_fn", m->score == SCORE_SIGMOID ? "sigmoid" : "softmax");
    hf_put_text(t, "shared_expert_combination_strategy",
                m->shared_factor == 0.5 ? "average" : "sum");
    hf_put_int(t, "num_shared_experts", m->shared_hidden / m->hidden);
    if (d->hidden) hf_put_int(t, "prefix_dense_intermediate_size", d->hidden);
    hf_put_int(t, "prefix_dense_sliding_window_pattern", turns ? 1 : 2);
    if (d->usual_norm->type != NORM_LAYER) hf_put_double(t, "rms_norm_eps", d->usual_norm->eps);
}

const HfDialect hf_cohere2_moe = { .fields = fields,
                                   .size = sizeof(Options),
                                   .adjust = adjust,
                                   .router = read_router,
                                   .layers = read_layers,
                                   .add = add_members };
