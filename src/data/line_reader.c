/* line_reader.c - a stock of readers; each belongs to one thread between take and give back. */
#include "data/line_reader.h"
#include "data/bad_line.h"
#include <pthread.h>

struct LineReaders {
    const Tokenizer *tokenizer;
    const char *jq_pattern;
    int64_t eod, max_line_bytes;
    Arena *arena; /* of the readers, under the lock as `idle` is */
    pthread_mutex_t lock;
    LineReader *idle;
};

static void release_reader(void *reader)
{
    LineReader *r = reader;
    text_query_free(r->query);
    if (r->encoder) r->pool->tokenizer->encoder_free(r->encoder);
    text_free(&r->text);
    ids_free(&r->ids);
}

static Error *make_reader(LineReaders *pool, LineReader **out)
{
    LineReader *r = NEW(pool->arena, LineReader);
    *r = (LineReader){ .pool = pool, .line = -1 };
    arena_on_free(pool->arena, release_reader, r);
    TRY(text_query_new(pool->jq_pattern, &r->query));
    r->encoder = pool->tokenizer->encoder_new(pool->tokenizer);
    *out = r;
    return NULL;
}

static void release(void *readers)
{
    LineReaders *pool = readers;
    arena_free(pool->arena);
    pthread_mutex_destroy(&pool->lock);
}

Error *line_readers_new(Arena *a, const Tokenizer *tokenizer, const char *jq_pattern, int64_t eod,
                        int64_t max_line_bytes, LineReaders **out)
{
    LineReaders *pool = NEW(a, LineReaders);
    *pool = (LineReaders){ .tokenizer = tokenizer,
                           .jq_pattern = arena_string(a, jq_pattern),
                           .eod = eod,
                           .max_line_bytes = max_line_bytes,
                           .arena = arena_new() };
    pthread_mutex_init(&pool->lock, NULL);
    arena_on_free(a, release, pool);
    TRY(make_reader(pool, &pool->idle)); /* also finds a wrong pattern */
    *out = pool;
    return NULL;
}

Error *line_reader_take(LineReaders *pool, int64_t line, LineReader **out)
{
    Error *e = NULL;
    pthread_mutex_lock(&pool->lock);
    LineReader **at = &pool->idle;
    while (*at && (*at)->line != line) at = &(*at)->next;
    if (!*at) at = &pool->idle;
    *out = *at;
    if (*at)
        *at = (*at)->next;
    else
        e = make_reader(pool, out);
    pthread_mutex_unlock(&pool->lock);
    return e;
}

void line_reader_give_back(LineReader *r)
{
    pthread_mutex_lock(&r->pool->lock);
    r->next = r->pool->idle;
    r->pool->idle = r;
    pthread_mutex_unlock(&r->pool->lock);
}

Error *line_reader_run(LineReader *r, Str line, int64_t *column)
{
    const LineReaders *pool = r->pool;
    r->line = -1;
    r->ids.n = 0;
    *column = -1;
    TRY(line_too_long((int64_t)line.len, pool->max_line_bytes));
    TRY(text_query_run(r->query, line, &r->text, column));
    Str text = { r->text.len ? r->text.ptr : "", r->text.len };
    TRY(pool->tokenizer->encode(r->encoder, text, true, &r->ids));
    if (pool->eod < 0) return NULL;
    if (!r->ids.n) return error_new("the text is empty: it has no tokens");
    if (r->ids.id[r->ids.n - 1] != pool->eod) ids_add(&r->ids, (uint32_t)pool->eod);
    return NULL;
}
