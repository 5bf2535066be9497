/* zip_read.c - finds the stored members of a ZIP archive by its directory. */
#include "checkpoint/manifest.h"
#include "checkpoint/zip.h"
#include <inttypes.h>
#include <string.h>

enum { END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, ENTRY_BYTES = 46, LOCAL_BYTES = 30 };

static uint64_t number(Str s, size_t at, size_t n)
{
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x |= (uint64_t)(unsigned char)s.ptr[at + i] << 8 * i;
    return x;
}

static bool fits(Str s, uint64_t at, uint64_t n)
{
    return at <= s.len && n <= s.len - at;
}

static bool is_record(Str s, uint64_t at, uint64_t n, const char *signature)
{
    return fits(s, at, n) && !memcmp(s.ptr + at, signature, 4);
}

static Error *damaged(const char *what)
{
    return error_new("%s: the archive was cut short or damaged", what);
}

typedef struct Directory {
    uint64_t at, bytes, n;
} Directory;

/* The record at the end has no fixed place, because a comment may follow. */
static Error *find_end(Str s, uint64_t *out)
{
    for (uint64_t back = END_BYTES; back <= s.len && back <= END_BYTES + 65535; back++) {
        uint64_t at = s.len - back;
        if (!is_record(s, at, END_BYTES, "PK\5\6")) continue;
        if (number(s, at + 20, 2) != back - END_BYTES) continue;
        *out = at;
        return NULL;
    }
    return error_new("no archive of torch.save (ZIP), or one that was cut short: there is no "
                     "directory at its end");
}

static Error *find_directory(Str s, Directory *out)
{
    uint64_t end = 0;
    TRY(find_end(s, &end));
    *out = (Directory){ number(s, end + 16, 4), number(s, end + 12, 4), number(s, end + 10, 2) };
    if (end >= LOCATOR_BYTES && is_record(s, end - LOCATOR_BYTES, LOCATOR_BYTES, "PK\6\7")) {
        uint64_t at = number(s, end - LOCATOR_BYTES + 8, 8);
        if (!is_record(s, at, END64_BYTES, "PK\6\6")) return damaged("no 64-bit directory");
        *out = (Directory){ number(s, at + 48, 8), number(s, at + 40, 8), number(s, at + 32, 8) };
    }
    if (!fits(s, out->at, out->bytes) || out->n > out->bytes / ENTRY_BYTES)
        return damaged("the directory does not lie in it");
    return NULL;
}

/* Sizes and places beyond 32 bits stand in the extra field 1, those only. */
static Error *read_wide(Str extra, uint64_t *size, uint64_t *stored, uint64_t *local)
{
    uint64_t *const wide[] = { size, stored, local };
    for (size_t at = 0; extra.len - at >= 4;) {
        size_t id = number(extra, at, 2), len = number(extra, at + 2, 2), from = at + 4;
        if (!fits(extra, from, len)) return damaged("an extra field is too long");
        for (int i = 0; id == 1 && i < 3; i++) {
            if (*wide[i] != UINT32_MAX) continue;
            if (from + 8 > at + 4 + len) return damaged("a 64-bit size is missing");
            *wide[i] = number(extra, from, 8);
            from += 8;
        }
        at += 4 + len;
    }
    return NULL;
}

static Str without_folder(Str name)
{
    const char *slash = memchr(name.ptr, '/', name.len);
    if (!slash) return name;
    return (Str){ slash + 1, name.len - (size_t)(slash + 1 - name.ptr) };
}

/* The entry of the directory at `at`, which it moves on. */
static Error *read_entry(Str s, uint64_t end, uint64_t *at, ZipMember *m)
{
    if (end - *at < ENTRY_BYTES || !is_record(s, *at, ENTRY_BYTES, "PK\1\2"))
        return damaged("a broken directory");
    uint64_t from = *at, flags = number(s, from + 8, 2), method = number(s, from + 10, 2);
    uint64_t stored = number(s, from + 20, 4), size = number(s, from + 24, 4);
    uint64_t name = number(s, from + 28, 2), extra = number(s, from + 30, 2);
    uint64_t local = number(s, from + 42, 4);
    *at += ENTRY_BYTES + name + extra + number(s, from + 32, 2);
    if (*at > end) return damaged("a broken directory");
    TRY(read_wide((Str){ s.ptr + from + ENTRY_BYTES + name, extra }, &size, &stored, &local));
    m->name = without_folder((Str){ s.ptr + from + ENTRY_BYTES, name });
    m->crc = (uint32_t)number(s, from + 16, 4);
    if (method || flags & 1 || size != stored)
        return error_new("member %.*s is compressed or encrypted; torch.save only stores",
                         (int)m->name.len, m->name.ptr);
    if (!is_record(s, local, LOCAL_BYTES, "PK\3\4")) return damaged("a member is missing");
    uint64_t data = local + LOCAL_BYTES + number(s, local + 26, 2) + number(s, local + 28, 2);
    if (!fits(s, data, size)) return damaged("a member reaches beyond its end");
    m->data = (Str){ s.ptr + data, size };
    return NULL;
}

static Error *read_members(Arena *a, Str bytes, Zip *out)
{
    Directory d;
    TRY(find_directory(bytes, &d));
    *out = (Zip){ .member = NEW_N(a, ZipMember, d.n), .n = (int64_t)d.n, .by_name = map_new(a) };
    uint64_t at = d.at;
    for (int64_t i = 0; i < out->n; i++) {
        TRY(read_entry(bytes, d.at + d.bytes, &at, &out->member[i]));
        map_set(out->by_name, out->member[i].name, &out->member[i]);
    }
    return NULL;
}

Error *zip_read(Arena *a, const char *path, Str bytes, Zip *out)
{
    return error_wrap(read_members(a, bytes, out), "%s", path);
}

const ZipMember *zip_find(const Zip *z, const char *name)
{
    return map_get(z->by_name, str_of(name));
}

Error *zip_check(const ZipMember *m)
{
    uint32_t crc = checksum(0, m->data.ptr, m->data.len);
    if (crc == m->crc) return NULL;
    return error_new("member %.*s: checksum %08x instead of %08x: the file is damaged",
                     (int)m->name.len, m->name.ptr, crc, m->crc);
}
