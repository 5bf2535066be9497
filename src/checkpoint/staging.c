/* staging.c - what a save reads while the training goes on. */
#include "checkpoint/staging.h"
#include "base/memory.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, CHUNK = 1 << 20 };

typedef struct StagedPiece {
    PieceSource *source;
    void *context;
    int64_t piece;
    size_t bytes, read; /* read: so many, from the first one on */
    size_t at;          /* of its copy in the memory; only what was not read by then is there */
} StagedPiece;

struct Staging {
    pthread_mutex_t lock; /* for what follows; held while numbers are read */
    Arena *arena;         /* of the list of pieces */
    StagedPiece *piece;
    int64_t n, cap;
    size_t used, copied;
    _Atomic bool is_apart; /* nothing is read where it lies any more: there is a copy */
    char *memory;
    size_t room;
};

Staging *staging_new(void)
{
    Arena *a = arena_new();
    Staging *s = NEW(a, Staging);
    *s = (Staging){ .arena = a, .is_apart = true };
    CHECK(pthread_mutex_init(&s->lock, NULL) == 0);
    return s;
}

void staging_free(Staging *s)
{
    if (!s) return;
    free(s->memory);
    pthread_mutex_destroy(&s->lock);
    arena_free(s->arena);
}

void staging_reserve(Staging *s, size_t bytes, bool touched)
{
    if (bytes > s->room) {
        free(s->memory);
        s->memory = memory_untouched(bytes);
        s->room = bytes;
    }
    if (touched && bytes) memset(s->memory, 0, bytes);
}

void staging_begin(Staging *s)
{
    s->n = 0;
    s->used = s->copied = 0;
    s->is_apart = false;
}

int64_t staging_add(Staging *s, PieceSource *source, void *context, int64_t piece, size_t bytes)
{
    s->piece = arena_grow(s->arena, s->piece, s->n, &s->cap, sizeof *s->piece);
    s->piece[s->n] = (StagedPiece){
        .source = source, .context = context, .piece = piece, .bytes = bytes, .at = s->used
    };
    s->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return s->n++;
}

static PieceNumbers copy_of(const Staging *s, const StagedPiece *p)
{
    const int64_t n = (int64_t)p->bytes;
    const Box all = box_whole(1, &n);
    return (PieceNumbers){ .what = all, .part = all, .element = 1, .data = s->memory + p->at };
}

/* The lock is held while they are copied, which takes less than a millisecond. */
static Error *read_chunk(Staging *s, StagedPiece *p, size_t n, char *to, size_t block_bytes,
                         uint32_t *crc)
{
    PieceNumbers numbers = { .data = NULL };
    if (!atomic_load(&s->is_apart)) TRY(p->source(p->context, p->piece, &numbers));
    pthread_mutex_lock(&s->lock);
    if (s->is_apart) numbers = copy_of(s, p);
    piece_copy(&numbers, p->read, n, to, block_bytes, crc, NULL);
    p->read += n;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

Error *staging_read(Staging *s, int64_t piece, size_t n, char *to, size_t block_bytes,
                    uint32_t *crc)
{
    StagedPiece *p = &s->piece[piece];
    CHECK(n <= p->bytes - p->read);
    for (size_t now; n; n -= now, to += now) {
        now = n < CHUNK ? n : CHUNK;
        TRY(read_chunk(s, p, now, to, block_bytes, crc));
    }
    return NULL;
}

static Error *copy_rest(Staging *s, StagedPiece *p, Pool *pool)
{
    const size_t n = p->bytes - p->read;
    PieceNumbers numbers = { .data = NULL };
    if (!n) return NULL;
    TRY(p->source(p->context, p->piece, &numbers));
    piece_copy(&numbers, p->read, n, s->memory + p->at + p->read, CHUNK, NULL, pool);
    s->copied += n;
    return NULL;
}

Error *staging_copy(Staging *s, Pool *pool)
{
    Error *e = NULL;
    pthread_mutex_lock(&s->lock);
    if (!s->is_apart) {
        staging_reserve(s, s->used, false);
        for (int64_t i = 0; !e && i < s->n; i++) e = copy_rest(s, &s->piece[i], pool);
        s->is_apart = !e;
    }
    pthread_mutex_unlock(&s->lock);
    return e;
}

void staging_end(Staging *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_apart = true;
    pthread_mutex_unlock(&s->lock);
}

size_t staging_copied(const Staging *s)
{
    return s->copied;
}
