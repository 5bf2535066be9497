/* source.c - where a parameter lies in the tensors of a family: their names, parts of them, and
 * the order of their rows. */
#include "models/hf/source.h"
#include "ops/xielu.h"
#include <stdlib.h>
#include <string.h>

const HfShared hf_shared[] = { { "model.embed_tokens.weight", "embed_tokens.weight" },
                               { "lm_head.weight", "shared_head.head.weight" },
                               { 0 } };

/* Whether the pattern fits; *layer, *number and *rest are what `%`, `#` and `*` stand for. */
static bool fits(const char *pattern, const char *name, int64_t *layer, int64_t *number,
                 const char **rest)
{
    for (; *pattern && *pattern != '*'; pattern++) {
        if (*pattern != '%' && *pattern != '#') {
            if (*name++ != *pattern) return false;
            continue;
        }
        char *end;
        if (*name < '0' || *name > '9') return false;
        *(*pattern == '%' ? layer : number) = strtoll(name, &end, 10);
        name = end;
    }
    *rest = name;
    if (!*pattern) return !*name;
    return !strcmp(name, "weight") || !strcmp(name, "bias");
}

/* `per_layer` blocks are a layer of the file. */
static const char *filled(Arena *a, const char *pattern, int64_t block, int64_t per_layer,
                          int64_t expert, const char *rest)
{
    Text t = { 0 };
    for (const char *p = pattern; *p; p++) {
        if (*p == '*')
            text_puts(&t, rest);
        else if (*p == '%')
            text_printf(&t, "%lld", (long long)(block / per_layer));
        else if (*p == '@')
            text_printf(&t, "%lld", (long long)(block % per_layer));
        else if (*p == '#')
            text_printf(&t, "%lld", (long long)expert);
        else
            text_putc(&t, *p);
    }
    const char *s = arena_string(a, t.ptr);
    text_free(&t);
    return s;
}

const HfConstant *hf_constants(const HfFamily *f, const Decoder *d)
{
    static const HfConstant of_xielu[] = { { "model.layers.%.mlp.act_fn.beta", XIELU_BETA },
                                           { "model.layers.%.mlp.act_fn.eps", XIELU_EPS },
                                           { 0 } },
                            none[] = { { 0 } };
    return f->xielu && d->activation == ACTIVATE_XIELU ? of_xielu : none;
}

const char *hf_constant_name(Arena *a, const HfConstant *c, int64_t layer)
{
    return filled(a, c->name, layer, 1, 0, "");
}

bool hf_takes_ahead(const HfFamily *f, const Decoder *d, const char **why)
{
    const MultiToken *m = d->multi_token;
    *why = !m                                  ? NULL
           : !f->keys.num_nextn_predict_layers ? "the class predicts the next token alone"
           : !m->behind_norm
               ? "they read the stream itself, those of the class behind the head's norm"
               : NULL;
    for (int64_t i = 0; m && !*why && i < m->depth; i++)
        if (!d->layer[d->n_layer + i].is_sparse)
            *why = "those of the class are mixtures of experts";
    return m && !*why;
}

/* Rows of a tensor that lie before those of a parameter with `rows` of them, and all. */
static void place_rows(const Decoder *d, HfLayout layout, int64_t rows, int64_t *before,
                       int64_t *all)
{
    const int64_t queries = d->n_head_q * d->head_width, keys = d->n_head_kv * d->head_width;
    *before = layout == HF_SECOND_HALF    ? rows
              : layout == HF_KEYS         ? queries
              : layout == HF_VALUES       ? queries + keys
              : layout >= HF_HEAD_QUERIES ? (layout - HF_HEAD_QUERIES) * d->head_width
                                          : 0;
    *all = layout >= HF_HEAD_QUERIES ? 3 * rows
           : layout >= HF_FIRST_HALF ? 2 * rows
                                     : queries + 2 * keys;
}

