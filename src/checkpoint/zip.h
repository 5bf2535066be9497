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

/* An archive in the making: what lies around the content of its members, which begins at multiples
 * of 64 bytes. */
typedef struct ZipWriter ZipWriter;
/* `folder` is the one in the archive ("archive"); `begin` is where the archive begins in `out`'s
 * file, whose bytes so far are `before` and what is in the text. */
ZipWriter *zip_writer(Arena *a, const char *folder, int64_t begin);
/* Appends what precedes a member's content; `before` bytes of the file precede the text. `page`: it
 * begins at a multiple of so many bytes of the file, rather than 64 of the archive; 0: it does not.
 */
void zip_before(ZipWriter *z, const char *name, int64_t bytes, int64_t page, int64_t before,
                Text *out);
/* Appends what follows that content. */
void zip_after(ZipWriter *z, uint32_t crc, Text *out);
/* Appends a whole member. */
void zip_put(ZipWriter *z, const char *name, Str content, int64_t before, Text *out);
/* Appends the directory that ends the archive. */
void zip_end(ZipWriter *z, int64_t before, Text *out);
#endif
