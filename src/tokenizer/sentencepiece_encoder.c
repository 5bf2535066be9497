/* sentencepiece_encoder.c - normalizes a text, cuts it where no piece joins the sides, and looks
 * the parts up.
 *
 * BPE gives a part the same ids wherever it stands. With Unigram that is nearly so: SentencePiece
 * adds scores up in single precision from the start of the text, so two ways of equal or nearly
 * equal score may change places behind other text, by rounding alone. A part is therefore
 * remembered only if its best way leads by more than all roundings can amount to while the sum
 * stays below a limit; of a part that is not, a mark is remembered, and it is computed with the
 * true sum at its place, or remembered by that place (rounded_parts.h). Only scores above 0 bring
 * sums to the limit: they need the second level, a cache of marks. Parts near LATTICE_FLOOR, where
 * the sum starts anew, are computed, too. */
#include "tokenizer/sentencepiece_encoder.h"
#include "base/utf8.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/rounded_parts.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/word_tables.h"
#include <float.h>
#include <math.h>
#include <string.h>

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

typedef struct SpEncoder {
    Encoder base;
    Arena *arena;
    const SentencePiece *tokenizer;
    WordCache *cache;       /* of BPE */
    Level *level[N_LEVELS]; /* of Unigram; NULL until needed */
    RoundedParts *rounded;  /* likewise */
    Text text;              /* normalized, with slack behind it */
    Buffer work, symbols;
    Ids ids; /* of a batch */
    uint32_t *end;
} SpEncoder;

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
    out[0] = NO_TOKEN;
    if (word.len > LONGEST_WORD) return 1;
    Way way = lattice_margin(&l->model->lattice, scratch, word);
    const SpFile *file = l->model->file;
    bool certain = is_certain(l, word, &way);
    for (int64_t i = 0; i < way.n && certain; i++) {
        out[i] = way.step[i].id;
        /* The score of a user-defined symbol is no float, as those of steps are. */
        certain = out[i] != file->unk_id && file->type[out[i]] != SP_USER_DEFINED;
    }
    if (certain) return way.n;
    out[0] = NO_TOKEN;
    return 1;
}

static Level *level_at(SpEncoder *e, int i)
{
    if (e->level[i]) return e->level[i];
    Level *l = e->level[i] = NEW(e->arena, Level);
    l->model = e->tokenizer->model;
    l->base = l->model->base;
    l->base.word_ids = certain_ids;
    l->base.cut = NULL; /* what is certain of the parts need not be of the whole */
    bool is_last = i + 1 == N_LEVELS;
    l->limit = is_last ? INFINITY : ldexp(1, LIMIT_BITS) - LONGEST_WORD * (l->model->max_score + 1);
    l->rounding = is_last ? INFINITY : ldexp(1, LIMIT_BITS - FLT_MANT_DIG - 1);
    l->cache = word_cache_new(e->arena, &l->base, true);
    return l;
}

Encoder *sp_encoder_new(const Tokenizer *self)
{
    Arena *a = arena_new();
    SpEncoder *e = NEW(a, SpEncoder);
    *e = (SpEncoder){ .base.tokenizer = self,
                      .arena = a,
                      .tokenizer = (const SentencePiece *)self,
                      .end = NEW_N(a, uint32_t, SPLIT_ROOM) };
    const SpModel *m = e->tokenizer->model;
    if (m->file->kind == SP_BPE) e->cache = word_cache_new(a, &m->base, true);
    if (m->file->kind == SP_UNIGRAM) e->rounded = rounded_parts_new(a, m);
    return &e->base;
}

void sp_encoder_free(Encoder *encoder)
{
    SpEncoder *e = (SpEncoder *)encoder;
    text_free(&e->text);
    buffer_free(&e->work);
    buffer_free(&e->symbols);
    ids_free(&e->ids);
    arena_free(e->arena);
}

/* The whole text as one word. */
static void encode_whole(SpEncoder *e, Str text, Ids *out)
{
    const SpModel *m = e->tokenizer->model;
    uint32_t *symbol = buffer_grow(&e->symbols, text.len * sizeof *symbol);
    int64_t n = m->symbolize(m, &e->work, text, symbol);
    uint32_t *to = ids_reserve(out, (int64_t)text.len * m->base.ids_per_byte);
    out->n += sp_model_ids(m, text, symbol, n, to);
}

static int64_t next_parts(SpEncoder *e, Str text, uint32_t from, uint32_t batch)
{
    uint32_t len = (uint32_t)text.len, until = len - from < batch ? len : from + batch;
    const SpModel *m = e->tokenizer->model;
    return m->base.cut(&m->base, text.ptr, len, from, until, e->end);
}

static void encode_bpe(SpEncoder *e, Str text, Ids *out)
{
    for (uint32_t from = 0; from < text.len;) {
        int64_t n = next_parts(e, text, from, SPLIT_BYTES);
        word_cache_encode(e->cache, text.ptr, from, e->end, n, out);
        from = e->end[n - 1];
    }
}

/* The parts of a batch, and how far settling them has come. */
typedef struct Batch {
    Str text;
    uint32_t at;                 /* the place in the text */
    const uint32_t *end;         /* of the part there */
    const uint32_t *id, *id_end; /* as remembered, from there on */
    double limit, least;         /* what the sum may become */
    float sum;
    uint32_t *to; /* the ids that are settled */
} Batch;

