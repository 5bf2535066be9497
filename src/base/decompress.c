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
    FILE *to;
    char *out; /* OUT_BYTES */
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

static Error *put(const Job *j, size_t n)
{
    if (fwrite(j->out, 1, n, j->to) != n)
        return error_new("cannot write the content of %s: %s", j->name, strerror(errno));
    return signal_stop_requested() ? error_new("%s: stopped by a signal", j->name) : NULL;
}

/* ---- gzip ---- */

/* One member from byte *at on, which moves behind it. */
static Error *inflate_member(const Job *j, z_stream *z, size_t *at)
{
    for (;;) {
        size_t left = j->bytes.len - *at;
        uInt given = (uInt)(left < MOST_IN_BYTES ? left : MOST_IN_BYTES);
        z->next_in = (Bytef *)(j->bytes.ptr + *at);
        z->avail_in = given;
        z->next_out = (Bytef *)j->out;
        z->avail_out = OUT_BYTES;
        int status = inflate(z, Z_NO_FLUSH);
        *at += given - z->avail_in;
        TRY(put(j, OUT_BYTES - z->avail_out));
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
        ZSTD_outBuffer out = { j->out, OUT_BYTES, 0 };
        size_t before = in.pos;
        hint = ZSTD_decompressStream(ctx, &out, &in);
        if (ZSTD_getErrorCode(hint) == ZSTD_error_frameParameter_windowTooLarge)
            return error_new("%s: written with a window of more than 128 MiB (zstd --long=%d or "
                             "more); compress it anew",
                             j->name, LARGEST_WINDOW + 1);
        if (ZSTD_isError(hint)) return damaged(j, before, ZSTD_getErrorName(hint));
        TRY(put(j, out.pos));
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

Error *decompress(Compression kind, Str bytes, const char *name, FILE *to)
{
    Buffer out = { 0 };
    Job j = { bytes, name, to, buffer_grow(&out, OUT_BYTES) };
    CHECK(kind != NOT_COMPRESSED);
    Error *e = !bytes.len                ? error_new("%s: empty, not even a header", name)
               : kind == COMPRESSED_GZIP ? gunzip(&j)
                                         : unzstd(&j);
    buffer_free(&out);
    return e;
}
