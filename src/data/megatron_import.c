/* megatron_import.c - .bin and .idx files to .pbin files.
 *
 * Sequences that follow each other in the .bin file are one piece, so the usual file is copied as a
 * whole. */
#include "base/signal.h"
#include "base/thread.h"
#include "data/megatron.h"
#include "data/pbin.h"
#include "data/progress.h"
#include <stdatomic.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20, BLOCKS_PER_THREAD = 32 };

typedef struct Import {
    Arena *arena;
    const char *bin_path, *target;
    Str data;
    MegatronIndex index;
    int token_bytes; /* in the .pbin file */
    /* conversion of 8-byte tokens */
    uint32_t *narrow;
    int64_t first_block; /* of the round */
    _Atomic int64_t bad; /* place of a token that is none, the earliest found; INT64_MAX */
} Import;

/* ---- values ---- */

/* The first token in [from, to) that is negative or too large, or -1. */
static int64_t find_bad(const Import *m, int64_t from, int64_t to)
{
    int size = m->index.token_bytes;
    const uint8_t *top = (const uint8_t *)m->data.ptr + size - 1; /* the byte with the sign */
    for (int64_t at = from; at < to; at += size) {
        uint64_t wide;
        bool is_bad = m->index.is_signed && top[at] & 0x80;
        if (size == 8) {
            memcpy(&wide, m->data.ptr + at, 8);
            is_bad |= wide > UINT32_MAX;
        }
        if (is_bad) return at;
    }
    return -1;
}

static void convert_block(void *arg, int64_t i, int thread)
{
    (void)thread;
    Import *m = arg;
    int64_t from = (m->first_block + i) * BLOCK_BYTES, left = (int64_t)m->data.len - from;
    int64_t to = from + (left < BLOCK_BYTES ? left - left % m->index.token_bytes : BLOCK_BYTES);
    int64_t bad = find_bad(m, from, to), earliest = m->bad;
    while (bad >= 0 && bad < earliest && !atomic_compare_exchange_weak(&m->bad, &earliest, bad)) {
    }
    for (int64_t at = from; m->narrow && at < to; at += 8) {
        uint64_t wide;
        memcpy(&wide, m->data.ptr + at, 8);
        m->narrow[at / 8] = (uint32_t)wide;
    }
}

static Error *convert_blocks(Import *m, Pool *pool)
{
    int64_t size = (int64_t)m->data.len, most = (int64_t)pool_size(pool) * BLOCKS_PER_THREAD;
    int64_t n = size / BLOCK_BYTES + (size % BLOCK_BYTES != 0);
    CommandProgress progress = progress_start("checking", size, PROGRESS_BYTES);
    for (m->first_block = 0; m->first_block < n; m->first_block += most) {
        int64_t left = n - m->first_block;
        pool_run(pool, left < most ? left : most, convert_block, m);
        if (m->bad != INT64_MAX)
            return error_new("%s: the token at byte %lld is negative or needs more than 32 bits",
                             m->bin_path, (long long)m->bad);
        if (signal_stop_requested())
            return error_stopped("stopped by a signal; %s was not written", m->target);
        progress_update(&progress, m->first_block * BLOCK_BYTES);
    }
    progress_end(&progress);
    return NULL;
}

/* Checks every token and makes 4 bytes of 8. */
static Error *convert(Import *m)
{
    if (m->index.token_bytes < 8 && !m->index.is_signed) return NULL;
    if (m->index.token_bytes == 8) {
        void *room;
        TRY(file_scratch(m->arena, m->target, m->data.len / 2, &room));
        m->narrow = room;
    }
    m->bad = INT64_MAX;
    Pool *pool = pool_new(0);
    Error *e = convert_blocks(m, pool);
    pool_free(pool);
    return e;
}

/* ---- pieces ---- */

