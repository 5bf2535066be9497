/* certain_parts.c - encodes text with SentencePiece's Unigram by parts that are remembered.
 *
 * SentencePiece adds scores up in single precision from the start of the text, so two ways of equal
 * or nearly equal score may change places after other text, by rounding alone. A part is therefore
 * remembered only if its best way leads by more than all roundings can amount to while the sum
 * stays below a limit; one that is not is computed with the true sum at its place, or remembered by
 * that place (rounded_parts.h). So sums matter at such parts, and near LATTICE_FLOOR, where they
 * start anew: only there scores are added up. */
#include "tokenizer/sentencepiece/certain_parts.h"
#include "tokenizer/cache/word_cache.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/sentencepiece/rounded_parts.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    LIMIT_BITS = 17,   /* beyond LATTICE_FLOOR, which only scores above 0 lead to */
    BATCH_BYTES = 2048 /* whose scores do not sum up to much */
};

/* A Unigram model that leaves to the caller words whose ids a sum below the limit can change. */
typedef struct CertainModel {
    WordModel base;
    const SpModel *model;
} CertainModel;

struct CertainParts {
    const SpModel *model;
    CertainModel certain;
    double limit; /* of the sum before a part, so that none in it reaches 2^LIMIT_BITS */
    WordCache *cache;
    RoundedParts *rounded;
    uint32_t *end; /* of the parts of a batch */
    Buffer hashes; /* uint64_t: of those that are left */
    Ids ids;       /* of parts that are gone through again */
};

/* The sum of the scores of the first ids of a text. */
typedef struct Sum {
    float sum;
    int64_t n; /* of the ids that it counts */
} Sum;

/* A batch of n parts, end[-1] being where the first starts. */
typedef struct Batch {
    const char *text;
    const uint32_t *end;
    int64_t n;
} Batch;

static void release(void *arg)
{
    CertainParts *c = arg;
    ids_free(&c->ids);
    buffer_free(&c->hashes);
}

static int64_t certain_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    const SpModel *m = ((const CertainModel *)self)->model;
    const SpFile *file = m->file;
    if (word.len > LONGEST_WORD) return -1;
    /* A sum is rounded by at most half a unit of its last place, here a little more. (Rounding is
     * monotonic, so the best way by rounded sums has the largest of them.) */
    double rounding = 1.01 * ldexp(1, LIMIT_BITS - FLT_MANT_DIG - 1);
    Way way = lattice_margin(&m->lattice, scratch, word, rounding);
    uint32_t symbol[LONGEST_WORD], no_piece = (uint32_t)file->n;
    bool certain = way.margin > 0, unknown = false;
    for (int64_t i = 0; i < way.n && certain; i++) {
        uint32_t id = way.step[i].id;
        bool is_unknown = id == file->unk_id;
        symbol[i] = is_unknown ? no_piece : id;
        unknown |= is_unknown;
        /* The score of a user-defined symbol is no float, as those of ids are. */
        certain = file->type[id] != SP_USER_DEFINED && (!is_unknown || file->byte_fallback);
    }
    if (!certain) return -1;
    if (unknown) return sp_model_ids(m, word, symbol, way.n, out);
    memcpy(out, symbol, (size_t)way.n * sizeof *out);
    return way.n;
}

CertainParts *certain_parts_new(Arena *a, const SpModel *m)
{
    CertainParts *c = NEW(a, CertainParts);
    c->model = m;
    c->certain = (CertainModel){ .base = m->base, .model = m };
    c->certain.base.word_ids = certain_ids;
    c->certain.base.cut = NULL; /* what is certain of the parts need not be of the whole */
    c->limit = ldexp(1, LIMIT_BITS) - LONGEST_WORD * (m->max_score + 1);
    c->cache = word_cache_new(a, &c->certain.base, m->file->n, true);
    c->rounded = rounded_parts_new(a, m, 0);
    c->end = NEW_N(a, uint32_t, SPLIT_ROOM + 1);
    arena_on_free(a, release, c);
    return c;
}

/* Adds up the scores of the ids before the n-th. */
static void count_up(const SpModel *m, Sum *s, const uint32_t *id, int64_t n)
{
    float sum = s->sum;
    for (int64_t i = s->n; i < n; i++) sum += m->score[id[i]];
    *s = (Sum){ sum, n };
}

