/* hf_config_neo.c - the options of GPT-Neo: which layers see all keys, and what others call
 * otherwise. */
#include "models/hf_config_parts.h"
#include <string.h>

enum { OF_CLASS = 24 }; /* layers, where the file says nothing */

static const char *kind_of(const char *name)
{
    return !name                     ? NULL
           : !strcmp(name, "global") ? "full_attention"
           : !strcmp(name, "local")  ? "sliding_attention"
                                     : NULL;
}

/* Adds what an item of attention_types says: kinds, and how often they follow each other. */
static bool add_kinds(const HfReading *r, const Yaml *item, StringList *to)
{
    const bool fits = item->type == YAML_LIST && item->n == 2 && item->item[0]->type == YAML_LIST &&
                      item->item[1]->type == YAML_INT && item->item[1]->integer > 0;
    if (!fits) return false;
    const Yaml *kinds = item->item[0];
    const int64_t n = *r->c.num_hidden_layers;
    if (kinds->n == 0 || item->item[1]->integer > (n - to->n) / kinds->n) return false;
    for (int64_t k = 0; k < kinds->n * item->item[1]->integer; k++) {
        const Yaml *kind = kinds->item[k % kinds->n];
        to->item[to->n] = kind_of(kind->type == YAML_STRING ? kind->text : NULL);
        if (!to->item[to->n++]) return false;
    }
    return true;
}

static Error *read_kinds(HfReading *r)
{
    const Yaml *types = yaml_get(r->root, "attention_types");
    const int64_t n = *r->c.num_hidden_layers;
    StringList *list = NEW(r->arena, StringList);
    list->item = NEW_N(r->arena, const char *, n);
    r->c.layer_types = list;
    if (!types || types->type == YAML_NULL) {
        for (; list->n < n; list->n++)
            list->item[list->n] = kind_of(list->n % 2 ? "local" : "global");
        if (n == OF_CLASS) return NULL;
        return hf_unknown(r, hf_count(r, "num_layers") ? "num_layers" : "num_hidden_layers",
                          "without attention_types only 24 is");
    }
    bool fits = types->type == YAML_LIST;
    for (int64_t i = 0; fits && i < types->n; i++) fits = add_kinds(r, types->item[i], list);
    if (fits && list->n == n) return NULL;
    return hf_unknown(r, "attention_types",
                      "each layer is global or local: lists of kinds with the number of their "
                      "repetitions, for as many layers as there are");
}

Error *hf_read_neo(HfReading *r)
{
    HfConfig *c = &r->c;
    const int64_t *layers = hf_count(r, "num_layers"), *named = c->num_hidden_layers;
    int64_t *hidden = NEW(r->arena, int64_t), *n = NEW(r->arena, int64_t);
    *hidden = 4 * c->hidden_size;
    *n = layers ? *layers : named ? *named : OF_CLASS;
    if (*n < 1 || *n > 1000) return hf_unknown(r, "num_layers", "allowed are 1 to 1000");
    c->num_hidden_layers = n;
    if (!c->num_attention_heads) c->num_attention_heads = c->num_heads;
    if (!c->intermediate_size) c->intermediate_size = hidden;
    return read_kinds(r);
}