/* Takes the ids up to the next mark and adds their scores up. False when the sum may leave its
 * bounds. */
static bool take_certain(const SpModel *m, Batch *b)
{
    float sum = b->sum, least = sum, most = sum;
    uint32_t at = b->at;
    const uint32_t *id = b->id;
    for (; id < b->id_end && *id != NO_TOKEN; id++) {
        SpStep step = m->step[*id];
        sum += step.score;
        at += step.len;
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    if (least < b->least || fmaxf(most, -least) > b->limit) return false;
    memmove(b->to, b->id, (size_t)(id - b->id) * sizeof *id);
    b->to += id - b->id;
    b->id = id;
    b->at = at;
    b->sum = sum;
    return true;
}

/* Computes the part at the batch's place, whatever is remembered of it. */
static void take_exactly(SpEncoder *e, Batch *b)
{
    Str part = { b->text.ptr + b->at, *b->end - b->at };
    b->sum = rounded_parts_encode(e->rounded, part, b->sum, &b->to);
    if (*b->id == NO_TOKEN)
        b->id++;
    else
        for (uint32_t at = b->at; at < *b->end;) at += e->tokenizer->model->step[*b->id++].len;
    b->at = *b->end;
}

/* One part. */
static void take_part(SpEncoder *e, Batch *b)
{
    while (*b->end <= b->at) b->end++;
    double lowest = b->sum - (*b->end - b->at) * (e->tokenizer->model->max_score + 1);
    if (*b->id == NO_TOKEN || lowest < LATTICE_FLOOR) {
        take_exactly(e, b);
        return;
    }
    while (b->at < *b->end) {
        SpStep step = e->tokenizer->model->step[*b->id];
        b->sum += step.score;
        b->at += step.len;
        *b->to++ = *b->id++;
    }
}

/* Copies the ids of a batch of parts from `from` on and adds their scores up; computes the parts
 * that have a mark, and those where the sum may reach the floor. False, with nothing copied, when
 * the sum passed the limit. */
static bool settle(SpEncoder *e, Str text, uint32_t from, double limit, double *sum, Ids *out)
{
    const SpModel *m = e->tokenizer->model;
    Batch b = { .text = text,
                .at = from,
                .end = e->end,
                .id = e->ids.id,
                .id_end = e->ids.id + e->ids.n,
                .limit = limit,
                .least = LATTICE_FLOOR + LONGEST_WORD * m->max_score,
                .sum = (float)*sum,
                .to = out->id + out->n };
    bool careful = false;
    while (b.id < b.id_end) {
        careful = careful || !take_certain(m, &b);
        if (b.id < b.id_end) take_part(e, &b);
        if (fabsf(b.sum) > limit) return false;
    }
    out->n = b.to - out->id;
    *sum = b.sum;
    return true;
}

static void encode_unigram(SpEncoder *e, Str text, Ids *out)
{
    double sum = 0;
    for (uint32_t from = 0; from < text.len;) {
        int64_t n = next_parts(e, text, from, BATCH_BYTES);
        uint32_t until = e->end[n - 1];
        ids_reserve(out, (int64_t)(until - from) * e->tokenizer->model->base.ids_per_byte);
        bool settled = false;
        for (int i = fabs(sum) < -LATTICE_FLOOR ? 0 : 1; !settled; i++) {
            Level *l = level_at(e, i);
            e->ids.n = 0;
            word_cache_encode(l->cache, text.ptr, from, e->end, n, &e->ids);
            settled = settle(e, text, from, l->limit, &sum, out);
        }
        from = until;
    }
}

static Error *encode_text(SpEncoder *e, Str text, Ids *out)
{
    const SentencePiece *t = e->tokenizer;
    text_clear(&e->text);
    sp_normalize(&t->normalizer, text, &e->text);
    static const char slack[JOINS_SLACK] = { 0 };
    text_add(&e->text, slack, sizeof slack);
    Str s = { e->text.ptr, e->text.len - sizeof slack };
    if (s.len >= UINT32_MAX) return error_new("a normalized text of %zu bytes is too long", s.len);
    if (!s.len) return NULL;
    if (t->options.plain || !t->model->joins)
        encode_whole(e, s, out);
    else if (t->file.kind == SP_BPE)
        encode_bpe(e, s, out);
    else
        encode_unigram(e, s, out);
    return NULL;
}

static void add_options(const SentencePiece *t, int64_t before, Ids *out)
{
    if (t->options.reverse) {
        for (int64_t i = before, k = out->n - 1; i < k; i++, k--) {
            uint32_t id = out->id[i];
            out->id[i] = out->id[k];
            out->id[k] = id;
        }
    }
    if (t->options.add_bos) {
        ids_add(out, 0);
        memmove(out->id + before + 1, out->id + before,
                (size_t)(out->n - before - 1) * sizeof *out->id);
        out->id[before] = (uint32_t)t->special.bos;
    }
    if (t->options.add_eos) ids_add(out, (uint32_t)t->special.eos);
}

Error *sp_encoder_encode(Encoder *encoder, Str text, bool add_special_tokens, Ids *out)
{
    SpEncoder *e = (SpEncoder *)encoder;
    TRY(tokenizer_check_text(text));
    int64_t before = out->n;
    TRY(encode_text(e, text, out));
    if (add_special_tokens) add_options(e->tokenizer, before, out);
    return NULL;
}
