/* certain_parts.c - encodes text with SentencePiece's Unigram by parts that are remembered.
 *
 * SentencePiece adds scores up in single precision from the start of the text, so two ways of equal
 * or nearly equal score may change places behind other text, by rounding alone. A part is therefore
 * remembered only if its best way leads by more than all roundings can amount to while the sum
 * stays below a limit; of a part that is not, a mark is remembered, and it is computed with the
 * true sum at its place, or remembered by that place (rounded_parts.h). So sums matter at marks,
 * and near LATTICE_FLOOR, where they start anew: only there scores are added up. Only scores above
 * 0 bring sums to the limit: they need the second level, a cache of marks. */
#include "tokenizer/certain_parts.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/rounded_parts.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/word_tables.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include <wchar.h>

enum {
    N_LEVELS = 2,      /* the second remembers marks alone */
    LIMIT_BITS = 17,   /* beyond LATTICE_FLOOR */
    BATCH_BYTES = 2048 /* whose scores do not sum up to much */
};

/* A Unigram model whose words have ids only if no sum below the limit can change them. */
typedef struct Level {
    Model base;
    const SpModel *model;
    double limit;    /* what sums may become */
    double rounding; /* half a unit of the last place of any sum in a part from there */
    WordCache *cache;
} Level;

struct CertainParts {
    Arena *arena;
    const SpModel *model;
    Level *level[N_LEVELS]; /* NULL until needed */
    RoundedParts *rounded;
    uint32_t *end; /* of the parts of a batch */
    Ids ids;       /* theirs, with marks */
    Buffer marked; /* uint32_t: places of the parts that have one */
};

/* The parts of a text up to a place: their ids, and the sum of the scores of the first of them. */
typedef struct Sum {
    float sum;
    int64_t n; /* of the ids that it counts */
} Sum;

/* A batch of parts, end[-1] being where the first starts. */
typedef struct Batch {
    const char *text;
    const uint32_t *end;
    const PackedIds *packed;
    int64_t n;
    const uint32_t *marked;
    int64_t n_marked, marked_bytes;
} Batch;

static void release(void *arg)
{
    CertainParts *c = arg;
    ids_free(&c->ids);
    buffer_free(&c->marked);
}

CertainParts *certain_parts_new(Arena *a, const SpModel *m)
{
    CertainParts *c = NEW(a, CertainParts);
    c->arena = a;
    c->model = m;
    c->rounded = rounded_parts_new(a, m, 0);
    c->end = NEW_N(a, uint32_t, SPLIT_ROOM + 1);
    arena_on_free(a, release, c);
    return c;
}

/* No piece has this id. */
static uint32_t mark_of(const SpModel *m)
{
    return (uint32_t)m->file->n;
}

/* A sum is rounded by at most half a unit of its last place, once for each symbol of a way, and
 * both ways err. (Rounding is monotonic, so the best way by rounded sums has the largest of them.)
 */
static bool is_certain(const Level *l, Str word, const Way *way)
{
    return way->margin > 1.01 * (double)(way->n + (int64_t)word.len) * l->rounding;
}

static int64_t certain_ids(const Model *self, Buffer *scratch, Str word, uint32_t *out)
{
    const Level *l = (const Level *)self;
    const SpModel *m = l->model;
    out[0] = mark_of(m);
    if (word.len > LONGEST_WORD) return 1;
    Way way = lattice_margin(&m->lattice, scratch, word);
    const SpFile *file = m->file;
    uint32_t symbol[LONGEST_WORD];
    bool certain = is_certain(l, word, &way), unknown = false;
    for (int64_t i = 0; i < way.n && certain; i++) {
        uint32_t id = way.step[i].id;
        bool is_unknown = id == file->unk_id;
        symbol[i] = is_unknown ? mark_of(m) : id;
        unknown |= is_unknown;
        /* The score of a user-defined symbol is no float, as those of ids are. */
        certain = file->type[id] != SP_USER_DEFINED && (!is_unknown || file->byte_fallback);
    }
    if (!certain) return 1;
    if (unknown) return sp_model_ids(m, word, symbol, way.n, out);
    memcpy(out, symbol, (size_t)way.n * sizeof *out);
    return way.n;
}

static Level *level_at(CertainParts *c, int i)
{
    if (c->level[i]) return c->level[i];
    Level *l = c->level[i] = NEW(c->arena, Level);
    l->model = c->model;
    l->base = l->model->base;
    l->base.word_ids = certain_ids;
    l->base.cut = NULL; /* what is certain of the parts need not be of the whole */
    bool is_last = i + 1 == N_LEVELS;
    l->limit = is_last ? INFINITY : ldexp(1, LIMIT_BITS) - LONGEST_WORD * (l->model->max_score + 1);
    l->rounding = is_last ? INFINITY : ldexp(1, LIMIT_BITS - FLT_MANT_DIG - 1);
    l->cache = word_cache_new(c->arena, &l->base, (int64_t)mark_of(l->model) + 1, true);
    return l;
}

/* Adds up the scores of the ids before the n-th. */
static void count_up(const SpModel *m, Sum *s, const uint32_t *id, int64_t n)
{
    float sum = s->sum;
    for (int64_t i = s->n; i < n; i++) sum += m->score[id[i]];
    *s = (Sum){ sum, n };
}

/* Parts that are too long to be remembered have a mark, too. */
static bool is_mark(const SpModel *m, PackedIds ids)
{
    return ids == ((uint64_t)1 << 60 | mark_of(m)) || ids >> 59 == 1;
}

