/* attention_heads.h - one launch of attention, and which keys a query sees. */
#ifndef OPS_ATTENTION_HEADS_H
#define OPS_ATTENTION_HEADS_H
#include "ops/attention.h"
#include "ops/dropout_mask.h"
#include "ops/gemm/amx.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"
#include <math.h>

/* QV vectors of queries times KR keys, or DR features: as many sums as there are registers for. */
enum {
    QV = LANES == 8          ? 3
         : PANEL_VECTORS > 1 ? 2
                             : 1,
    QUERIES = QV * LANES,
    KR = PANEL_VECTORS == 4 ? 12 : 4,
    DR = PANEL_VECTORS == 4 ? 8 : 4,
    SUM_KEYS = 6, /* of a tile of sum_rows */
    SUM_KEYS_AT_ONCE = TILES ? MR : SUM_KEYS,
    KEYS_BEYOND = TILES ? 64 : 12, /* whole tiles may reach so far after the last key */
    KEYS = 96,                     /* of a block; a multiple of KR, SUM_KEYS and MR */
};

/* One launch. */
typedef struct Heads {
    const Launch *l;
    const Attention *a;
    const Tensor *q, *k, *v;
    const int32_t *query_document, *key_document; /* NULL: one document */
    int64_t n_batch, n_query, n_key, n_group, n_repeat, d;
    int64_t n_seen; /* keys from the first on; no query that is looked at sees another one */
    int64_t width;  /* d rounded up to whole vectors */
    bool pairs;     /* bf16 are multiplied two by two */
    int64_t steps;  /* words of a row of queries or keys: floats, or pairs of bf16 */
    int64_t n_rows; /* per batch and group */
    int64_t n_row_blocks, n_key_blocks;
    float scale;       /* of the products */
    float query_scale; /* of the products, so that scores are in units of log 2 or of the cap */
    uint64_t dropout_key;
} Heads;

INLINE Heads heads_of(const Launch *l)
{
    const Tensor *q = &l->in[0], *k = &l->in[1];
    bool documents = l->n_in == 5 || l->n_in == 8;
    Heads h = { .l = l, .a = l->attrs, .q = q, .k = k, .v = &l->in[2] };
    h.query_document = documents ? l->in[3].data : NULL;
    h.key_document = documents ? l->in[4].data : NULL;
    h.n_batch = q->size[0], h.n_query = q->size[1], h.n_group = q->size[2];
    h.n_repeat = q->size[3], h.d = q->size[4], h.n_key = h.n_seen = k->size[1];
    h.width = (h.d + LANES - 1) / LANES * LANES;
    h.steps = h.d;
    h.n_rows = h.n_query * h.n_repeat;
    h.n_row_blocks = chunk_count(h.n_rows, QUERIES);
    h.n_key_blocks = chunk_count(h.n_key, KEYS);
    h.scale = (float)(h.a->scale != 0 ? h.a->scale : 1 / sqrt((double)h.d));
    h.query_scale = h.a->soft_cap > 0 ? h.scale / (float)h.a->soft_cap : h.scale * log2_e;
    if (h.a->dropout > 0 && l->now) h.dropout_key = dropout_key(l->now, h.a->salt);
    return h;
}

/* Turns to pairs where `also`, a tensor like q or NULL, and all others are bf16. */
INLINE void heads_take_pairs(Heads *h, const Tensor *also)
{
    h->pairs = DOT_PAIRS && h->scale > 0 && h->q->dtype == BF16 && h->k->dtype == BF16 &&
               h->v->dtype == BF16 && (!also || also->dtype == BF16);
    if (h->pairs) h->steps = (h->d + 1) / 2;
}

/* Whether the launch would take pairs. Asked outside of a kernel, which alone may read `now`. */
INLINE bool heads_would_pair(const Launch *l, const Tensor *also, Heads *out)
{
    Launch planned = *l;
    planned.now = NULL;
    *out = heads_of(&planned);
    out->l = l;
    heads_take_pairs(out, also);
    return out->pairs;
}

/* The first element of row `row` of q, and of anything shaped like it. */
INLINE int64_t query_at(const Heads *h, int64_t b, int64_t g, int64_t row)
{
    int64_t s = row / h->n_repeat, r = row % h->n_repeat;
    return (((b * h->n_query + s) * h->n_group + g) * h->n_repeat + r) * h->d;
}

INLINE int64_t key_at(const Heads *h, int64_t b, int64_t g, int64_t key)
{
    return ((b * h->n_key + key) * h->n_group + g) * h->d;
}

/* What a token of distance takes off the scores of query head r of those that share key head g. */
INLINE float fall_of(const Heads *h, int64_t g, int64_t r)
{
    const int64_t n_repeat = global_size(h->q, 3),
                  head = global_index(h->q, 2, g) * n_repeat + global_index(h->q, 3, r);
    return (float)alibi_slope(h->a, head, global_size(h->q, 2) * n_repeat);
}

/* ---- which keys a query sees ---- */

/* Leaves out the keys behind the last of so many rows of a batch: of a cache, most are empty. */
INLINE void heads_look_at(Heads *h, int64_t b, int64_t rows)
{
    if (!h->a->causal || h->q->part[1] || h->k->part[1]) return;
    const int64_t seen = chunk_count(rows, h->n_repeat) + row_position(h->l->now, b);
    if (seen < h->n_seen) h->n_seen = seen > 0 ? seen : 0;
}

typedef struct Bounds {
    int32_t low, high;
} Bounds;

INLINE Bounds widen(Bounds b, int32_t x)
{
    return (Bounds){ x < b.low ? x : b.low, x > b.high ? x : b.high };
}

