/* arena.c - chunks of growing size; big requests get a chunk of their own. */
#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 1 << 20 };

typedef struct ArenaChunk {
    struct ArenaChunk *next;
    size_t size, used;
    char *data;
} ArenaChunk;

typedef struct Release {
    struct Release *next;
    void (*release)(void *arg);
    void *arg;
} Release;

struct Arena {
    ArenaChunk *chunk; /* the first one is the one being filled */
    Release *releases;
    size_t next_size;
};

Arena *arena_new(void)
{
    Arena *a = memory_or_end(calloc(1, sizeof *a), sizeof *a);
    a->next_size = FIRST_CHUNK;
    return a;
}

static void chunks_free(ArenaChunk *c)
{
    for (ArenaChunk *next; c; c = next) {
        next = c->next;
        free(c->data);
        free(c);
    }
}

void arena_clear(Arena *a)
{
    for (Release *r = a->releases; r; r = r->next) r->release(r->arg);
    a->releases = NULL;
    if (!a->chunk) return;
    chunks_free(a->chunk->next);
    a->chunk->next = NULL;
    a->chunk->used = 0;
}

void arena_free(Arena *a)
{
    if (!a) return;
    for (Release *r = a->releases; r; r = r->next) r->release(r->arg);
    chunks_free(a->chunk);
    free(a);
}

static ArenaChunk *chunk_new(size_t size)
{
    ArenaChunk *c = memory_or_end(calloc(1, sizeof *c), sizeof *c);
    void *data = NULL;
    if (posix_memalign(&data, ALIGN, size) != 0) data = NULL;
    c->data = memory_or_end(data, size);
    c->size = size;
    return c;
}

void *arena_alloc(Arena *a, size_t size)
{
    CHECK(size <= SIZE_MAX / 2);
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (size == 0) size = ALIGN;
    ArenaChunk *c = a->chunk;
    if (!c || c->size - c->used < size) {
        bool own = size > a->next_size / 2;
        c = chunk_new(own ? size : a->next_size);
        if (own && a->chunk) { /* keep filling the present chunk */
            c->next = a->chunk->next;
            a->chunk->next = c;
        } else {
            c->next = a->chunk;
            a->chunk = c;
        }
        if (!own && a->next_size < LARGEST_CHUNK) a->next_size *= 2;
    }
    void *p = c->data + c->used;
    c->used += size;
    return memset(p, 0, size);
}

void *arena_copy(Arena *a, const void *from, size_t size)
{
    void *to = arena_alloc(a, size);
    if (size) memcpy(to, from, size);
    return to;
}

char *arena_string_n(Arena *a, const char *s, size_t len)
{
    char *to = arena_alloc(a, len + 1);
    if (len) memcpy(to, s, len);
    return to;
}

char *arena_string(Arena *a, const char *s)
{
    return arena_string_n(a, s, strlen(s));
}

char *arena_vprintf(Arena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    CHECK(len >= 0);
    char *to = arena_alloc(a, (size_t)len + 1);
    vsnprintf(to, (size_t)len + 1, fmt, again);
    va_end(again);
    return to;
}

char *arena_printf(Arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = arena_vprintf(a, fmt, args);
    va_end(args);
    return s;
}

void *arena_grow(Arena *a, void *items, int64_t n, int64_t *cap, size_t item_size)
{
    if (n < *cap) return items;
    int64_t wanted = *cap ? *cap * 2 : 16;
    void *to = arena_alloc(a, item_size * (size_t)wanted);
    if (n) memcpy(to, items, item_size * (size_t)n);
    *cap = wanted;
    return to;
}

void arena_on_free(Arena *a, void (*release)(void *arg), void *arg)
{
    Release *r = NEW(a, Release);
    *r = (Release){ .next = a->releases, .release = release, .arg = arg };
    a->releases = r;
}