/* Rows of queries, keys or values of all heads within groups. */
static void place_group(HfSource *s, const Decoder *d, HfLayout layout, int64_t width)
{
    const int64_t shared = d->n_head_q / d->n_head_kv, head = d->head_width,
                  before = layout == HF_GROUP_QUERIES ? 0 : shared + (layout == HF_GROUP_VALUES);
    s->size[0] = d->n_head_kv * (shared + 2) * head;
    s->base = before * head * width;
    s->head = s->head_stride = head;
    s->group = layout == HF_GROUP_QUERIES ? shared : 1;
    s->group_stride = (shared + 2) * head;
}

/* Rows of queries, keys or values of all heads within shards. */
static void place_shard(HfSource *s, HfLayout layout, int64_t rows, int64_t width)
{
    s->shard = rows / HF_SHARDS;
    s->size[0] = 3 * rows;
    s->base = (layout - HF_SHARD_QUERIES) * s->shard * width;
}

/* Queries, keys and their norms of a layer whose positions turn. */
static void place_heads(HfSource *s, const HfFamily *f, const Decoder *d, const HfName *n,
                        const DecoderLayer *layer)
{
    const int64_t head = decoder_head_width_of(d, layer);
    const bool by_head = n->layout >= HF_HEAD_QUERIES && n->layout <= HF_HEAD_VALUES,
               is_gates = n->layout == HF_FEATURE_GATES,
               gated = is_gates || n->layout == HF_GATED_QUERIES;
    const bool turns =
        decoder_layer_turns(layer) && (strstr(n->ours, ".q_") || strstr(n->ours, ".k_"));
    const bool partly = turns && layer->rope->width && !layer->rope->proportional;
    s->turning = partly ? layer->rope->width : head;
    s->interleaved = turns && f->interleaved;
    s->swapped = turns && f->turns_back;
    if (n->layout == HF_PAIRED_HEADS) {
        s->head = s->group_stride = head;
        s->head_stride = s->size[0] / 2;
        s->group = 2;
    }
    if (gated) s->size[0] *= 2;
    if (is_gates) s->base = head * s->row_stride;
    if (s->group || (!by_head && !gated && s->turning == head && !s->interleaved && !s->swapped))
        return;
    s->head = head;
    s->head_stride = by_head ? 3 * head : gated ? 2 * head : head;
}

/* So many of the rows stand together, the first of them behind `before` others of `all` that belong
 * to one head of keys. */
static void place_share(HfSource *s, const LinearAttention *l, int64_t rows, int64_t before,
                        int64_t all)
{
    s->size[0] = l->key_heads * all;
    s->base = before * s->row_stride;
    s->head = s->turning = rows;
    s->head_stride = all;
}

/* Parts of state spaces that share tensors. */
static void place_space(HfSource *s, const LinearAttention *l, HfLayout layout, bool is_conv)
{
    const int64_t values = l->value_heads * l->value_width, keys = l->key_heads * l->key_width,
                  rows[] = { is_conv ? 0 : values, values, keys, keys,
                             is_conv ? 0 : l->value_heads };
    s->size[0] = 0;
    for (int i = 0; i < 5; i++) {
        if (i == (int)(layout - HF_SPACE_GATES)) s->base = s->size[0] * s->row_stride;
        s->size[0] += rows[i];
    }
    if (!is_conv || s->n_dims == 1) return;
    s->n_dims = 3;
    s->size[2] = s->size[1];
    s->size[1] = 1;
}

/* Parts of short convolutions that share a tensor, and convolutions. */
static void place_conv(HfSource *s, HfLayout layout)
{
    if (layout != HF_CONV) {
        s->base = (layout - HF_CONV_FRONT) * s->size[0] * s->row_stride;
        s->size[0] *= 3;
        return;
    }
    s->n_dims = 3;
    s->size[2] = s->size[1];
    s->size[1] = 1;
}