/* Sequence i continues the piece that ends at byte `end` of the .bin file. */
static bool continues(const MegatronIndex *x, int64_t i, int64_t end)
{
    return i > 0 && megatron_place(x, i) == end;
}

static Error *collect(const Import *m, Pieces *out)
{
    const MegatronIndex *x = &m->index;
    int64_t n = 0, end = 0, k = -1;
    for (int64_t i = 0; i < x->n_sequences; i++) {
        n += !continues(x, i, end);
        end = megatron_place(x, i) + megatron_bytes(x, i);
    }
    TRY(pieces_new(m->arena, m->target, n, out));
    for (int64_t i = 0; i < x->n_sequences; i++) {
        int64_t place = megatron_place(x, i), bytes = megatron_bytes(x, i);
        if (!continues(x, i, end))
            out->item[++k] =
                (Str){ m->narrow ? (char *)m->narrow + place / 2 : m->data.ptr + place, 0 };
        out->item[k].len += (size_t)(m->narrow ? bytes / 2 : bytes);
        end = place + bytes;
    }
    return NULL;
}

static Error *write_lengths(const Import *m, PbinWriter *w)
{
    const MegatronIndex *x = &m->index;
    for (int64_t d = 0, i = 0; d < x->n_documents; d++) {
        int64_t bytes = 0;
        for (int64_t end = megatron_first(x, d + 1); i < end; i++) bytes += megatron_bytes(x, i);
        TRY(pbin_add_length(w, bytes / x->token_bytes * m->token_bytes));
    }
    return NULL;
}

static Error *write_as(const Import *m, const char *identity, const Pieces *p)
{
    PbinWriter w;
    TRY(pbin_continue(m->target, m->token_bytes, identity, NULL, 0, &w));
    Error *e = pieces_write(p, w.file, "importing");
    if (!e) e = write_lengths(m, &w);
    return e ? pbin_abandon(&w, e) : pbin_commit(&w);
}

static Error *write(const Import *m, const char *idx_path, const Pieces *p)
{
    Text identity = { 0 };
    text_printf(&identity, "work: importing by %s\n", m->index.first ? "document" : "sequence");
    Error *e = identify_path(&identity, "input", m->bin_path);
    if (!e) e = identify_path(&identity, "index", idx_path);
    if (!e) e = write_as(m, identity.ptr, p);
    text_free(&identity);
    return e;
}

/* Sequences begin where tokens begin. */
static Error *check_places(const Import *m, const char *idx_path)
{
    for (int64_t i = 0; i < m->index.n_sequences; i++)
        if (megatron_place(&m->index, i) % m->index.token_bytes)
            return error_new("%s: sequence %lld begins at byte %lld, in the middle of a token",
                             idx_path, (long long)i, (long long)megatron_place(&m->index, i));
    return NULL;
}

static Error *import(Import *m, const char *idx_path, bool by_sequence, MegatronSummary *out)
{
    Str index;
    Pieces pieces;
    TRY(file_view(m->arena, m->bin_path, &m->data));
    TRY(file_view(m->arena, idx_path, &index));
    TRY(megatron_index_open(index, idx_path, (int64_t)m->data.len, by_sequence, &m->index));
    TRY(check_places(m, idx_path));
    m->token_bytes = m->index.token_bytes < 8 ? m->index.token_bytes : 4;
    *out = (MegatronSummary){ .n_documents = m->index.n_documents,
                              .n_sequences = m->index.n_sequences,
                              .form = m->index.form };
    TRY(convert(m));
    TRY(collect(m, &pieces));
    out->n_bytes = pieces_bytes(&pieces);
    return write(m, idx_path, &pieces);
}

Error *import_megatron(const char *bin_path, const char *idx_path, const char *target,
                       bool by_sequence, MegatronSummary *out)
{
    Import m = { .arena = arena_new(), .bin_path = bin_path, .target = target };
    Error *e = import(&m, idx_path, by_sequence, out);
    arena_free(m.arena);
    return e;
}
