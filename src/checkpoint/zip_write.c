/* zip_write.c - the bytes around the members of an archive, as torch.save writes them: checksums
 * and sizes follow the content, which begins at a multiple of 64 bytes. */
#include "checkpoint/manifest.h"
#include "checkpoint/zip.h"
#include <string.h>

enum { ALIGNMENT = 64, LOCAL_BYTES = 30, FLAGS = 0x808 }; /* flags: sizes follow; UTF-8 */

typedef struct Member {
    const char *name;
    int64_t bytes, local; /* local: where its header begins in the archive */
    uint32_t crc;
} Member;

struct ZipWriter {
    Arena *arena;
    const char *folder;
    int64_t begin;
    Member *member;
    int64_t n, cap;
};

static void put(Text *out, uint64_t x, int bytes)
{
    char to[16] = { 0 };
    CHECK(bytes <= (int)sizeof to);
    for (int i = 0; i < 8; i++) to[i] = (char)(x >> 8 * i);
    text_add(out, to, (size_t)bytes);
}

static bool is_wide(int64_t x)
{
    return x >= UINT32_MAX;
}

static uint64_t narrow(int64_t x)
{
    return is_wide(x) ? UINT32_MAX : (uint64_t)x;
}

ZipWriter *zip_writer(Arena *a, const char *folder, int64_t begin)
{
    ZipWriter *z = NEW(a, ZipWriter);
    *z = (ZipWriter){ .arena = a, .folder = folder, .begin = begin };
    return z;
}

/* An extra field "FB" fills the header up; where the content is wide, readers expect the field of
 * 64-bit sizes, whose values follow the content as well. */
static void put_extra(int64_t header, int64_t bytes, int64_t alignment, Text *out)
{
    int wide = is_wide(bytes) ? 20 : 0;
    int64_t at = header + wide + 4, padding = (alignment - at % alignment) % alignment;
    if (wide) {
        put(out, 1, 2);
        put(out, 16, 2);
        put(out, 0, 8);
        put(out, 0, 8);
    }
    text_puts(out, "FB");
    put(out, (uint64_t)padding, 2);
    memset(text_reserve(out, (size_t)padding), 'Z', (size_t)padding);
    text_extend(out, (size_t)padding);
}

void zip_before(ZipWriter *z, const char *name, int64_t bytes, int64_t page, int64_t before,
                Text *out)
{
    z->member = arena_grow(z->arena, z->member, z->n, &z->cap, sizeof *z->member);
    Member *m = &z->member[z->n++];
    *m = (Member){ .name = arena_printf(z->arena, "%s/%s", z->folder, name),
                   .bytes = bytes,
                   .local = before + (int64_t)out->len - z->begin };
    size_t name_bytes = strlen(m->name), at = out->len;
    int64_t header = m->local + LOCAL_BYTES + (int64_t)name_bytes;
    text_puts(out, "PK\3\4");
    put(out, 0, 2);
    put(out, FLAGS, 2);
    put(out, 0, 6); /* method, time, date */
    put(out, 0, 4); /* checksum */
    put(out, is_wide(bytes) ? UINT32_MAX : 0, 4);
    put(out, is_wide(bytes) ? UINT32_MAX : 0, 4);
    put(out, name_bytes, 2);
    put(out, 0, 2);
    text_puts(out, m->name);
    size_t extra = out->len;
    put_extra(page ? z->begin + header : header, bytes, page ? page : ALIGNMENT, out);
    size_t extra_bytes = out->len - extra;
    out->ptr[at + 28] = (char)extra_bytes;
    out->ptr[at + 29] = (char)(extra_bytes >> 8);
}

void zip_after(ZipWriter *z, uint32_t crc, Text *out)
{
    Member *m = &z->member[z->n - 1];
    int width = is_wide(m->bytes) ? 8 : 4;
    m->crc = crc;
    text_puts(out, "PK\7\10");
    put(out, crc, 4);
    put(out, (uint64_t)m->bytes, width);
    put(out, (uint64_t)m->bytes, width);
}

void zip_put(ZipWriter *z, const char *name, Str content, int64_t before, Text *out)
{
    zip_before(z, name, (int64_t)content.len, 0, before, out);
    text_add(out, content.ptr, content.len);
    zip_after(z, checksum(0, content.ptr, content.len), out);
}

static void put_entry(const Member *m, Text *out)
{
    int wide = 8 * (2 * is_wide(m->bytes) + is_wide(m->local));
    text_puts(out, "PK\1\2");
    put(out, 0, 4);
    put(out, FLAGS, 2);
    put(out, 0, 6);
    put(out, m->crc, 4);
    put(out, narrow(m->bytes), 4);
    put(out, narrow(m->bytes), 4);
    put(out, strlen(m->name), 2);
    put(out, wide ? (uint64_t)wide + 4 : 0, 2);
    put(out, 0, 10); /* comment, disk, attributes */
    put(out, narrow(m->local), 4);
    text_puts(out, m->name);
    if (!wide) return;
    put(out, 1, 2);
    put(out, (uint64_t)wide, 2);
    if (is_wide(m->bytes)) put(out, (uint64_t)m->bytes, 8);
    if (is_wide(m->bytes)) put(out, (uint64_t)m->bytes, 8);
    if (is_wide(m->local)) put(out, (uint64_t)m->local, 8);
}

/* The 64-bit records always, as torch does. */
void zip_end(ZipWriter *z, int64_t before, Text *out)
{
    int64_t from = before + (int64_t)out->len - z->begin;
    for (int64_t i = 0; i < z->n; i++) put_entry(&z->member[i], out);
    int64_t end = before + (int64_t)out->len - z->begin;
    text_puts(out, "PK\6\6");
    put(out, 44, 8);
    put(out, 798, 2); /* made by version, needed version */
    put(out, 45, 2);
    put(out, 0, 8);
    put(out, (uint64_t)z->n, 8);
    put(out, (uint64_t)z->n, 8);
    put(out, (uint64_t)(end - from), 8);
    put(out, (uint64_t)from, 8);
    text_puts(out, "PK\6\7");
    put(out, 0, 4);
    put(out, (uint64_t)end, 8);
    put(out, 1, 4);
    text_puts(out, "PK\5\6");
    put(out, 0, 4);
    put(out, z->n < 65535 ? (uint64_t)z->n : 65535, 2);
    put(out, z->n < 65535 ? (uint64_t)z->n : 65535, 2);
    put(out, narrow(end - from), 4);
    put(out, narrow(from), 4);
    put(out, 0, 2);
}
