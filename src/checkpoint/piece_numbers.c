/* piece_numbers.c - the bytes of a piece, copied from where its numbers lie.
 *
 * They are checksummed while they are in the cache. */
#include "checkpoint/piece_numbers.h"
#include "checkpoint/manifest.h"
#include "tensor/halves.h"
#include <string.h>

enum { AT_ONCE = 16 << 10 }; /* stays in the nearest cache until it is checksummed */

typedef struct Copying {
    const PieceNumbers *numbers;
    Runs runs;
    size_t block_bytes, from, n;
    char *to;
    uint32_t *crc;
} Copying;

size_t piece_bytes(const PieceNumbers *p)
{
    return (size_t)box_count(&p->what) * p->element;
}

/* A file may begin its next block within a number. */
static void take_joined(const PieceNumbers *p, size_t at, char *to, size_t n)
{
    enum { SOME = 1024 };
    float number[SOME];
    const uint16_t *high = p->data;
    const int16_t *low = (const int16_t *)(high + box_count(&p->part));
    for (size_t now; n; n -= now, at += now, to += now) {
        const size_t first = at / sizeof *number, skip = at % sizeof *number;
        now = SOME * sizeof *number - skip;
        if (now > n) now = n;
        const size_t count = (skip + now + sizeof *number - 1) / sizeof *number;
        halves_join((int64_t)count, high + first, low + first, number);
        memcpy(to, (const char *)number + skip, now);
    }
}

/* n bytes from byte `at` of the part on, as they are in the file. */
static void take(const PieceNumbers *p, size_t at, char *to, size_t n)
{
    if (p->in_halves)
        take_joined(p, at, to, n);
    else
        memcpy(to, (const char *)p->data + at, n);
}

const char *piece_span(const PieceNumbers *p, size_t from, size_t *n)
{
    const Runs runs = box_runs(&p->what, &p->part);
    const size_t run = (size_t)runs.length * p->element, skip = from % run;
    if (p->in_halves) return NULL;
    if (*n > run - skip) *n = run - skip;
    return (const char *)p->data + skip +
           (size_t)box_run_offset(&runs, &p->what, &p->part, (int64_t)(from / run)) * p->element;
}

static void copy_block(void *arg, int64_t i, int thread)
{
    const Copying *c = arg;
    const PieceNumbers *p = c->numbers;
    const size_t block = c->from / c->block_bytes + (size_t)i, first = block * c->block_bytes,
                 last = first + c->block_bytes, run = (size_t)c->runs.length * p->element,
                 end = last < c->from + c->n ? last : c->from + c->n;
    (void)thread;
    for (size_t at = first > c->from ? first : c->from, now; at < end; at += now) {
        const size_t k = at / run, skip = at % run;
        now = end - at < run - skip ? end - at : run - skip;
        if (now > AT_ONCE) now = AT_ONCE;
        const size_t begin =
            (size_t)box_run_offset(&c->runs, &p->what, &p->part, (int64_t)k) * p->element;
        const char *bytes = (const char *)p->data + begin + skip;
        if (c->to) {
            take(p, begin + skip, c->to + (at - c->from), now);
            bytes = c->to + (at - c->from);
        }
        if (c->crc) c->crc[block] = checksum(c->crc[block], bytes, now);
    }
}

void piece_copy(const PieceNumbers *p, size_t from, size_t n, char *to, size_t block_bytes,
                uint32_t *crc, Pool *pool)
{
    CHECK(to || !p->in_halves);
    Copying c = { .numbers = p,
                  .runs = box_runs(&p->what, &p->part),
                  .block_bytes = block_bytes,
                  .from = from,
                  .n = n,
                  .to = to,
                  .crc = crc };
    if (!n) return;
    const int64_t first = (int64_t)(from / block_bytes),
                  last = (int64_t)((from + n - 1) / block_bytes), blocks = last - first + 1;
    if (pool)
        pool_run(pool, blocks, copy_block, &c);
    else
        for (int64_t i = 0; i < blocks; i++) copy_block(&c, i, 0);
}
