/* bpe.c - BPE without a list of merges: two neighbours merge when they make a piece,
 * the piece of the highest score first, the leftmost of equal ones. */
#include "base/utf8.h"
#include "tokenizer/bpe/walk.h"
#include "tokenizer/sentencepiece/model.h"
#include <stdlib.h>
#include <string.h>

static bool merges(const SpFile *f, uint32_t id)
{
    return id >= f->n || f->type[id] == SP_NORMAL || f->type[id] == SP_UNUSED;
}

/* The rank of a pair is the piece it makes; the order of the ranks is by score. */
static void add_pairs(SpModel *m, uint32_t made)
{
    Str name = m->name[made];
    for (size_t at = utf8_char_bytes((uint8_t)name.ptr[0]); at < name.len;
         at += utf8_char_bytes((uint8_t)name.ptr[at])) {
        uint32_t left = vocab_find(&m->symbols, (Str){ name.ptr, at });
        if (left == NO_TOKEN || !merges(m->file, left)) continue;
        uint32_t right = vocab_find(&m->symbols, (Str){ name.ptr + at, name.len - at });
        if (right == NO_TOKEN || !merges(m->file, right)) continue;
        bpe_add_pair(&m->bpe, left, right, made);
        if (m->file->type[made] == SP_UNUSED) m->resplits = true;
    }
}

/* Characters that occur in pieces but are none get ids after those of the pieces. */
static void add_characters(Arena *a, SpModel *m)
{
    int64_t n = m->file->n, cap = n;
    Str *name = arena_copy(a, m->name, (size_t)n * sizeof *name);
    Vocab seen = m->symbols;
    for (int64_t i = 0; i < m->file->n; i++) {
        Str piece = m->name[i];
        for (size_t at = 0, len; at < piece.len; at += len) {
            len = utf8_char_bytes((uint8_t)piece.ptr[at]);
            Str c = { piece.ptr + at, len };
            if (vocab_find(&seen, c) != NO_TOKEN) continue;
            name = arena_grow(a, name, n, &cap, sizeof *name);
            name[n++] = c;
        }
    }
    vocab_of_names(a, name, n, &m->symbols);
}

typedef struct Scored {
    float score;
    uint32_t id;
} Scored;

