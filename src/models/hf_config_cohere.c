/* hf_config_cohere.c - what Cohere's mixtures have of their own: dense layers in front, whose
 * windows have a pattern of theirs, either kind of norm, and two ways to add shared experts. */
#include "models/hf_config_parts.h"
#include <string.h>

/* After the norms: the other kind where its eps is given. */
void hf_read_cohere(HfReading *r)
{
    Decoder *d = r->d;
    const int64_t *hidden = r->c.prefix_dense_intermediate_size;
    if (hidden) d->hidden = *hidden;
    if (!r->c.rms_norm_eps) return;
    Norm *n = arena_copy(r->arena, d->head_norm, sizeof *n);
    n->type = NORM_PYTORCH_RMS;
    n->eps = *r->c.rms_norm_eps;
    d->head_norm = d->attention_norm = n;
}

/* A softmax over the logits of a token's experts alone has a sum of 1. */
Error *hf_read_cohere_router(const HfReading *r, Moe *m)
{
    static const char way_key[] = "shared_expert_combination_strategy";
    const HfConfig *c = &r->c;
    const char *score = c->expert_selection_fn ? c->expert_selection_fn : "softmax",
               *way = c->shared_expert_combination_strategy ? c->shared_expert_combination_strategy
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
    const int64_t n_dense = c->first_k_dense_replace ? *c->first_k_dense_replace : 0,
                  pattern = (int64_t)hf_number(r->root, "sliding_window_pattern", 4);
    if (i < n_dense) return (i + 1) % c->prefix_dense_sliding_window_pattern != 0;
    return (i - n_dense + 1) % pattern != 0;
}

void hf_read_cohere_layers(HfReading *r, DecoderLayer *layer)
{
    const HfConfig *c = &r->c;
    const Yaml *v = c->sliding_window;
    const int64_t window = !v ? r->family->window : v->type == YAML_INT ? v->integer : 0;
    for (int64_t i = 0; i < r->d->n_layer; i++) {
        DecoderLayer *l = &layer[i];
        if (!c->layer_types) l->window = is_local(r, i) ? window : 0;
        const bool is_forced = !l->is_sparse && c->prefix_dense_sliding_window_pattern == 1;
        l->n_rope = l->window > 0 || is_forced;
    }
}