static int64_t packed_n(PackedIds ids)
{
    return ids >> 60 ? (int64_t)(ids >> 60) : ids & PASSING ? 1 : (int64_t)(ids >> 32);
}

static const uint32_t *find_mark(const SpModel *m, const uint32_t *id, const uint32_t *end)
{
    return (const uint32_t *)wmemchr((const wchar_t *)id, (wchar_t)mark_of(m), (size_t)(end - id));
}

static Str part_at(const Batch *b, int64_t i)
{
    return (Str){ b->text + b->end[i - 1], b->end[i] - b->end[i - 1] };
}

/* Lists the parts that have a mark. Few have: eight are looked at at once. */
static void list_marked(CertainParts *c, Batch *b)
{
    const uint64_t mark = (uint64_t)1 << 60 | mark_of(c->model);
    b->n_marked = b->marked_bytes = 0;
    uint32_t *list = buffer_grow(&c->marked, (size_t)b->n * sizeof *list);
    b->marked = list;
    for (int64_t i = 0; i < b->n; i += 8) {
        uint64_t some = 0;
        for (int k = 0; k < 8; k++) {
            PackedIds ids = b->packed[i + k], other = ids ^ mark;
            some |= ((other - 1) & ~other) | (ids & PASSING) << 4;
        }
        if (!(some >> 63)) continue;
        for (int64_t k = i; k < b->n && k < i + 8; k++) {
            if (!is_mark(c->model, b->packed[k])) continue;
            list[b->n_marked++] = (uint32_t)k;
            b->marked_bytes += (int64_t)part_at(b, k).len;
        }
    }
}

/* Appends the ids of a batch, c->ids, and those of the parts that have a mark. */
static void fill_in(CertainParts *c, const Batch *b, Sum *s, Ids *out)
{
    const SpModel *m = c->model;
    const uint32_t *id = c->ids.id, *id_end = id + c->ids.n;
    uint32_t *to = out->id + out->n;
    for (int64_t i = 0;; i++) {
        const uint32_t *mark = i < b->n_marked ? find_mark(m, id, id_end) : id_end;
        memcpy(to, id, (size_t)(mark - id) * sizeof *id);
        to += mark - id;
        if (mark == id_end) break;
        id = mark + 1;
        count_up(m, s, out->id, to - out->id);
        Str part = part_at(b, b->marked[i]);
        uint64_t hash = rounded_parts_ask(c->rounded, part);
        s->sum = rounded_parts_encode(c->rounded, part, hash, s->sum, &to);
        s->n = to - out->id;
    }
    out->n = to - out->id;
}

/* The same, part by part, because the sum may reach the floor; false, with nothing appended, when
 * it passed the limit. */
static bool fill_in_carefully(CertainParts *c, const Batch *b, double limit, Sum *s, Ids *out)
{
    const SpModel *m = c->model;
    const uint32_t *id = c->ids.id;
    uint32_t *to = out->id + out->n;
    count_up(m, s, out->id, out->n);
    float sum = s->sum;
    for (int64_t i = 0; i < b->n; i++) {
        Str part = part_at(b, i);
        int64_t n = packed_n(b->packed[i]);
        double lowest = sum - (double)part.len * (m->max_score + 1);
        if (is_mark(m, b->packed[i]) || lowest < LATTICE_FLOOR)
            sum = rounded_parts_encode(c->rounded, part, rounded_parts_ask(c->rounded, part), sum,
                                       &to);
        else
            for (int64_t k = 0; k < n; k++) sum += m->score[ *to++ = id[k]];
        if (fabsf(sum) > limit) return false;
        id += n;
    }
    out->n = to - out->id;
    *s = (Sum){ sum, out->n };
    return true;
}

/* Whether no sum can reach the floor or a limit before so many more symbols; sums within a piece
 * may be lower than those around it. */
static bool is_far(const SpModel *m, const Sum *s, int64_t n)
{
    int64_t most = n + (int64_t)m->lattice.trie.longest;
    return fabsf(s->sum) + (double)most * m->max_score < -LATTICE_FLOOR;
}

/* Moves the ids of a batch away from the end of `out`. */
static void take_back(Ids *out, int64_t n, Ids *ids)
{
    ids->n = 0;
    out->n -= n;
    memcpy(ids_reserve(ids, n), out->id + out->n, (size_t)n * sizeof *out->id);
    ids->n = n;
}

/* Appends the ids of a batch. */
static void add_batch(CertainParts *c, Batch *b, Sum *s, Ids *out)
{
    const SpModel *m = c->model;
    for (int i = fabsf(s->sum) < -LATTICE_FLOOR ? 0 : 1;; i++) {
        Level *l = level_at(c, i);
        int64_t before = out->n;
        word_cache_encode(l->cache, b->text, b->end[-1], b->end, b->n, out);
        b->packed = word_cache_packed(l->cache);
        list_marked(c, b);
        int64_t more = out->n - before + b->marked_bytes;
        if (!is_far(m, s, before - s->n + more)) count_up(m, s, out->id, before);
        bool far = is_far(m, s, before - s->n + more);
        if (far && !b->n_marked) return;
        take_back(out, out->n - before, &c->ids);
        if (far)
            fill_in(c, b, s, out);
        else if (!fill_in_carefully(c, b, l->limit, s, out))
            continue;
        return;
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
