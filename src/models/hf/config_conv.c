/* config_conv.c - short convolutions (LFM2), and the width of the feed-forward layers beside
 * them.
 */
#include "models/hf/config_parts.h"

Error *hf_read_conv(HfReading *r)
{
    const ShortConv s = { .width = r->c.conv_L_cache, .bias = r->c.conv_bias };
    if (s.width < 2) return hf_unknown(r, "conv_L_cache", "a convolution sees at least 2 tokens");
    if (r->d->activation != ACTIVATE_SILU)
        return hf_unknown(r, "hidden_act", "only silu is: the class asks for no other");
    r->d->short_conv = arena_copy(r->arena, &s, sizeof s);
    return NULL;
}

/* Two thirds, times a factor, up to a multiple; without a factor (null) as it is then. */
Error *hf_adjust_hidden(HfReading *r)
{
    const HfConfig *c = &r->c;
    const Yaml *factor = yaml_get(r->root, "block_ffn_dim_multiplier");
    if (!c->block_auto_adjust_ff_dim) return NULL;
    double hidden = floor(2 * (double)r->d->hidden / 3);
    if (!factor || factor->type != YAML_NULL) {
        const double n = (double)c->block_multiple_of,
                     times = c->block_ffn_dim_multiplier ? *c->block_ffn_dim_multiplier : 1;
        hidden = n * ceil(floor(times * hidden) / n);
    }
    if (!(hidden >= 1 && hidden <= 2147483647))
        return hf_unknown(r, "block_ffn_dim_multiplier", "no feed-forward layer is of that width");
    r->d->hidden = (int64_t)hidden;
    return NULL;
}
