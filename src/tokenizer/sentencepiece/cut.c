/* cut.c - where normalized text may be cut: no piece joins the two sides.
 *
 * Trained pieces join few kinds of bytes, so a table tells where none of them can. User-defined
 * symbols join anything but are rare: they are looked for, and cuts within them taken back. */
#include "tokenizer/sentencepiece/model.h"
#include <string.h>

/* Characters that are pieces, as far as a byte tells: unknown ones beside each other become one, so
 * a text must not be cut between them. */
static void keep_unknown_together(SpModel *m)
{
    bool known[256] = { false };
    for (int c = 0; c < 128; c++) {
        char byte = (char)c;
        uint32_t id = vocab_find(&m->symbols, (Str){ &byte, 1 });
        known[c] = id < m->file->n && m->file->type[id] != SP_UNUSED;
    }
    for (int left = 0; left < 256; left++) {
        for (int right = 0; right < 256; right++) {
            if (!known[left] && !known[right]) joins_set(m->joins, (uint8_t)left, (uint8_t)right);
        }
    }
}

static void find_starts(SpModel *m)
{
    const SpFile *f = m->file;
    for (int64_t i = 0; i < f->n; i++) {
        if (f->type[i] != SP_USER_DEFINED || m->name[i].len < 2) continue;
        uint8_t byte = (uint8_t)m->name[i].ptr[0];
        m->n_starts += !m->starts_symbol[byte];
        m->starts_symbol[byte] = true;
        m->start = (char)byte;
    }
}

/* The next place from `at` on where a user-defined symbol may start; `until` when there is none. */
static uint32_t next_start(const SpModel *m, const char *text, uint32_t at, uint32_t until)
{
    if (at >= until || !m->n_starts) return until;
    if (m->n_starts == 1) {
        const char *found = memchr(text + at, m->start, until - at);
        return found ? (uint32_t)(found - text) : until;
    }
    while (at < until && !m->starts_symbol[(uint8_t)text[at]]) at++;
    return at;
}

/* Takes the cuts end[0..n) back that lie within symbols that start from `from` on; returns how many
 * are left. */
static int64_t take_back(const SpModel *m, const char *text, uint32_t len, uint32_t from,
                         uint32_t *end, int64_t n)
{
    uint32_t until = end[n - 1], id;
    int64_t kept = 0, i = 0;
    for (uint32_t at = from; (at = next_start(m, text, at, until)) < until; at++) {
        uint32_t behind = at + (uint32_t)trie_longest(&m->keep, (Str){ text + at, len - at }, &id);
        if (behind < at + 2) continue;
        for (; i < n && end[i] <= at; i++) end[kept++] = end[i];
        while (i < n && end[i] < behind) i++;
    }
    for (; i < n; i++) end[kept++] = end[i];
    return kept;
}

static int64_t cut(const WordModel *self, const char *text, uint32_t len, uint32_t from,
                   uint32_t until, uint32_t *end)
{
    const SpModel *m = (const SpModel *)self;
    int64_t n = 0;
    for (uint32_t at = from, last;; at = last, until = last + 1) {
        int64_t more = m->cut(m->joins, text, len, at, until, end + n);
        last = end[n + more - 1];
        uint32_t back = at - from < m->keep.longest ? at - from : (uint32_t)m->keep.longest;
        n += take_back(m, text, len, at - back, end + n, more);
        if (n && end[n - 1] == last) return n;
    }
}

void sp_cut_prepare(Arena *a, SpModel *m)
{
    m->joins = joins_new(a);
    for (int64_t i = 0; i < m->file->n; i++) {
        if (m->file->type[i] != SP_USER_DEFINED) joins_add_inside(m->joins, m->name[i]);
    }
    if (!m->file->byte_fallback) keep_unknown_together(m);
    joins_group(m->joins);
    m->cut = m->file->rules.escape_whitespaces ? m->joins->cut_groups : joins_cut;
    m->base.cut = cut;
    find_starts(m);
}
