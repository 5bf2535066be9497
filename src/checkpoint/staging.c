/* staging.c - what a save reads while the training goes on. */
#include "checkpoint/staging.h"
#include "base/memory.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 512, CHUNK = 1 << 20 }; /* from multiples of 512 disks take them straight */

typedef struct StagedPiece {
    PieceSource *source;
    void *context;
    int64_t piece;
    size_t bytes, read; /* read: so many, from the first one on */
    size_t at;          /* of its copy in the memory; only what was not read by then is there */
} StagedPiece;

struct Staging {
    pthread_mutex_t lock; /* for what follows; held while numbers are copied */
    pthread_cond_t changed;
    bool is_lent, is_wanted; /* the writer reads numbers; somebody waits to copy what is left */
    Arena *arena;            /* of the list of pieces */
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
    CHECK(pthread_mutex_init(&s->lock, NULL) == 0 && pthread_cond_init(&s->changed, NULL) == 0);
    return s;
}

void staging_free(Staging *s)
{
    if (!s) return;
    free(s->memory);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    arena_free(s->arena);
}

size_t staging_room(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
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
    s->used += staging_room(bytes);
    return s->n++;
}

static PieceNumbers copy_of(const Staging *s, const StagedPiece *p)
{
    const int64_t n = (int64_t)p->bytes;
    const Box all = box_whole(1, &n);
    return (PieceNumbers){ .what = all, .part = all, .element = 1, .data = s->memory + p->at };
}

/* Who has some already gets more at once, and so comes to an end. */
Error *staging_lend(Staging *s, int64_t piece, PieceNumbers *out)
{
    const StagedPiece *p = &s->piece[piece];
    if (!atomic_load(&s->is_apart)) TRY(p->source(p->context, p->piece, out));
    pthread_mutex_lock(&s->lock);
    while (s->is_wanted && !s->is_lent) pthread_cond_wait(&s->changed, &s->lock);
    if (s->is_apart) *out = copy_of(s, p);
    s->is_lent = true;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void staging_took(Staging *s, int64_t piece, size_t n)
{
    StagedPiece *p = &s->piece[piece];
    pthread_mutex_lock(&s->lock);
    CHECK(s->is_lent && n <= p->bytes - p->read);
    p->read += n;
    pthread_mutex_unlock(&s->lock);
}

void staging_return(Staging *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_lent = false;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

bool staging_is_wanted(Staging *s)
{
    pthread_mutex_lock(&s->lock);
    const bool is_wanted = s->is_wanted;
    pthread_mutex_unlock(&s->lock);
    return is_wanted;
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
    s->is_wanted = true; /* before the writer takes the next ones */
    while (s->is_lent && !s->is_apart) pthread_cond_wait(&s->changed, &s->lock);
    if (!s->is_apart) {
        staging_reserve(s, s->used, false);
        for (int64_t i = 0; !e && i < s->n; i++) e = copy_rest(s, &s->piece[i], pool);
        s->is_apart = !e;
    }
    s->is_wanted = false;
    pthread_cond_broadcast(&s->changed);
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
