/* decompress.c - gzip by zlib, zstd by libzstd, both as streams of members. */
#include "base/decompress.h"
#include "base/buffer.h"
#include "base/signal.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { OUT_BYTES = 1 << 18, MOST_IN_BYTES = 1 << 24, LARGEST_WINDOW = 27 };

Compression compression_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && !strcmp(dot, ".gz")) return COMPRESSED_GZIP;
    return dot && !strcmp(dot, ".zst") ? COMPRESSED_ZSTD : NOT_COMPRESSED;
}

typedef struct Job {
    Str bytes;
    const char *name;
    const Sink *sink;
} Job;

static Error *damaged(const Job *j, size_t at, const char *why)
{
    return error_new("%s: damaged at byte %zu: %s", j->name, at, why ? why : "unknown");
}

static Error *cut_short(const Job *j)
{
    return error_new("%s: cut short: its %zu bytes end in the middle of the data", j->name,
                     j->bytes.len);
}

static Error *put(const Job *j, size_t n, size_t stored)
{
    TRY(j->sink->took(j->sink->to, n, stored));
    return signal_stop_requested() ? error_stopped("%s: stopped by a signal", j->name) : NULL;
}

/* ---- gzip ---- */

/* One member from byte *at on, which moves after it. */
static Error *inflate_member(const Job *j, z_stream *z, size_t *at)
{
    for (;;) {
        size_t left = j->bytes.len - *at;
        uInt given = (uInt)(left < MOST_IN_BYTES ? left : MOST_IN_BYTES);
        z->next_in = (Bytef *)(j->bytes.ptr + *at);
        z->avail_in = given;
        size_t room;
        z->next_out = (Bytef *)j->sink->room(j->sink->to, &room);
        uInt most = z->avail_out = (uInt)(room < OUT_BYTES ? room : OUT_BYTES);
        int status = inflate(z, Z_NO_FLUSH);
        *at += given - z->avail_in;
        TRY(put(j, most - z->avail_out, *at));
        if (status == Z_STREAM_END) return NULL;
        if (status == Z_BUF_ERROR && *at == j->bytes.len) return cut_short(j);
        if (status != Z_OK && status != Z_BUF_ERROR) return damaged(j, *at, z->msg);
    }
}

/* Members follow each other; zeros may fill up the end, as on tapes. */
static Error *inflate_all(const Job *j, z_stream *z)
{
    size_t at = 0;
    while (at < j->bytes.len) {
        size_t zeros = at;
        while (zeros < j->bytes.len && !j->bytes.ptr[zeros]) zeros++;
        if (at && zeros == j->bytes.len) return NULL;
        CHECK(inflateReset(z) == Z_OK);
        TRY(inflate_member(j, z, &at));
    }
    return NULL;
}

static Error *gunzip(const Job *j)
{
    enum { GZIP_ONLY = 16 };
    z_stream z = { 0 };
    CHECK(inflateInit2(&z, MAX_WBITS + GZIP_ONLY) == Z_OK);
    Error *e = inflate_all(j, &z);
    inflateEnd(&z);
    return e;
}

/* ---- zstd ---- */

static Error *unzstd_all(const Job *j, ZSTD_DCtx *ctx)
{
    ZSTD_inBuffer in = { j->bytes.ptr, j->bytes.len, 0 };
    size_t hint = 0; /* 0: a frame is complete and written */
    bool is_full = false;
    while (in.pos < in.size || is_full) {
        size_t room, before = in.pos;
        char *to = j->sink->room(j->sink->to, &room);
        ZSTD_outBuffer out = { to, room, 0 };
        hint = ZSTD_decompressStream(ctx, &out, &in);
        if (ZSTD_getErrorCode(hint) == ZSTD_error_frameParameter_windowTooLarge)
            return error_new("%s: written with a window of more than 128 MiB (zstd --long=%d or "
                             "more); compress it anew",
                             j->name, LARGEST_WINDOW + 1);
        if (ZSTD_isError(hint)) return damaged(j, before, ZSTD_getErrorName(hint));
        TRY(put(j, out.pos, in.pos));
        is_full = out.pos == out.size;
        if (hint == 0) is_full = false;
        if (in.pos == before && !out.pos && hint) break; /* it waits for bytes that are missing */
    }
    return hint ? cut_short(j) : NULL;
}

static Error *unzstd(const Job *j)
{
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    CHECK(ctx != NULL);
    ZSTD_DCtx_setParameter(ctx, ZSTD_d_windowLogMax, LARGEST_WINDOW); /* as zstd -d */
    Error *e = unzstd_all(j, ctx);
    ZSTD_freeDCtx(ctx);
    return e;
}

Error *decompress(Compression kind, Str bytes, const char *name, const Sink *sink)
{
    Job j = { bytes, name, sink };
    CHECK(kind != NOT_COMPRESSED);
    if (!bytes.len) return error_new("%s: empty, not even a header", name);
    return kind == COMPRESSED_GZIP ? gunzip(&j) : unzstd(&j);
}

/* ---- to a stream ---- */

typedef struct Writing {
    const char *name;
    FILE *to;
    Buffer buffer;
} Writing;

static char *room_to_write(void *writing, size_t *n)
{
    Writing *w = writing;
    *n = OUT_BYTES;
    return buffer_grow(&w->buffer, OUT_BYTES);
}

static Error *write_out(void *writing, size_t n, size_t stored)
{
    (void)stored;
    Writing *w = writing;
    if (fwrite(w->buffer.ptr, 1, n, w->to) == n) return NULL;
    return error_new("cannot write the content of %s: %s", w->name, strerror(errno));
}

Error *decompress_to_stream(Compression kind, Str bytes, const char *name, FILE *to)
{
    Writing w = { name, to, { 0 } };
    const Sink sink = { room_to_write, write_out, &w };
    Error *e = decompress(kind, bytes, name, &sink);
    buffer_free(&w.buffer);
    return e;
}
