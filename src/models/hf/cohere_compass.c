/* cohere_compass.c - what the language model of Cohere's Compass, North Micro Vision, calls
 * otherwise than Command R7B. */
#include "models/hf/config_parts.h"
#include "models/hf/write_values.h"

static const Field fields[] = { { 0 } };

/* Unlike in other classes of Cohere, no scale means 1. */
static Error *adjust(HfReading *r)
{
    const double scale = hf_number(r->root, "logit_scale", 1);
    if (!(scale > 0)) return hf_unknown(r, "logit_scale", "allowed are null and a number above 0");
    r->d->logit_divisor = scale == 1 ? 0 : 1 / scale;
    return NULL;
}

static void add_members(Text *t, const Decoder *d)
{
    hf_put_double(t, "logit_scale", d->logit_divisor != 0 ? 1 / d->logit_divisor : 1);
}

const HfDialect hf_cohere_compass = { .fields = fields, .adjust = adjust, .add = add_members };
