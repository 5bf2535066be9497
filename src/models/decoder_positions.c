/* decoder_positions.c - what a decoder adds to embeddings by their positions: vectors that are
 * learned, or sines and cosines (Vaswani et al. 2017), of which all sines come first. */
#include "models/decoder_build.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/features.h"
#include "ops/positions.h"
#include "ops/rope.h"

/* Rows of a rotary table, sines in front. */
static Value *sinusoids(Graph *g, int64_t n_positions, int64_t width, double base)
{
    const int64_t half = width / 2;
    Value *table = rope_table(g, F32, n_positions, width, base, false);
    const Phase phase = g->phase;
    const int block = g->block;
    g->phase = PREPARE;
    g->block = -1;
    Value *sines = pad_features(g, slice_features(g, table, half, half), width),
          *cosines = place_features(g, slice_features(g, table, 0, half), half, width);
    table = add(g, sines, cosines);
    g->phase = phase;
    g->block = block;
    return table;
}

/* Positions begin again with each document. */
Value *decoder_with_positions(Build *b, Value *x)
{
    const Decoder *d = b->d;
    const int64_t first = d->unused_positions, n = first + d->sequence_length;
    Graph *g = b->g;
    if (!d->learned_positions && d->sinusoidal_base == 0) return x;
    Value *table = d->learned_positions
                       ? embedding_table(g, "wpe", n, d->width, NULL, ROLE_POSITION)
                       : sinusoids(g, n, d->width, d->sinusoidal_base);
    if (!b->documents) return add_positions(g, x, table, first);
    return add(g, x, embed(g, document_positions(g, b->documents, first), table));
}