/* Whether the sum cannot have reached the floor or the limit when n ids are counted; sums within a
 * piece may be lower than those around it. */
static bool is_far(const SpModel *m, const Sum *s, int64_t n)
{
    int64_t most = n - s->n + (int64_t)m->lattice.trie.longest;
    return fabsf(s->sum) + (double)most * m->max_score < -LATTICE_FLOOR;
}

static Str part_at(const Batch *b, int64_t i)
{
    return (Str){ b->text + b->end[i - 1], b->end[i] - b->end[i - 1] };
}

/* Appends the ids of a part after a sum that counts all before. */
static void add_rounded(CertainParts *c, Str part, uint64_t hash, Sum *s, Ids *out)
{
    uint32_t *to = ids_reserve(out, (int64_t)part.len * c->model->base.ids_per_byte);
    s->sum = rounded_parts_encode(c->rounded, part, hash, s->sum, &to);
    s->n = out->n = to - out->id;
}

/* Goes through parts [i, to) again, whose ids are those from `before` on unless the sum reaches the
 * floor or the limit there. */
static void add_carefully(CertainParts *c, const Batch *b, int64_t i, int64_t to, int64_t before,
                          Sum *s, Ids *out)
{
    const SpModel *m = c->model;
    c->ids.n = 0;
    const uint32_t *id = ids_reserve(&c->ids, out->n - before);
    memcpy(c->ids.id, out->id + before, (size_t)(out->n - before) * sizeof *id);
    out->n = before;
    for (; i < to; i++) {
        Str part = part_at(b, i);
        int64_t n = word_cache_n_ids(c->cache, i);
        double lowest = s->sum - (double)part.len * (m->max_score + 1);
        if (lowest < LATTICE_FLOOR || fabsf(s->sum) > c->limit) {
            add_rounded(c, part, rounded_parts_ask(c->rounded, part), s, out);
        } else {
            memcpy(ids_reserve(out, n), id, (size_t)n * sizeof *id);
            out->n += n;
            count_up(m, s, out->id, out->n);
        }
        id += n;
    }
}

/* The hashes of the parts that are left; asks for what is known of them. */
static const uint64_t *ask_for(CertainParts *c, const Batch *b, const uint32_t *left, int64_t n)
{
    uint64_t *hash = buffer_grow(&c->hashes, (size_t)(n + 1) * sizeof *hash);
    for (int64_t k = 0; k < n; k++) hash[k] = rounded_parts_ask(c->rounded, part_at(b, left[k]));
    return hash;
}

static void add_batch(CertainParts *c, const Batch *b, Sum *s, Ids *out)
{
    const SpModel *m = c->model;
    int64_t n_left, from = 0;
    const uint32_t *left = word_cache_look_up(c->cache, b->text, b->end[-1], b->end, b->n, &n_left);
    const uint64_t *hash = ask_for(c, b, left, n_left);
    for (int64_t k = 0; k <= n_left; k++) {
        int64_t to = k < n_left ? left[k] : b->n, before = out->n;
        word_cache_next(c->cache, out);
        if (out->n > before && !is_far(m, s, out->n)) {
            count_up(m, s, out->id, before);
            Sum all = *s;
            count_up(m, &all, out->id, out->n);
            if (m->falls && is_far(m, &all, out->n))
                *s = all;
            else
                add_carefully(c, b, from, to, before, s, out);
        }
        if (to == b->n) break;
        count_up(m, s, out->id, out->n);
        add_rounded(c, part_at(b, to), hash[k], s, out);
        from = to + 1;
    }
}

void certain_parts_encode(CertainParts *c, Str text, Ids *out)
{
    const SpModel *m = c->model;
    uint32_t len = (uint32_t)text.len;
    Sum s = { 0, out->n };
    for (uint32_t from = 0; from < len; from = c->end[0]) {
        uint32_t until = len - from < BATCH_BYTES ? len : from + BATCH_BYTES, *end = c->end + 1;
        Batch b = { .text = text.ptr, .end = end };
        b.n = m->base.cut(&m->base, text.ptr, len, from, until, end);
        c->end[0] = from;
        add_batch(c, &b, &s, out);
        c->end[0] = end[b.n - 1];
    }
}
