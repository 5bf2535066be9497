/* part_write.c - writes a planned part file, with checksums of everything.
 *
 * Numbers are checksummed and written a megabyte at a time, while they are in the cache. */
#include "checkpoint/part_write.h"
#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { BUFFER_BYTES = 1 << 16, AT_ONCE = 1 << 20 };

/* Small pieces and what lies around them are collected, so that few calls write them. */
typedef struct Output {
    NewFile *file;
    int64_t at;
    char *buffer;
    size_t n; /* bytes in the buffer */
} Output;

static Error *put_out(const Output *o, const void *bytes, size_t n)
{
    if (!n || fwrite(bytes, 1, n, o->file->stream) == n) return NULL;
    return error_new("cannot write %s: %s", o->file->path, strerror(errno));
}

static Error *put(Output *o, const void *bytes, size_t n)
{
    o->at += (int64_t)n;
    if (o->n + n > BUFFER_BYTES) {
        TRY(put_out(o, o->buffer, o->n));
        o->n = 0;
    }
    if (n >= BUFFER_BYTES) return put_out(o, bytes, n);
    if (n) memcpy(o->buffer + o->n, bytes, n);
    o->n += n;
    return NULL;
}

/* Adds bytes that lie from `done` on in the box to the checksums of their blocks. */
static void sum_blocks(uint32_t *crc, size_t block_bytes, size_t done, const char *at, size_t n)
{
    for (size_t now; n; n -= now, at += now, done += now) {
        size_t room = block_bytes - done % block_bytes;
        now = n < room ? n : room;
        crc[done / block_bytes] = checksum(crc[done / block_bytes], at, now);
    }
}

/* Cuts the numbers into blocks; *crc becomes the checksum of them all. */
static Error *put_numbers(Arena *a, Output *o, const PieceNumbers *n, size_t element,
                          size_t block_bytes, ManifestBox *b, uint32_t *crc)
{
    Runs runs = box_runs(&n->what, &n->part);
    size_t done = 0, bytes = (size_t)(b->end - b->begin);
    b->crc = NEW_N(a, uint32_t, (bytes + block_bytes - 1) / block_bytes);
    for (int64_t k = 0; k < runs.n; k++) {
        const char *at =
            (const char *)n->data + (size_t)box_run_offset(&runs, &n->what, &n->part, k) * element;
        for (size_t left = (size_t)runs.length * element, now; left; left -= now, at += now) {
            now = left < AT_ONCE ? left : AT_ONCE;
            sum_blocks(b->crc, block_bytes, done, at, now);
            TRY(put(o, at, now));
            done += now;
        }
    }
    CHECK(done == bytes);
    *crc = 0;
    for (size_t from = 0; from < bytes; from += block_bytes) {
        size_t size = bytes - from < block_bytes ? bytes - from : block_bytes;
        *crc = (uint32_t)crc32_combine(*crc, b->crc[from / block_bytes], (z_off_t)size);
    }
    return NULL;
}

/* What lies around the pieces: the header before the first one, the rest elsewhere. */
static Error *put_around(Output *o, int64_t i, const Text *t, ManifestPart *out)
{
    if (i == 0) {
        out->header_bytes = (int64_t)t->len;
        out->header_crc = checksum(0, t->ptr, t->len);
    } else if (t->len) {
        out->has_rest = true;
        out->rest_crc = checksum(out->rest_crc, t->ptr, t->len);
    }
    return put(o, t->ptr, t->len);
}

static Error *write_pieces(Arena *a, PartPlan *p, const PartSource *s, Output *o, Text *text,
                           ManifestPart *out)
{
    uint32_t crc = 0;
    for (int64_t i = 0; i <= p->n; i++) {
        text_clear(text);
        p->around(p, i, o->at, crc, text);
        TRY(put_around(o, i, text, out));
        if (i == p->n) break;
        int64_t piece = p->order[i];
        ManifestBox *b = s->box(s->context, piece);
        PieceNumbers n = { .data = NULL };
        CHECK(o->at == b->begin);
        TRY(s->numbers(s->context, piece, &n));
        TRY(put_numbers(a, o, &n, dtype_size(p->piece[piece].tensor.dtype), (size_t)s->block_bytes,
                        b, &crc));
    }
    CHECK(o->at == p->bytes);
    return put_out(o, o->buffer, o->n);
}

Error *part_write(Arena *a, PartPlan *p, const PartSource *s, NewFile *to, ManifestPart *out)
{
    Output o = { .file = to, .buffer = arena_alloc(a, BUFFER_BYTES) };
    Text text = { 0 };
    setvbuf(to->stream, NULL, _IONBF, 0);
    Error *e = write_pieces(a, p, s, &o, &text, out);
    text_free(&text);
    return e;
}
