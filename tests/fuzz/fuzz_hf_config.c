/* fuzz_hf_config.c - any config.json: an error, or a model that is written as a config.json of the
 * same, and whose queries and keys lie each at a place of their own in the tensors of the class, as
 * do the parts of linear attention and of state spaces. */
#include "fuzz.h"
#include "models/decoder_difference.h"
#include "models/hf/source.h"
#include "models/hf/write.h"
#include <string.h>

enum { MOST_ROWS = 4096 };

#define ATTENTION "transformer.h.0.attn."
#define LINEAR "transformer.h.0.linear_attn."

/* Weights with one column, that may share a tensor: no two of their rows share an element of it. */
typedef struct Share {
    const char *param;
    int64_t heads, width;
} Share;

static void check_rows(Arena *a, const HfModel *m, const Share *part, int n)
{
    bool *taken = NULL;
    int64_t all = 0;
    for (int k = 0; k < n; k++)
        if (part[k].heads > MOST_ROWS || part[k].width > MOST_ROWS ||
            part[k].heads * part[k].width > MOST_ROWS)
            return;
    for (int k = 0; k < n; k++) {
        HfSource s;
        const int64_t size[] = { part[k].heads * part[k].width, 1 };
        CHECK(!hf_source(a, m->family, m->decoder, part[k].param, 2, size, &s));
        if (!taken) {
            all = s.size[0] * s.size[1];
            taken = NEW_N(a, bool, all);
            for (int64_t i = 0; i < all; i++) taken[i] = false;
        }
        CHECK(all == s.size[0] * s.size[1]);
        for (int64_t i = 0; i < size[0]; i++) {
            const int64_t at = hf_source_row(&s, i);
            CHECK(at >= 0 && at < all && !taken[at]);
            taken[at] = true;
        }
    }
}

/* Whether keys lie in the tensor that queries do. */
static bool share_tensor(Arena *a, const HfModel *m)
{
    const int64_t size[] = { 1, 1 };
    HfSource queries, keys;
    CHECK(!hf_source(a, m->family, m->decoder, ATTENTION "q_attn.weight", 2, size, &queries));
    CHECK(!hf_source(a, m->family, m->decoder, ATTENTION "k_attn.weight", 2, size, &keys));
    return !strcmp(queries.tensor[0], keys.tensor[0]);
}

static bool has_attention(const Decoder *d)
{
    for (int64_t k = 0; k < d->n_layer; k++)
        if (d->layer[k].mixer == MIXER_ATTENTION || d->layer[k].mixer == MIXER_BOTH) return true;
    return false;
}

static void check_heads(Arena *a, const HfModel *m)
{
    const Decoder *d = m->decoder;
    if (!has_attention(d)) return;
    const Latent *l = d->latent;
    const bool has_vector = l && l->query_rank;
    check_rows(a, m,
               &(Share){ has_vector ? ATTENTION "q_up.weight" : ATTENTION "q_attn.weight",
                         d->n_head_q, d->head_width },
               1);
    if (!l) {
        const Share all[] = { { ATTENTION "q_attn.weight", d->n_head_q, d->head_width },
                              { ATTENTION "k_attn.weight", d->n_head_kv, d->head_width },
                              { ATTENTION "v_attn.weight", d->n_head_kv,
                                d->value_width ? d->value_width : d->head_width } };
        check_rows(a, m, &all[1], 1);
        if (share_tensor(a, m)) check_rows(a, m, all, 3);
        return;
    }
    const Share narrow[] = { { ATTENTION "kv_latent.weight", 1, l->key_rank },
                             { ATTENTION "k_rope.weight", 1, l->turning } },
                wide[] = { { ATTENTION "k_attn.weight", d->n_head_q, d->head_width - l->turning },
                           { ATTENTION "v_attn.weight", d->n_head_q, l->value_width } };
    check_rows(a, m, narrow, 2);
    check_rows(a, m, wide, 2);
}

static void check_linear(Arena *a, const HfModel *m)
{
    const LinearAttention *l = m->decoder->linear;
    if (!l || l->is_state_space) return;
    const bool fused = m->family->first == hf_qwen3_next_names,
               apart = !m->family->gated_attention; /* each part has a tensor of its own */
    const Share gated[] = { { ATTENTION "q_attn.weight", m->decoder->n_head_q,
                              m->decoder->head_width },
                            { ATTENTION "g_attn.weight", m->decoder->n_head_q,
                              m->decoder->head_width } },
                products[] = { { LINEAR "q_attn.weight", l->key_heads, l->key_width },
                               { LINEAR "k_attn.weight", l->key_heads, l->key_width },
                               { LINEAR "v_attn.weight", l->value_heads, l->value_width },
                               { LINEAR "g_attn.weight", l->value_heads, l->value_width } },
                convolutions[] = { { LINEAR "q_conv.weight", l->key_heads, l->key_width },
                                   { LINEAR "k_conv.weight", l->key_heads, l->key_width },
                                   { LINEAR "v_conv.weight", l->value_heads, l->value_width } },
                gates[] = { { LINEAR "a_attn.weight", l->value_heads, 1 },
                            { LINEAR "b_attn.weight", l->value_heads, 1 } };
    if (l->fixed_decays) { /* all three of a head share a tensor, and there are no convolutions */
        check_rows(a, m, products, 3);
        return;
    }
    for (int k = 0; k < 3 && apart; k++) {
        check_rows(a, m, &products[k], 1);
        check_rows(a, m, &convolutions[k], 1);
    }
    if (apart) return;
    check_rows(a, m, gated, 2);
    check_rows(a, m, products, fused ? 4 : 3);
    check_rows(a, m, convolutions, 3);
    if (fused) check_rows(a, m, gates, 2);
}

static void check_space(Arena *a, const HfModel *m)
{
    const LinearAttention *l = m->decoder->linear;
    if (!l || !l->is_state_space) return;
    const Share products[] = { { LINEAR "g_attn.weight", l->value_heads, l->value_width },
                               { LINEAR "v_attn.weight", l->value_heads, l->value_width },
                               { LINEAR "k_attn.weight", l->key_heads, l->key_width },
                               { LINEAR "q_attn.weight", l->key_heads, l->key_width },
                               { LINEAR "a_attn.weight", l->value_heads, 1 } },
                convolutions[] = { { LINEAR "v_conv.weight", l->value_heads, l->value_width },
                                   { LINEAR "k_conv.weight", l->key_heads, l->key_width },
                                   { LINEAR "q_conv.weight", l->key_heads, l->key_width } };
    check_rows(a, m, products, 5);
    check_rows(a, m, convolutions, 3);
}

static void check_written(Arena *a, const HfModel *m)
{
    const HfFamily *family;
    Text text = { 0 };
    Error *e = hf_config_write(a, m->decoder, m->dtype, m->family, &family, &text);
    if (!e) {
        Yaml *root;
        HfModel again;
        CHECK(!yaml_parse(a, (Str){ text.ptr, text.len }, "config.json", &root));
        CHECK(!hf_config_parse(a, root, "config.json", &again));
        CHECK(!decoder_difference(a, m->decoder, again.decoder));
    }
    error_free(e);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    Yaml *root;
    HfModel m;
    Error *e = yaml_parse(a, (Str){ (const char *)data, size }, "config.json", &root);
    if (!e) e = hf_config_parse(a, root, "config.json", &m);
    if (!e) {
        check_written(a, &m);
        check_heads(a, &m);
        check_linear(a, &m);
        check_space(a, &m);
    }
    error_free(e);
    arena_free(a);
    return 0;
}