/* Parts of linear attention that share tensors. */
static void place_linear(HfSource *s, const LinearAttention *l, HfLayout layout, bool is_conv)
{
    const int64_t repeat = l->value_heads / l->key_heads, values = repeat * l->value_width,
                  keys = l->key_width, all = 2 * keys + 2 * values, all_keys = l->key_heads * keys;
    if (layout >= HF_ALL_QUERIES) {
        s->base = (layout - HF_ALL_QUERIES) * all_keys * s->row_stride;
        s->size[0] = 2 * all_keys + l->key_heads * values;
    } else if (layout == HF_LINEAR_RATES || layout == HF_LINEAR_DECAYS)
        place_share(s, l, repeat, layout == HF_LINEAR_RATES ? 0 : repeat, 2 * repeat);
    else if (layout == HF_LINEAR_QUERIES || layout == HF_LINEAR_KEYS)
        place_share(s, l, keys, layout == HF_LINEAR_QUERIES ? 0 : keys, all);
    else
        place_share(s, l, values, 2 * keys + (layout == HF_LINEAR_VALUES ? 0 : values), all);
    if (!is_conv) return;
    s->n_dims = 3;
    s->size[2] = s->size[1];
    s->size[1] = 1;
}

/* Parts of latent attention. */
static void place_latent(HfSource *s, const HfFamily *f, const Decoder *d, HfLayout layout,
                         int64_t width)
{
    const Latent *l = d->latent;
    const int64_t own = d->head_width - l->turning, both = own + l->value_width;
    const bool is_gated = layout == HF_LATENT_GATED_QUERIES, is_gates = layout == HF_LATENT_GATES,
               is_queries = layout == HF_LATENT_QUERIES || is_gated,
               is_rope = layout == HF_LATENT_ROPE, is_values = layout == HF_LATENT_VALUES;
    if (layout == HF_LATENT_VECTOR || is_rope) {
        s->size[0] = l->key_rank + l->turning;
        s->base = is_rope ? l->key_rank * width : 0;
    }
    if (layout == HF_LATENT_KEYS || is_values) {
        s->size[0] = d->n_head_q * both;
        s->base = is_values ? own * width : 0;
        s->head_stride = both;
        s->head = s->turning = is_values ? l->value_width : own;
    }
    if (layout == HF_INDEX || layout == HF_INDEX_BEHIND) {
        s->head = s->head_stride = d->sparse->width;
        s->turning = l->turning;
        s->turns_first = true;
        s->interleaved = layout == HF_INDEX;
        s->turns_last = layout == HF_INDEX_BEHIND;
    }
    const int64_t of_head = d->head_width + l->value_width;
    if (is_gated || is_gates) s->size[0] = d->n_head_q * of_head;
    if (is_gates) {
        s->base = d->head_width * width;
        s->head = s->turning = l->value_width;
        s->head_stride = of_head;
    }
    if (!is_queries && !is_rope) return;
    s->head = s->head_stride = is_queries ? d->head_width : l->turning;
    if (is_gated) s->head_stride = of_head;
    s->turning = l->turning;
    s->turns_last = is_queries;
    s->interleaved = f->interleaved;
}

/* Parts of joint attention, where positions turn some features. */
static void place_turning(HfSource *s, const Decoder *d, const HfName *n, const DecoderLayer *layer)
{
    const bool of_index = strstr(n->ours, ".index_") != NULL;
    if (!decoder_layer_turns(layer)) return;
    s->head = s->head_stride = of_index ? d->sparse->width : d->head_width;
    s->turning = layer->rope->width ? layer->rope->width : s->head;
    s->turns_last = s->interleaved = true;
    s->of_columns = n->layout == HF_TURNING_COLUMNS;
}

/* Weights [experts rows width] as they are, or as half of the rows of each expert. */
static void place_stacked_rows(HfSource *s, HfLayout layout, const int64_t *size)
{
    const int64_t rows = size[1], width = size[2], parts = layout == HF_STACKED_ROWS ? 1 : 2;
    s->n_dims = 3;
    s->base = layout == HF_STACKED_SECOND_HALF ? rows * width : 0;
    s->size[0] = size[0];
    s->size[1] = parts * rows;
    s->size[2] = s->row_stride = width;
    s->part_stride = parts * rows * width;
}

