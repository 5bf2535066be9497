/* pbin_scan.c - reads all tokens of a packed file, with all cores. */
#include "base/signal.h"
#include "base/thread.h"
#include "data/pbin.h"
#include "data/progress.h"

enum { BLOCK_TOKENS = 1 << 20, BLOCKS_PER_THREAD = 8 };

typedef struct IdScan {
    const Pbin *file;
    int64_t first_block;
    uint32_t *largest; /* per block of a round */
} IdScan;

static uint32_t largest_of(const Pbin *p, int64_t from, int64_t n)
{
    const uint8_t *bytes = p->tokens + from * p->token_bytes;
    uint32_t ids[1024], largest = 0;
    for (int64_t i = 0; i < n; i += 1024) {
        int64_t m = n - i < 1024 ? n - i : 1024;
        pbin_decode((Str){ (const char *)bytes + i * p->token_bytes, (size_t)(m * p->token_bytes) },
                    p->token_bytes, ids);
        for (int64_t k = 0; k < m; k++) largest = ids[k] > largest ? ids[k] : largest;
    }
    return largest;
}

static void scan_block(void *arg, int64_t i, int thread)
{
    (void)thread;
    const IdScan *s = arg;
    int64_t from = (s->first_block + i) * BLOCK_TOKENS, left = s->file->n_tokens - from;
    s->largest[i] = largest_of(s->file, from, left < BLOCK_TOKENS ? left : BLOCK_TOKENS);
}

static Error *scan_ids(Arena *a, Pool *pool, const Pbin *p, Share share, uint32_t *largest)
{
    int64_t n_blocks = p->n_tokens / BLOCK_TOKENS + (p->n_tokens % BLOCK_TOKENS != 0), first;
    share_range(share, n_blocks, &first, &n_blocks);
    int64_t most = (int64_t)pool_size(pool) * BLOCKS_PER_THREAD;
    IdScan s = { .file = p, .first_block = first, .largest = NEW_N(a, uint32_t, most) };
    CommandProgress progress = progress_start("reading tokens", n_blocks - first, PROGRESS_ITEMS);
    *largest = 0;
    for (; s.first_block < n_blocks; s.first_block += most) {
        int64_t left = n_blocks - s.first_block, n = left < most ? left : most;
        pool_run(pool, n, scan_block, &s);
        for (int64_t i = 0; i < n; i++)
            if (s.largest[i] > *largest) *largest = s.largest[i];
        if (signal_stop_requested())
            return error_stopped("%s: stopped by a signal before the end", p->path);
        progress_update(&progress, s.first_block + n - first);
    }
    progress_end(&progress);
    return NULL;
}

Error *pbin_largest_id(const Pbin *p, Share share, uint32_t *largest)
{
    Arena *a = arena_new();
    Pool *pool = pool_new(0);
    Error *e = scan_ids(a, pool, p, share, largest);
    pool_free(pool);
    arena_free(a);
    return e;
}
