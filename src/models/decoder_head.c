/* decoder_head.c - what is between a decoder's stream and its table and head: products of an
 * embedding_width, a transform in front of the head, and the head itself. */
#include "models/decoder_build.h"
#include "ops/contract.h"
#include "ops/elementwise.h"

int64_t decoder_table_width(const Decoder *d)
{
    return d->embedding_width ? d->embedding_width : d->width;
}

/* The weights between the table and the stream, and between that and what the head reads. */
static void make_products(Build *b)
{
    const int64_t narrow = b->d->embedding_width;
    const Linear in = { b->d->width, "embed", NULL, false, ROLE_LINEAR },
                 out = { narrow, NULL, "embed", false, ROLE_LINEAR };
    if (!narrow) return;
    b->embed_in = linear_weight(b->g, "embed_in", narrow, &in);
    b->embed_out = linear_weight(b->g, "embed_out", b->d->width, &out);
}

/* The parameters of a transform in front of the head, which blocks for later tokens have, too. */
static void make_transform(Build *b)
{
    static const char name[] = "head_transform";
    const int64_t width = b->d->width;
    const HeadTransform *t = b->d->head_transform;
    const Linear same = { width, "embed", "embed", false, ROLE_LINEAR };
    const Dim features = { .size = width, .axis = "embed" };
    if (!t) return;
    b->head_transform.weight = linear_weight(b->g, name, width, &same);
    if (t->bias) {
        b->head_transform.bias =
            layer_param(b->g, name, "bias", 1, &features, ROLE_LINEAR, init_of_linear(width));
        b->head_transform.bias->is_bias = true;
    }
    b->head_transform.norm = norm_params(b->g, "head_transform_norm", t->norm);
}

static Value *transformed(Build *b, Value *x)
{
    const HeadTransform *t = b->d->head_transform;
    if (!t) return x;
    x = contract(b->g, "*k,nk->*n", x, b->head_transform.weight);
    if (t->bias) x = add_bias(b->g, x, b->head_transform.bias);
    return norm_by(b->g, b->head_transform.norm, activate(b->g, x, t->activation), t->norm);
}

Value *decoder_head_input(Build *b, Value *x)
{
    x = transformed(b, x);
    if (b->embed_out) x = contract(b->g, "*k,nk->*n", x, b->embed_out);
    return b->d->logit_divisor != 0 ? scale(b->g, x, 1 / b->d->logit_divisor) : x;
}

void decoder_head_begin(Build *b)
{
    make_products(b);
    make_transform(b);
}

static Value *bias_of_head(Graph *g, const Decoder *d)
{
    const Dim ids = { .size = d->vocab_size, .axis = "vocab" };
    Value *bias = layer_param(g, "lm_head", "bias", 1, &ids, ROLE_HEAD,
                              init_of_linear(decoder_table_width(d)));
    bias->is_bias = true;
    return bias;
}

void decoder_head(Build *b, Value *table, ModelOutput *out)
{
    const Decoder *d = b->d;
    const Linear head = { d->vocab_size, "vocab", "embed", false, ROLE_HEAD };
    out->head = d->is_tied ? table : linear_weight(b->g, "lm_head", decoder_table_width(d), &head);
    if (d->head_bias) out->head_bias = bias_of_head(b->g, d);
}