/* Weights [experts rows width] as [experts width rows], biases [experts rows] as they are; with
 * what lies in the columns between, or beside them. */
static void place_stacked(HfSource *s, HfLayout layout, int n_dims, const int64_t *size)
{
    const int64_t rows = size[1], width = n_dims == 3 ? size[2] : 1,
                  between = layout == HF_STACKED ? 1 : 2;
    const bool halves = layout >= HF_STACKED_FIRST_COLUMNS;
    s->base = layout == HF_STACKED_ODD ? 1 : layout == HF_STACKED_SECOND_COLUMNS ? rows : 0;
    s->n_dims = n_dims;
    s->size[0] = size[0];
    s->size[1] = n_dims == 3 ? width : between * rows;
    s->size[2] = between * rows;
    s->row_stride = n_dims != 3 ? between * rows : halves ? 1 : between;
    s->column_stride = n_dims == 3 ? between * rows : between;
    s->part_stride = n_dims == 3 ? width * between * rows : 0;
}

/* A vector that has further dimensions there. */
static void place_vector(HfSource *s, const Decoder *d, HfLayout layout, int64_t rows)
{
    s->n_dims = 2;
    s->size[0] = layout == HF_FIRST_ROW ? 2 : 1, s->size[1] = rows;
    if (layout == HF_HEAD_ROWS) s->size[0] = rows / d->head_width, s->size[1] = d->head_width;
    if (layout != HF_OF_HEADS) return;
    s->n_dims = 4;
    s->size[1] = s->size[3] = 1, s->size[2] = rows;
}

static void place(HfSource *s, const Decoder *d, HfLayout layout, int n_dims, const int64_t *size)
{
    const bool is_matrix = n_dims > 1;
    const int64_t rows = is_matrix ? size[n_dims - 2] : size[0],
                  width = is_matrix ? size[n_dims - 1] : 1;
    const bool is_third = layout >= HF_FIRST_THIRD && layout <= HF_LAST_THIRD;
    const int64_t third = is_third ? layout - HF_FIRST_THIRD : 0, n_thirds = is_third ? 3 : 1;
    s->n_dims = is_matrix ? 2 : 1;
    s->column_stride = 1;
    s->size[0] = rows, s->size[1] = width;
    s->row_stride = width;
    if (layout == HF_HEAD_TENSORS) {
        s->part_rows = s->size[0] = d->head_width;
        return;
    }
    if (layout >= HF_SHARD_QUERIES) {
        place_shard(s, layout, rows, width);
        return;
    }
    if (layout >= HF_GROUP_QUERIES) {
        place_group(s, d, layout, width);
        return;
    }
    if (layout == HF_ROW || layout == HF_FIRST_ROW || layout == HF_OF_HEADS ||
        layout == HF_HEAD_ROWS) {
        place_vector(s, d, layout, rows);
        return;
    }
    if (layout == HF_STACKED_FLAT || layout == HF_STACKED_FLAT_ROWS) {
        if (layout == HF_STACKED_FLAT)
            place_stacked(s, HF_STACKED, n_dims, size);
        else
            place_stacked_rows(s, HF_STACKED_ROWS, size);
        s->n_dims = 2;
        s->size[0] *= s->size[1];
        s->size[1] = s->size[2];
        return;
    }
    if (layout >= HF_STACKED_ROWS) {
        place_stacked_rows(s, layout, size);
        return;
    }
    if (layout >= HF_STACKED) {
        place_stacked(s, layout, n_dims, size);
        return;
    }
    if (layout >= HF_QUERIES && layout <= HF_HEAD_VALUES) {
        place_rows(d, layout, rows, &s->base, &s->size[0]);
        s->base *= width;
    } else if (layout >= HF_TRANSPOSED && layout <= HF_LAST_THIRD) {
        s->size[0] = is_matrix ? width : n_thirds * rows, s->size[1] = n_thirds * rows;
        s->base = third * rows;
        s->row_stride = 1, s->column_stride = n_thirds * rows;
    } else if (layout == HF_FIRST_COLUMNS || layout == HF_SECOND_COLUMNS) {
        s->size[1] = s->row_stride = 2 * width;
        s->base = layout == HF_SECOND_COLUMNS ? width : 0;
    }
}