static int by_score(const void *a, const void *b)
{
    const Scored *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Equal scores have equal places, so that the leftmost pair is merged first. */
static void find_order(Arena *a, SpModel *m)
{
    const SpFile *f = m->file;
    Buffer sorted = { 0 };
    Scored *s = buffer_grow(&sorted, (size_t)f->n * sizeof *s);
    for (int64_t i = 0; i < f->n; i++) s[i] = (Scored){ f->score[i], (uint32_t)i };
    qsort(s, (size_t)f->n, sizeof *s, by_score);
    m->bpe.order = NEW_N(a, uint32_t, f->n);
    uint32_t place = 0;
    for (int64_t i = 0; i < f->n; i++) {
        if (i && s[i].score != s[i - 1].score) place = (uint32_t)i;
        m->bpe.order[s[i].id] = place;
        m->bpe.merged[i] = (uint32_t)i;
    }
    buffer_free(&sorted);
}

/* Takes unused pieces apart again, into the two parts that were last seen to make them. */
static int64_t take_apart(const SpModel *m, const uint64_t *made_of, uint32_t *id, int64_t n,
                          Buffer *scratch)
{
    int64_t n_waiting = 0, kept = 0;
    uint32_t *waiting = buffer_grow(scratch, (size_t)n * sizeof *waiting);
    for (int64_t i = n; i-- > 0;) waiting[n_waiting++] = id[i];
    while (n_waiting) {
        uint32_t top = waiting[--n_waiting];
        if (top < m->file->n && m->file->type[top] == SP_UNUSED && made_of[top]) {
            waiting = buffer_grow(scratch, (size_t)(n_waiting + 2) * sizeof *waiting);
            waiting[n_waiting++] = (uint32_t)made_of[top];
            waiting[n_waiting++] = (uint32_t)(made_of[top] >> 32);
        } else {
            id[kept++] = top;
        }
    }
    return kept;
}

/* A user-defined symbol, or one character. */
static uint32_t symbol_at(const void *model, Str text, size_t *len)
{
    const SpModel *m = model;
    uint32_t id;
    *len = trie_longest(&m->keep, text, &id);
    if (*len) return id;
    *len = utf8_char_bytes((uint8_t)text.ptr[0]);
    if (*len > text.len) *len = text.len;
    uint8_t byte = (uint8_t)text.ptr[0];
    return byte < 128 ? m->bpe.ascii_id[byte] : vocab_find(&m->symbols, (Str){ text.ptr, *len });
}

/* What an unknown character becomes. */
static uint32_t known_or_not(const SpModel *m, uint32_t id)
{
    return id == NO_TOKEN ? (uint32_t)m->symbols.n : id;
}

/* The bytes before the next user-defined symbol. */
static size_t before_symbol(const SpModel *m, Str text)
{
    uint32_t id;
    if (!m->keep.longest) return text.len;
    size_t at = 0;
    while (at < text.len && !trie_longest(&m->keep, (Str){ text.ptr + at, text.len - at }, &id))
        at += utf8_char_bytes((uint8_t)text.ptr[at]);
    return at < text.len ? at : text.len;
}

/* Long texts. */
static int64_t walk(const SpModel *m, Buffer *scratch, Str text, uint32_t *out)
{
    int64_t n = 0;
    for (size_t at = 0, until = 0; at < text.len;) {
        if (until <= at) until = at + before_symbol(m, (Str){ text.ptr + at, text.len - at });
        size_t len = bpe_walk(m->bpe.walk, scratch, (Str){ text.ptr + at, until - at }, out, &n);
        at += len;
        if (len) continue;
        out[n++] = known_or_not(m, symbol_at(m, (Str){ text.ptr + at, text.len - at }, &len));
        at += len;
    }
    return n;
}

static int64_t symbolize(const SpModel *m, Buffer *scratch, Str text, uint32_t *out)
{
    if (m->bpe.walk && text.len > LONGEST_MERGED_CHARS) return walk(m, scratch, text, out);
    int64_t n = 0;
    for (size_t at = 0, len; at < text.len; at += len)
        out[n++] = known_or_not(m, symbol_at(m, (Str){ text.ptr + at, text.len - at }, &len));
    if (!m->resplits) return bpe_merge(&m->bpe, scratch, out, n);
    Buffer parts = { 0 };
    size_t bytes = (size_t)m->file->n * sizeof(uint64_t);
    uint64_t *made_of = memset(buffer_grow(&parts, bytes), 0, bytes);
    n = bpe_merge_noting(&m->bpe, scratch, out, n, made_of);
    n = take_apart(m, made_of, out, n, scratch);
    buffer_free(&parts);
    return n;
}

Error *sp_bpe_prepare(Arena *a, SpModel *m)
{
    add_characters(a, m);
    if (m->symbols.n > MAX_TOKEN_ID)
        return error_new("more than %d pieces and characters", MAX_TOKEN_ID);
    int64_t most = 0; /* ways to make a piece of two parts */
    for (int64_t i = 0; i < m->file->n; i++) most += (int64_t)m->name[i].len;
    bpe_tables_new(&m->bpe, a, most, m->file->n);
    for (int64_t i = 0; i < m->file->n; i++) {
        if (m->name[i].len && merges(m->file, (uint32_t)i)) add_pairs(m, (uint32_t)i);
    }
    find_order(a, m);
    for (int c = 0; c < 128; c++) {
        char byte = (char)c;
        m->bpe.ascii_id[c] = vocab_find(&m->symbols, (Str){ &byte, 1 });
    }
    if (!m->resplits)
        m->bpe.walk = bpe_walk_new(a, &m->bpe, m->symbols.name, m->symbols.n_ids, symbol_at, m);
    bpe_walk_keep_pairs(a, &m->bpe, m->symbols.n_ids);
    m->symbolize = symbolize;
    return NULL;
}
