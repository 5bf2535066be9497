/* compressed.c - gzip members and zstd frames. */
#include "compressed.h"
#include <zlib.h>
#include <zstd.h>

static size_t gzip(void *to, size_t room, Str plain)
{
    enum { GZIP = 16, MEMORY = 8 };
    z_stream z = { 0 };
    CHECK(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (Bytef *)plain.ptr;
    z.avail_in = (uInt)plain.len;
    z.next_out = to;
    z.avail_out = (uInt)room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    size_t n = z.total_out;
    deflateEnd(&z);
    return n;
}

static size_t zstd(void *to, size_t room, Str plain)
{
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    size_t n = ZSTD_compress2(ctx, to, room, plain.ptr, plain.len);
    CHECK(!ZSTD_isError(n));
    ZSTD_freeCCtx(ctx);
    return n;
}

Str compressed(Arena *a, Compression kind, Str plain)
{
    size_t room = plain.len + plain.len / 100 + 1000;
    char *to = arena_alloc(a, room);
    return (Str){ to, kind == COMPRESSED_GZIP ? gzip(to, room, plain) : zstd(to, room, plain) };
}