/* Where feature j of a head lies in a file. Here the two that turn together are half a head apart,
 * and what does not turn comes last of each half; there they are half of what turns apart, or side
 * by side, and what does not turn comes last of all, or first. With turns_first all of a head that
 * turns comes first here, too. */
static int64_t place_of(const HfSource *s, int64_t j)
{
    if (s->turns_first && j >= s->turning) return s->turns_last ? j - s->turning : j;
    const int64_t half = (s->turns_first ? s->turning : s->head) / 2, turned = s->turning / 2,
                  still = s->head - s->turning;
    const bool in_second = j >= half, is_second = in_second != s->swapped;
    const int64_t pair = in_second ? j - half : j;
    if (pair >= turned)
        return pair + (is_second ? half : turned) - (s->turns_last ? s->turning : 0);
    return (s->turns_last ? still : 0) +
           (s->interleaved ? 2 * pair + is_second : pair + (is_second ? turned : 0));
}

int64_t hf_source_row(const HfSource *s, int64_t row)
{
    const int64_t head = s->head ? row / s->head : 0;
    const int64_t first = s->group ? head / s->group * s->group_stride : 0,
                  within = s->group ? head % s->group : head;
    if (s->of_columns) return s->base + row * s->row_stride;
    if (s->head) row = first + within * s->head_stride + place_of(s, row % s->head);
    if (s->shard) row += row / s->shard * 2 * s->shard;
    return s->base + row * s->row_stride;
}

int64_t hf_source_column(const HfSource *s, int64_t column)
{
    if (s->of_columns) column += place_of(s, column % s->head) - column % s->head;
    return column * s->column_stride;
}

int64_t hf_source_place(const HfSource *s, int64_t expert, int64_t row, int64_t *tensor)
{
    *tensor = s->part_rows ? row / s->part_rows : s->part_stride ? 0 : expert;
    const int64_t within = s->part_rows ? row % s->part_rows : row;
    return expert * s->part_stride + hf_source_row(s, within);
}

/* The name of the rest of a tensor that files cut in two. */
static const char *rest_of(Arena *a, const char *name)
{
    const char *last = strrchr(name, '.') + 1;
    return arena_printf(a, "%.*snew_%s", (int)(last - name), name, last);
}

/* How many tensors a parameter is in. */
static int64_t tensors_of(const Decoder *d, HfLayout layout, const int64_t *size)
{
    if (layout == HF_HEAD_TENSORS) return size[0] / d->head_width;
    return layout == HF_EXPERTS || layout == HF_ALL_EXPERTS ? size[0] : 1;
}

