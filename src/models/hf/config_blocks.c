/* config_blocks.c - classes whose blocks are one layer each: which one. */
#include "models/hf/config_parts.h"
#include <string.h>

/* 0: there is no such type. */
static char letter_of(const char *type)
{
    static const struct {
        const char *type;
        char letter;
    } row[] = { { "linear_attention", 'M' }, { "mamba", 'M' }, { "full_attention", '*' },
                { "attention", '*' },        { "mlp", '-' },   { "moe", 'E' } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (!strcmp(row[i].type, type)) return row[i].letter;
    return 0;
}

static Error *read_types(HfReading *r, const StringList *types)
{
    char *letters = arena_alloc(r->arena, (size_t)types->n + 1);
    for (int64_t i = 0; i < types->n; i++) {
        letters[i] = letter_of(types->item[i]);
        if (!letters[i])
            return hf_unknown(r, "layers_block_type",
                              "each block is linear_attention, full_attention, mlp or moe");
    }
    letters[types->n] = 0;
    r->blocks = letters;
    return NULL;
}

/* What the class has where config.json is silent. */
static const char silent[] = "ME*-";

Error *hf_read_blocks(HfReading *r)
{
    const HfConfig *c = &r->c;
    const char *pattern = c->hybrid_override_pattern ? c->hybrid_override_pattern : silent;
    if (r->family->no_attention) {
        char *letters = arena_alloc(r->arena, (size_t)r->d->n_layer + 1);
        memset(letters, 'M', (size_t)r->d->n_layer);
        letters[r->d->n_layer] = 0;
        r->blocks = letters;
        return NULL;
    }
    if (c->layers_block_type) {
        TRY(read_types(r, c->layers_block_type));
    } else {
        r->blocks = pattern;
        if (!*pattern || pattern[strspn(pattern, silent)])
            return hf_unknown(r, "hybrid_override_pattern", "each letter is one of M, E, * and -");
    }
    r->d->n_layer = (int64_t)strlen(r->blocks);
    if (strchr(r->blocks, 'E') && c->mlp_bias && *c->mlp_bias)
        return hf_unknown(r, "mlp_bias", "only false is beside mixtures: shared experts have none");
    return NULL;
}
