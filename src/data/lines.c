/* lines.c - counts and finds the lines of a text, block by block. */
#include "data/lines.h"
#include "base/thread.h"
#include <string.h>

enum { BLOCK_BYTES = 1 << 20 };

static Str block_of(const Lines *l, int64_t i)
{
    size_t from = (size_t)i * BLOCK_BYTES, left = l->text.len - from;
    return (Str){ l->text.ptr + from, left < BLOCK_BYTES ? left : BLOCK_BYTES };
}

/* A line begins after each '\n' but one at the very end; the first line is lines_count's. */
static void count_block(void *arg, int64_t i, int thread)
{
    (void)thread;
    Lines *l = arg;
    Str block = block_of(l, i);
    int64_t n = 0;
    for (size_t k = 0; k < block.len; k++) n += block.ptr[k] == '\n';
    l->first_of_block[i + 1] = n;
}

void lines_count(Arena *a, Str text, Lines *out)
{
    *out = (Lines){ .text = text,
                    .n_blocks = (int64_t)(text.len / BLOCK_BYTES + (text.len % BLOCK_BYTES != 0)) };
    out->first_of_block = NEW_N(a, int64_t, out->n_blocks + 1);
    if (!text.len) return;
    Pool *pool = pool_new(0);
    pool_run(pool, out->n_blocks, count_block, out);
    pool_free(pool);
    out->first_of_block[0] = 1; /* line 0 begins before any '\n' */
    for (int64_t i = 0; i < out->n_blocks; i++)
        out->first_of_block[i + 1] += out->first_of_block[i];
    out->n = out->first_of_block[out->n_blocks] - (text.ptr[text.len - 1] == '\n');
}

typedef struct Getting {
    const Lines *lines;
    int64_t from, to;
    Str *out;
} Getting;

static Str line_at_offset(Str text, const char *begin)
{
    const char *end = memchr(begin, '\n', text.len - (size_t)(begin - text.ptr));
    return (Str){ begin, (size_t)((end ? end + 1 : text.ptr + text.len) - begin) };
}

/* The wanted lines that begin after a '\n' of this block. */
static void get_block(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Getting *g = arg;
    const Lines *l = g->lines;
    Str block = block_of(l, i);
    int64_t number = l->first_of_block[i], last = l->first_of_block[i + 1];
    if (last <= g->from || number >= g->to) return;
    const char *p = block.ptr, *end = p + block.len, *text_end = l->text.ptr + l->text.len;
    for (; (p = memchr(p, '\n', (size_t)(end - p))); number++) {
        if (++p == text_end) return;
        if (number >= g->from && number < g->to)
            g->out[number - g->from] = line_at_offset(l->text, p);
    }
}

void lines_get(const Lines *l, int64_t from, int64_t to, Str *out)
{
    if (from == 0 && to > 0) out[0] = line_at_offset(l->text, l->text.ptr);
    Getting g = { l, from, to, out };
    Pool *pool = pool_new(0);
    pool_run(pool, l->n_blocks, get_block, &g);
    pool_free(pool);
}
