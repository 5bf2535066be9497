/* unigram.c - Unigram with SentencePiece's scores. */
#include "tokenizer/sentencepiece/model.h"
#include <float.h>
#include <math.h>

/* What a byte of a user-defined symbol counts at least; in double precision, as found by trying
 * (sentencepiece 0.2.3). */
#define LEAST_BONUS 0.1
/* How much worse than the worst piece an unknown character is. */
#define UNK_PENALTY 10.0f

int64_t sp_way_symbols(const SpModel *m, const Way *way, uint32_t *out)
{
    for (int64_t i = 0; i < way->n; i++) {
        uint32_t id = way->step[i].id;
        out[i] = id == m->file->unk_id ? (uint32_t)m->file->n : id;
    }
    return way->n;
}

static int64_t symbolize(const SpModel *m, Buffer *scratch, Str text, uint32_t *out)
{
    Way way = lattice_best(&m->lattice, scratch, text, 0);
    return sp_way_symbols(m, &way, out);
}

/* A user-defined symbol has a bonus by its length in bytes of UTF-8, so that it always wins. */
static double score_of(const SpFile *f, int64_t id, float max_score)
{
    if (f->type[id] != SP_USER_DEFINED) return f->score[id];
    return (double)f->name[id].len * fmax(max_score, LEAST_BONUS) - 0.1;
}

void sp_unigram_prepare(Arena *a, SpModel *m)
{
    const SpFile *f = m->file;
    float least = FLT_MAX, most = FLT_MIN;
    for (int64_t i = 0; i < f->n; i++) {
        if (f->type[i] != SP_NORMAL) continue;
        least = fminf(least, f->score[i]);
        most = fmaxf(most, f->score[i]);
    }
    Arena *scratch = arena_new();
    Str *key = NEW_N(scratch, Str, f->n);
    uint32_t *id = NEW_N(scratch, uint32_t, f->n);
    double *score = NEW_N(a, double, f->n);
    m->score = NEW_N(a, float, f->n);
    int64_t n_keys = 0;
    m->lattice.unk_score = least - UNK_PENALTY;
    m->max_score = fabs(m->lattice.unk_score);
    m->falls = true;
    for (int64_t i = 0; i < f->n; i++) {
        score[i] = score_of(f, i, most);
        m->score[i] = (float)score[i];
        m->falls &= score[i] <= 0 || f->type[i] == SP_USER_DEFINED;
        if (!m->name[i].len || f->type[i] == SP_UNUSED) continue;
        m->max_score = fmax(m->max_score, fabs(score[i]));
        key[n_keys] = m->name[i];
        id[n_keys++] = (uint32_t)i;
    }
    for (int byte = 0; byte < 256 && f->byte_fallback; byte++)
        m->score[f->byte_id[byte]] = (byte & 0xC0) == 0x80 ? 0 : (float)m->lattice.unk_score;
    m->lattice.trie = trie_new(a, key, id, n_keys);
    m->lattice.score = score;
    m->lattice.unk_id = f->unk_id;
    m->lattice.single = true;
    m->symbolize = symbolize;
    arena_free(scratch);
}
