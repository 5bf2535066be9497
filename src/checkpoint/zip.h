/* zip.h - ZIP archives of stored members, as torch.save writes them: numbers lie at their place.
 *
 * https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, with the 64-bit records. */
#ifndef CHECKPOINT_ZIP_H
#define CHECKPOINT_ZIP_H
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include <stdint.h>

typedef struct ZipMember {
    Str name; /* without the archive's folder: "data.pkl", "data/0" */
    Str data; /* inside the archive's bytes */
    uint32_t crc;
} ZipMember;

typedef struct Zip {
    ZipMember *member;
    int64_t n;
    Map *by_name;
} Zip;

/* Finds the members of an archive; their content is not looked at. A compressed or encrypted member
 * is an error. `path` is for errors. */
Error *zip_read(Arena *a, const char *path, Str bytes, Zip *out);
/* NULL when there is none of this name. */
const ZipMember *zip_find(const Zip *z, const char *name);
/* Compares the content with its checksum. */
Error *zip_check(const ZipMember *m);

#endif
