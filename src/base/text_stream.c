/* text_stream.c - a thread that fills chunks, and two queues in which they go round. */
#include "base/text_stream.h"
#include "base/decompress.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/waiting_read.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Chunks stay in a cache until they are read; longer lines make longer chunks, whose memory is not
 * kept. */
enum { CHUNK_BYTES = 1 << 18, N_CHUNKS = 16, KEPT_BYTES = 1 << 20 };

struct TextStream {
    Arena *arena;
    const char *path;
    Str bytes; /* of the file */
    int64_t most_line_bytes;
    Queue *full, *empty;
    TextChunk chunk[N_CHUNKS];
    pthread_t thread;
    bool has_thread;
    atomic_bool is_closed;
    Error *error; /* set before `full` is closed */
    /* of the thread */
    TextChunk *at;
    int64_t skip;     /* bytes that are left to skip */
    bool is_too_long; /* the line at hand: the rest of it is left out */
};

/* ---- filling ---- */

static Error *closed(const TextStream *s)
{
    return error_new("%s: nobody reads it any more", s->path);
}

/* Goes on with an empty chunk that begins with `rest`. */
static Error *begin_chunk(TextStream *s, int64_t offset, Str rest)
{
    void *item;
    if (!queue_take(s->empty, &item)) return closed(s);
    TextChunk *c = item;
    Buffer memory = c->memory;
    char *to = buffer_grow(&memory, rest.len + CHUNK_BYTES);
    if (rest.len) memcpy(to, rest.ptr, rest.len);
    *c = (TextChunk){ .text = { to, rest.len }, .offset = offset, .memory = memory };
    s->at = c;
    return NULL;
}

/* Gives the chunk away; the next one begins with `rest`, which lies after it. */
static Error *end_chunk(TextStream *s, int64_t next_offset, Str rest)
{
    TextChunk *c = s->at;
    TRY(begin_chunk(s, next_offset, rest));
    return queue_put(s->full, c) ? NULL : closed(s);
}

static void make_room(TextChunk *c, size_t more)
{
    c->text.ptr = buffer_grow(&c->memory, c->text.len + more);
}

static char *room(void *stream, size_t *n)
{
    TextChunk *c = ((TextStream *)stream)->at;
    *n = c->memory.cap - c->text.len;
    return (char *)c->memory.ptr + c->text.len;
}

/* The line that is too long goes on. */
static Error *leave_out(TextStream *s, Str more)
{
    TextChunk *c = s->at;
    const char *newline = memchr(more.ptr, '\n', more.len);
    c->left_out += newline ? newline - more.ptr : (int64_t)more.len;
    if (!newline) return NULL;
    s->is_too_long = false;
    Str rest = { newline + 1, (size_t)(more.ptr + more.len - (newline + 1)) };
    return end_chunk(s, c->offset + (int64_t)c->text.len + c->left_out + 1, rest);
}

/* The chunk is full: it ends with its last line that is all there. If that has no end yet, it is
 * the only one. */
static Error *cut(TextStream *s)
{
    TextChunk *c = s->at;
    const char *newline = memrchr(c->text.ptr, '\n', c->text.len);
    if (newline) {
        Str rest = { newline + 1, (size_t)(c->text.ptr + c->text.len - (newline + 1)) };
        c->text.len -= rest.len;
        return end_chunk(s, c->offset + (int64_t)c->text.len, rest);
    }
    int64_t most = s->most_line_bytes;
    s->is_too_long = (int64_t)c->text.len > most;
    if (s->is_too_long) {
        c->left_out = (int64_t)c->text.len - (most + 1);
        c->text.len = (size_t)most + 1;
    }
    make_room(c, c->text.len + CHUNK_BYTES);
    return NULL;
}

static Error *took(void *stream, size_t n, size_t stored)
{
    TextStream *s = stream;
    TextChunk *c = s->at;
    char *more = (char *)c->memory.ptr + c->text.len;
    if (s->is_closed) return closed(s);
    c->stored = (int64_t)stored;
    if (s->skip) {
        size_t k = (int64_t)n < s->skip ? n : (size_t)s->skip;
        memmove(more, more + k, n -= k);
        c->offset += (int64_t)k;
        s->skip -= (int64_t)k;
    }
    if (s->is_too_long) return leave_out(s, (Str){ more, n });
    c->text.len += n;
    return c->text.len == c->memory.cap ? cut(s) : NULL;
}

/* What came within a moment, also nothing, goes on, so that closing waits for nobody who types. */
static Error *read_standard_input(const Sink *sink)
{
    bool some;
    for (size_t most, n;;) {
        char *to = sink->room(sink->to, &most);
        TRY(waiting_read(STDIN_FILENO, "standard input", to, most, &n, &some));
        if (some && !n) return NULL;
        TRY(sink->took(sink->to, n, 0));
    }
}

static Error *fill_all(TextStream *s)
{
    const Sink sink = { room, took, s };
    Compression kind = compression_of(s->path);
    TRY(begin_chunk(s, 0, (Str){ 0 }));
    TRY(kind ? decompress(kind, s->bytes, s->path, &sink) : read_standard_input(&sink));
    if (!s->at->text.len) return NULL;
    return queue_put(s->full, s->at) ? NULL : closed(s);
}

static void *run(void *stream)
{
    TextStream *s = stream;
    s->error = fill_all(s);
    queue_close(s->full);
    return NULL;
}

/* ---- reading ---- */

Error *text_stream_open(const char *path, int64_t most_line_bytes, TextStream **out)
{
    Arena *a = arena_new();
    TextStream *s = NEW(a, TextStream);
    *s = (TextStream){ .arena = a,
                       .path = arena_string(a, path),
                       .most_line_bytes = most_line_bytes,
                       .full = queue_new(N_CHUNKS),
                       .empty = queue_new(N_CHUNKS) };
    for (int i = 0; i < N_CHUNKS; i++) CHECK(queue_put(s->empty, &s->chunk[i]));
    Error *e = compression_of(path) ? file_view_forward(a, path, &s->bytes) : NULL;
    if (e) text_stream_close(s);
    *out = e ? NULL : s;
    return e;
}

void text_stream_skip(TextStream *s, int64_t n_bytes)
{
    CHECK(!s->has_thread);
    s->skip = n_bytes;
}

Error *text_stream_next(TextStream *s, TextChunk **out)
{
    void *item;
    if (!s->has_thread) {
        if (!thread_start(&s->thread, run, s))
            return error_new("%s: a thread to read it cannot be made: %s", s->path,
                             strerror(errno));
        s->has_thread = true;
    }
    *out = NULL;
    if (queue_take(s->full, &item)) {
        *out = item;
        return NULL;
    }
    Error *e = s->error;
    s->error = NULL;
    return e;
}

void text_stream_give_back(TextStream *s, TextChunk *chunk)
{
    if (chunk->memory.cap > KEPT_BYTES) buffer_free(&chunk->memory);
    queue_put(s->empty, chunk);
}

void text_stream_close(TextStream *s)
{
    if (!s) return;
    s->is_closed = true;
    queue_close(s->empty);
    queue_close(s->full);
    if (s->has_thread) pthread_join(s->thread, NULL);
    for (int i = 0; i < N_CHUNKS; i++) buffer_free(&s->chunk[i].memory);
    queue_free(s->full);
    queue_free(s->empty);
    error_free(s->error);
    arena_free(s->arena);
}
