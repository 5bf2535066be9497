/* part_write.c - writes a planned part file, with checksums of everything.
 *
 * Numbers are copied once, block by block and by several threads, and checksummed while they are in
 * the cache. */
#include "checkpoint/part_write.h"
#include "base/thread.h"
#include <string.h>
#include <zlib.h>

enum { AT_ONCE = 16 << 10 }; /* stays in the nearest cache until it is checksummed */

typedef struct PartWriter {
    Arena *arena;
    const PartSource *source;
    PartOutput *output;
    int64_t at; /* bytes of the file so far */
} PartWriter;

/* Bytes [from, from + n) of the numbers of a piece on their way. */
typedef struct Copying {
    PieceNumbers numbers;
    Runs runs;
    size_t element, block_bytes, from, n;
    char *to;
    uint32_t *crc; /* of each block of the piece, so far */
} Copying;

static void copy_block(void *arg, int64_t i, int thread)
{
    const Copying *c = arg;
    const size_t block = c->from / c->block_bytes + (size_t)i, first = block * c->block_bytes,
                 last = first + c->block_bytes, run = (size_t)c->runs.length * c->element,
                 end = last < c->from + c->n ? last : c->from + c->n;
    (void)thread;
    for (size_t at = first > c->from ? first : c->from, now; at < end; at += now) {
        const size_t k = at / run, skip = at % run;
        now = end - at < run - skip ? end - at : run - skip;
        if (now > AT_ONCE) now = AT_ONCE;
        const size_t begin =
            (size_t)box_run_offset(&c->runs, &c->numbers.what, &c->numbers.part, (int64_t)k) *
            c->element;
        char *to = c->to + (at - c->from);
        memcpy(to, (const char *)c->numbers.data + begin + skip, now);
        c->crc[block] = checksum(c->crc[block], to, now);
    }
}

static void copy_blocks(struct Pool *pool, Copying *c)
{
    const int64_t first = (int64_t)(c->from / c->block_bytes),
                  last = (int64_t)((c->from + c->n - 1) / c->block_bytes), n = last - first + 1;
    if (pool)
        pool_run(pool, n, copy_block, c);
    else
        for (int64_t i = 0; i < n; i++) copy_block(c, i, 0);
}

/* Cuts the numbers into blocks; *crc becomes the checksum of them all. */
static Error *put_numbers(PartWriter *w, const PieceNumbers *numbers, size_t element,
                          ManifestBox *b, uint32_t *crc)
{
    const PartSource *s = w->source;
    const size_t bytes = (size_t)(b->end - b->begin);
    Copying c = { .numbers = *numbers, .element = element, .block_bytes = (size_t)s->block_bytes };
    CHECK(w->at == b->begin);
    c.runs = box_runs(&c.numbers.what, &c.numbers.part);
    CHECK((size_t)(c.runs.n * c.runs.length) * element == bytes);
    b->crc = c.crc = NEW_N(w->arena, uint32_t, (bytes + c.block_bytes - 1) / c.block_bytes);
    for (; c.from < bytes; c.from += c.n) {
        c.to = part_output_room(w->output, &c.n);
        if (bytes - c.from < c.n) c.n = bytes - c.from;
        CHECK(c.n > 0);
        copy_blocks(s->pool, &c);
        TRY(part_output_add(w->output, c.n));
    }
    w->at += (int64_t)bytes;
    *crc = 0;
    for (size_t from = 0; from < bytes; from += c.block_bytes) {
        size_t size = bytes - from < c.block_bytes ? bytes - from : c.block_bytes;
        *crc = (uint32_t)crc32_combine(*crc, b->crc[from / c.block_bytes], (z_off_t)size);
    }
    return NULL;
}

/* What lies around the pieces: the header before the first one, the rest elsewhere. */
static Error *put_around(PartWriter *w, int64_t i, const Text *t, ManifestPart *out)
{
    if (i == 0) {
        out->header_bytes = (int64_t)t->len;
        out->header_crc = checksum(0, t->ptr, t->len);
    } else if (t->len) {
        out->has_rest = true;
        out->rest_crc = checksum(out->rest_crc, t->ptr, t->len);
    }
    w->at += (int64_t)t->len;
    return part_output_put(w->output, t->ptr, t->len);
}

static Error *put_all(PartWriter *w, PartPlan *p, Text *text, ManifestPart *out)
{
    const PartSource *s = w->source;
    uint32_t crc = 0;
    for (int64_t i = 0; i <= p->n; i++) {
        text_clear(text);
        p->around(p, i, w->at, crc, text);
        TRY(put_around(w, i, text, out));
        if (i == p->n) break;
        const int64_t piece = p->order[i];
        PieceNumbers n = { .data = NULL };
        TRY(s->numbers(s->context, piece, &n));
        TRY(put_numbers(w, &n, dtype_size(p->piece[piece].tensor.dtype), s->box(s->context, piece),
                        &crc));
    }
    CHECK(w->at == p->bytes);
    return NULL;
}

Error *part_fill(Arena *a, PartPlan *p, const PartSource *s, PartOutput *o, ManifestPart *out)
{
    PartWriter w = { .arena = a, .source = s, .output = o };
    Text text = { 0 };
    Error *e = put_all(&w, p, &text, out);
    text_free(&text);
    return e;
}

Error *part_write(Arena *a, PartPlan *p, const PartSource *s, NewFile *to, ManifestPart *out)
{
    PartOutput o;
    Arena *room = arena_new(); /* not kept until the whole save ends */
    part_output_reserve(room, p->bytes, &o);
    part_output_open(&o, to);
    Error *e = part_fill(a, p, s, &o, out);
    if (!e) e = part_output_end(&o);
    arena_free(room);
    return e;
}
