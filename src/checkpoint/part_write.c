/* part_write.c - writes a planned part file, with checksums of everything. */
#include "checkpoint/part_write.h"
#include <zlib.h>

typedef struct PartWriter {
    Arena *arena;
    const PartSource *source;
    PartOutput *output;
    int64_t at; /* bytes of the file so far */
} PartWriter;

/* Takes the next *n bytes of a piece, or fewer: then *n becomes how many. */
static Error *put_some(PartWriter *w, const PieceNumbers *p, size_t from, size_t *n, uint32_t *crc)
{
    const size_t block = (size_t)w->source->block_bytes, all = *n;
    Pool *pool = w->source->staging ? NULL : w->source->pool;
    const char *at = piece_span(p, from, n);
    if (!at) *n = 0;
    if (at) TRY(part_output_straight(w->output, at, n));
    if (*n) {
        piece_copy(p, from, *n, NULL, block, crc, pool);
        return NULL;
    }
    char *to = part_output_room(w->output, n);
    if (all < *n) *n = all;
    CHECK(*n > 0);
    piece_copy(p, from, *n, to, block, crc, pool);
    return part_output_add(w->output, *n);
}

/* Cuts the numbers into blocks; *crc becomes the checksum of them all. */
static Error *put_numbers(PartWriter *w, int64_t piece, uint32_t *crc)
{
    const PartSource *s = w->source;
    ManifestBox *b = s->box(s->context, piece);
    PieceNumbers numbers = { .data = NULL };
    const size_t bytes = (size_t)(b->end - b->begin), block = (size_t)s->block_bytes;
    if (!s->staging) TRY(s->numbers(s->context, piece, &numbers));
    CHECK(w->at == b->begin);
    b->crc = NEW_N(w->arena, uint32_t, (bytes + block - 1) / block);
    for (size_t from = 0, n; from < bytes; from += n) {
        n = bytes - from;
        if (s->staging) TRY(staging_lend(s->staging, s->first + piece, &numbers));
        TRY(put_some(w, &numbers, from, &n, b->crc));
        if (!s->staging) continue;
        staging_took(s->staging, s->first + piece, n);
        if (staging_is_wanted(s->staging)) TRY(part_output_settle(w->output));
        if (!part_output_holds(w->output)) staging_return(s->staging);
    }
    if (!s->staging) TRY(part_output_settle(w->output)); /* the next ones may lie there, too */
    w->at += (int64_t)bytes;
    *crc = 0;
    for (size_t from = 0; from < bytes; from += block) {
        const size_t size = bytes - from < block ? bytes - from : block;
        *crc = (uint32_t)crc32_combine(*crc, b->crc[from / block], (z_off_t)size);
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
    uint32_t crc = 0;
    for (int64_t i = 0; i <= p->n; i++) {
        text_clear(text);
        p->around(p, i, w->at, crc, text);
        TRY(put_around(w, i, text, out));
        if (i == p->n) break;
        TRY(put_numbers(w, p->order[i], &crc));
    }
    CHECK(w->at == p->bytes);
    return NULL;
}

Error *part_write(Arena *a, PartPlan *p, const PartSource *s, NewFile *to, ManifestPart *out)
{
    Arena *room = arena_new(); /* not kept until the whole save ends */
    PartOutput o;
    PartWriter w = { .arena = a, .source = s, .output = &o };
    Text text = { 0 };
    part_output_reserve(room, p->bytes, &o);
    part_output_open(&o, to);
    Error *e = put_all(&w, p, &text, out);
    if (!e) e = part_output_end(&o);
    if (s->staging) staging_return(s->staging);
    text_free(&text);
    arena_free(room);
    return e;
}