Error *hf_source(Arena *a, const HfFamily *f, const Decoder *d, const char *param, int n_dims,
                 const int64_t *size, HfSource *out)
{
    const HfName *tables[] = { f->first, f->names };
    for (int t = 0; t < 2; t++)
        for (const HfName *n = tables[t]; n && n->ours; n++) {
            int64_t layer = 0, number = 0;
            const char *rest;
            if (!fits(n->ours, param, &layer, &number, &rest)) continue;
            const bool of_two = n->layout == HF_OF_TWO_NORMS;
            if (of_two && d->residual != RESIDUAL_TWO_NORMS) continue;
            const bool of_mixture = n->layout == HF_OF_MIXTURES;
            if (of_mixture && !d->layer[layer].is_sparse) continue;
            *out = (HfSource){ .n_tensors = tensors_of(d, n->layout, size) };
            if (n->layout == HF_ALL_EXPERTS) out->n_zeros = d->moe->zero_experts;
            const int64_t n_names = out->n_tensors + out->n_zeros;
            out->tensor = NEW_N(a, const char *, n_names);
            for (int64_t e = 0; e < n_names; e++)
                out->tensor[e] =
                    filled(a, n->theirs, layer, hf_blocks_per_layer(f), number + e, rest);
            if (n->layout == HF_CUT) out->rest = rest_of(a, out->tensor[0]);
            place(out, d, of_two || of_mixture || out->rest ? HF_SAME : n->layout, n_dims, size);
            if (n->layout >= HF_LINEAR_QUERIES && n->layout <= HF_ALL_VALUES)
                place_linear(out, d->linear, n->layout, strstr(n->ours, "_conv."));
            else if (n->layout >= HF_CONV_FRONT && n->layout <= HF_CONV)
                place_conv(out, n->layout);
            else if (n->layout >= HF_SPACE_GATES && n->layout <= HF_SPACE_STEPS)
                place_space(out, d->linear, n->layout, strstr(n->ours, "_conv."));
            else if (n->layout == HF_TURNING_ROWS || n->layout == HF_TURNING_COLUMNS)
                place_turning(out, d, n, &d->layer[layer]);
            else if (d->latent)
                place_latent(out, f, d, n->layout, out->size[1]);
            else if (!d->joint)
                place_heads(out, f, d, n, &d->layer[layer]);
            return NULL;
        }
    return error_new("%s has no place for the parameter %s", f->class_name, param);
}

/* Each expert transposed: [experts width rows], or with gates and what they gate side by side. */
static void turn_stacked(HfSource *s)
{
    const int64_t rows = s->size[1], width = s->size[2];
    s->size[1] = width;
    s->size[2] = rows;
    s->base /= width;
    s->row_stride = 1;
    s->column_stride = rows;
}

bool hf_source_stacked(Arena *a, const HfSource *each, const int64_t *size, bool turned,
                       HfSource *out)
{
    static const struct {
        const char *each, *all;
        HfLayout layout;
    } parts[] = { { ".0.gate_proj.weight", ".gate_up_proj", HF_STACKED_FIRST_HALF },
                  { ".0.up_proj.weight", ".gate_up_proj", HF_STACKED_SECOND_HALF },
                  { ".0.down_proj.weight", ".down_proj", HF_STACKED_ROWS } };
    const char *name = each->tensor[0];
    const size_t length = strlen(name);
    const int64_t n_zeros = each->n_zeros;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t end = strlen(parts[i].each);
        if (length <= end || strcmp(name + length - end, parts[i].each) != 0) continue;
        *out = (HfSource){ .tensor = NEW(a, const char *), .n_tensors = 1, .column_stride = 1 };
        out->tensor[0] = arena_printf(a, "%.*s%s", (int)(length - end), name, parts[i].all);
        place_stacked_rows(out, parts[i].layout, size);
        out->size[0] += n_zeros;
        if (turned) turn_stacked(out);
        return true;
    }
    return false;
}

bool hf_source_joined(Arena *a, const Decoder *d, const HfSource *each, const char *part[3],
                      const char **whole, HfSource *out)
{
    static const char letters[] = "qkv", end[] = "_conv1d.weight";
    const char *name = each->tensor[0];
    const size_t length = strlen(name);
    const int before = (int)length - (int)strlen(end) - 1;
    if (!d->linear || each->n_dims != 3 || before < 0 || strcmp(name + before + 1, end) != 0)
        return false;
    const char *letter = strchr(letters, name[before]);
    if (!letter || !*letter) return false;
    for (int k = 0; k < 3; k++)
        part[k] = arena_printf(a, "%.*s%c%s", before, name, letters[k], end);
    *whole = arena_printf(a, "%.*s%s", before, name, end + 1);
    *out = *each;
    out->size[1] = each->size[2]; /* as a matrix, which the layout gives a dimension more */
    place_linear(out, d->linear, HF_ALL_QUERIES + (int)(letter - letters), true);
    return true;
}
