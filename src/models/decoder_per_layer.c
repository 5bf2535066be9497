/* decoder_per_layer.c - embeddings of each block, beside those that the stream begins with (Gemma
 * 3n, Gemma 4): a narrow vector for each token id and block. */
#include "models/decoder_build.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/features.h"
#include "ops/reshape.h"
#include "ops/sequence.h"

/* Vectors of all blocks lie side by side: [b s (l d)]. They are cut apart here, outside of the
 * blocks, so that each stage of a pipeline gets those of its blocks alone. */
Value **per_layer_embeddings(Build *b, Value *ids, Value *x)
{
    const Decoder *d = b->d;
    const PerLayerEmbedding *p = d->per_layer;
    Graph *g = b->g;
    if (!p) return NULL;
    const int64_t all = p->width * d->n_layer;
    const Linear into = { all, NULL, "embed", false, ROLE_LINEAR };
    Value *table = embedding_table(g, "wte_per_layer", p->vocab_size, all, "vocab", ROLE_EMBEDDING);
    if (p->vocab_size < d->vocab_size) ids = ids_below(g, ids, p->vocab_size);
    Value *own = embed(g, ids, table);
    if (p->scale != 0) own = scale(g, own, p->scale);
    Value *made = scale(g, linear(g, "per_layer_proj", x, &into), 1 / sqrt((double)d->width));
    const char *blocks = arena_printf(g->arena, "l=%lld", (long long)d->n_layer);
    made = norm(g, "per_layer_norm", reshape(g, "bs(ld)->bsld", blocks, made), p->norm);
    made = reshape(g, "bsld->bs(ld)", NULL, made);
    Value *mean = scale(g, add(g, made, own), 1 / sqrt(2.0));
    Value **vector = NEW_N(g->arena, Value *, d->n_layer);
    for (int64_t i = 0; i < d->n_layer; i++)
        vector[i] = d->n_layer > 1 ? slice_features(g, mean, i * p->width, p->width) : mean;
    return vector;
}

Value *per_layer_given(Build *b, Value *x, Value *vector)
{
    const Decoder *d = b->d;
    const PerLayerEmbedding *p = d->per_layer;
    Graph *g = b->g;
    const Linear in = { p->width, NULL, "embed", false, ROLE_LINEAR },
                 out = { d->width, "embed", NULL, false, ROLE_RESIDUAL };
    Value *y = gate(g, linear(g, "per_layer_gate", x, &in), vector, d->activation, 0);
    return norm(g, "per_layer_post_norm", linear(g, "per_layer_out", y, &out), p->post_norm);
}