/* Positions and documents of the keys of one sequence; scratch of a thread. */
typedef struct KeyPlaces {
    int32_t *position, *document;  /* [n_key] */
    Bounds *positions, *documents; /* of each block */
} KeyPlaces;

INLINE size_t key_places_bytes(const Heads *h)
{
    size_t keys = 2 * sizeof(int32_t) * (size_t)h->n_key;
    return (keys + 2 * sizeof(Bounds) * (size_t)h->n_key_blocks + 63) / 64 * 64;
}

INLINE KeyPlaces key_places(const Heads *h, void *room, int64_t b)
{
    KeyPlaces k = { .positions = room };
    k.documents = k.positions + h->n_key_blocks;
    k.position = (int32_t *)(k.documents + h->n_key_blocks);
    k.document = k.position + h->n_key;
    for (int64_t j = 0; j < h->n_seen; j++) {
        int64_t block = j / KEYS;
        k.position[j] = (int32_t)global_index(h->k, 1, j);
        k.document[j] = h->key_document ? h->key_document[b * h->n_key + j] : 0;
        Bounds p = { k.position[j], k.position[j] }, d = { k.document[j], k.document[j] };
        k.positions[block] = j % KEYS ? widen(k.positions[block], k.position[j]) : p;
        k.documents[block] = j % KEYS ? widen(k.documents[block], k.document[j]) : d;
    }
    return k;
}

/* The same of a block of rows; missing rows repeat the last one. */
typedef struct RowPlaces {
    int32_t position[QUERIES], document[QUERIES];
    int32_t oldest[QUERIES]; /* the first position that it may see */
    float fall[QUERIES];     /* with alibi: what a token of distance takes off a score */
    Bounds positions, documents;
} RowPlaces;

INLINE void row_places(const Heads *h, int64_t b, int64_t g, int64_t first, int64_t n,
                       RowPlaces *out)
{
    for (int64_t i = 0; i < QUERIES; i++) {
        int64_t row = first + (i < n ? i : n - 1), s = row / h->n_repeat;
        int32_t p = (int32_t)(global_index(h->q, 1, s) + row_position(h->l->now, b));
        int32_t d = h->query_document ? h->query_document[b * h->n_query + s] : 0;
        out->position[i] = p;
        out->document[i] = d;
        out->oldest[i] = (int32_t)attention_oldest(h->a, p);
        out->fall[i] = h->a->alibi > 0 ? fall_of(h, g, row % h->n_repeat) : 0;
        out->positions = i ? widen(out->positions, p) : (Bounds){ p, p };
        out->documents = i ? widen(out->documents, d) : (Bounds){ d, d };
    }
}

/* The keys [from, to) of one block that some of the rows may see; of those before `masked` each row
 * sees all. */
typedef struct Seen {
    int64_t from, to, masked;
} Seen;

INLINE Seen keys_seen(const Heads *h, const KeyPlaces *k, const RowPlaces *rows, int64_t block)
{
    int64_t from = block * KEYS, to = h->n_seen - from < KEYS ? h->n_seen : from + KEYS;
    Bounds docs = k->documents[block], places = k->positions[block];
    if (docs.low > rows->documents.high || docs.high < rows->documents.low) return (Seen){ 0 };
    bool mixed = docs.low != docs.high || rows->documents.low != rows->documents.high;
    if (!h->a->causal) return (Seen){ from, to, mixed ? from : to };
    const int64_t oldest = attention_oldest(h->a, rows->positions.low);
    while (to > from && k->position[to - 1] > rows->positions.high) to--;
    while (from < to && k->position[from] < oldest) from++;
    if (h->pairs) from = from / 2 * 2; /* values lie in pairs of keys */
    mixed |= places.low < attention_oldest(h->a, rows->positions.high);
    int64_t masked = from;
    while (!mixed && masked < to && k->position[masked] <= rows->positions.low) masked++;
    return (Seen){ from, to, masked };
}

/* Minus infinity where a row does not see a key: scores[key - seen->from][row], given those of key
 * seen->masked. */
INLINE void mask_scores(const Heads *h, const KeyPlaces *k, const RowPlaces *rows, const Seen *seen,
                        float *scores)
{
    for (int64_t j = seen->masked; j < seen->to; j++, scores += QUERIES)
        for (int v = 0; v < QV; v++) {
            VecInt position = vec_bits(vec_load((const Word *)rows->position + v * LANES));
            VecInt document = vec_bits(vec_load((const Word *)rows->document + v * LANES));
            VecInt sees = document == vec_int_set(k->document[j]);
            if (h->a->causal) {
                const VecInt oldest = vec_bits(vec_load((const Word *)rows->oldest + v * LANES)),
                             at = vec_int_set(k->position[j]);
                sees &= (position >= at) & (oldest <= at);
            }
            Vec s = vec_load(scores + v * LANES);
            vec_store(scores + v * LANES, vec_select(sees, s, vec_set(-INFINITY)));
        }
}

/* What dropout multiplies probabilities with: factors[key - seen->from][row]; 0 for missing rows.
 */
INLINE void drop_factors(const Heads *h, int64_t b, int64_t g, int64_t first, int64_t n,
                         const Seen *seen, float *factors)
{
    for (int64_t j = 0; j < seen->to - seen->from && n < QUERIES; j++)
        memset(factors + j * QUERIES + n, 0, sizeof(float) * (size_t)(QUERIES - n));
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = query_at(h, b, g, first + i) / h->d,
                      number = dropout_row(h->l->now, h->q, row, global_size(h->k, 1));
        for (int64_t j = seen->from; j < seen->to; j++)
            dropout_factors(h->dropout_key, number + global_index(h->k, 1, j), 1, h->a->dropout,
                            &factors[(j - seen->from) * QUERIES + i]);
    }
}

#endif
