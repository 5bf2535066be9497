/* gpt_neo.c - the options of GPT-Neo: which layers see all keys, and what others call
 * otherwise. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

const HfName hf_gpt_neo_names[] = {
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.attn.attention.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.attn.attention.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.attn.attention.v_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.attn.attention.out_proj.*", HF_SAME },
    { "transformer.h.%.mlp.c_fc.*", "transformer.h.%.mlp.c_fc.*", HF_SAME },
    { "transformer.h.%.mlp.c_proj.*", "transformer.h.%.mlp.c_proj.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const int64_t *num_layers;
    const Yaml *attention_types;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_INT(Options, num_layers, "null", 1, 1000, "blocks"),
    FIELD_ANY(Options, attention_types, "null", "lists of kinds, each with the number of its repetitions"),
    { 0 },
};
/* clang-format on */

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

static Error *read_kinds(HfReading *r, const Options *o)
{
    const Yaml *types = o->attention_types;
    const int64_t n = *r->c.num_hidden_layers;
    StringList *list = NEW(r->arena, StringList);
    list->item = NEW_N(r->arena, const char *, n);
    r->c.layer_types = list;
    if (!types || types->type == YAML_NULL) {
        for (; list->n < n; list->n++)
            list->item[list->n] = kind_of(list->n % 2 ? "local" : "global");
        if (n == OF_CLASS) return NULL;
        return hf_unknown(r, o->num_layers ? "num_layers" : "num_hidden_layers",
                          "without attention_types only 24 is");
    }
    bool fits = types->type == YAML_LIST;
    for (int64_t i = 0; fits && i < types->n; i++) fits = add_kinds(r, types->item[i], list);
    if (fits && list->n == n) return NULL;
    return hf_unknown(r, "attention_types",
                      "each layer is global or local: lists of kinds with the number of their "
                      "repetitions, for as many layers as there are");
}

static Error *read_options(HfReading *r)
{
    static const int64_t of_class = OF_CLASS;
    HfConfig *c = &r->c;
    const Options *o = r->own;
    int64_t *hidden = NEW(r->arena, int64_t);
    *hidden = 4 * c->hidden_size;
    if (o->num_layers) c->num_hidden_layers = o->num_layers;
    if (!c->num_hidden_layers) c->num_hidden_layers = &of_class;
    if (!c->num_attention_heads) c->num_attention_heads = c->num_heads;
    if (!c->intermediate_size) c->intermediate_size = hidden;
    return read_kinds(r, o);
}

static void write_kind(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_printf(item, "[[\"%s\"], 1]", l->window ? "local" : "global");
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    int64_t window = f->window;
    for (int64_t i = 0; i < d->n_layer; i++)
        if (d->layer[i].window) window = d->layer[i].window;
    hf_put_sizes(t, d, f, "hidden_size", "num_layers", "num_heads", "max_position_embeddings");
    hf_put_int(t, "intermediate_size", d->hidden);
    hf_put_text(t, f->activation_key, hf_old_activation_name(d));
    hf_put_int(t, f->window_key, window);
    hf_put_of_layers(t, "attention_types", d, write_kind);
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
}

const HfDialect hf_gpt_neo = {
    .fields = fields, .size = sizeof(Options), .read = read_options, .write = write_options
};
