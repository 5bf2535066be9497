/* manifest.c - manifest.json: which box of which tensor lies where in which part file.
 *
 * Each byte of a checkpoint is covered by one checksum: the numbers of a box, the header of a part
 * file, the manifest itself. It is zlib's CRC-32: it finds every change of up to 32 neighbouring
 * bits, checksums of pieces can be combined (pieces may be computed by several threads), and anyone
 * can recompute it.
 *
 * There is one line per part and per tensor, so that the file can be read and searched; the last
 * line is the checksum of everything before it. */
#include "checkpoint/manifest.h"
#include "base/crc32.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include <inttypes.h>
#include <string.h>

uint32_t checksum(uint32_t so_far, const void *bytes, size_t len)
{
    return crc32_add(so_far, bytes, len);
}

int64_t manifest_block_bytes(int64_t total)
{
    enum { MOST_BLOCKS = 1 << 18 };
    int64_t bytes = LEAST_BLOCK_BYTES;
    while (bytes < MOST_BLOCK_BYTES && total / bytes > MOST_BLOCKS) bytes *= 2;
    return bytes;
}

int64_t manifest_blocks(const Manifest *m, const ManifestBox *b)
{
    return b->end > b->begin ? (b->end - b->begin - 1) / m->block_bytes + 1 : 0;
}

/* As "%08x", of which there may be many. */
static void put_checksum(Text *to, uint32_t crc)
{
    char digits[8];
    for (int i = 0; i < 8; i++) digits[i] = "0123456789abcdef"[crc >> (28 - 4 * i) & 15];
    text_add(to, digits, sizeof digits);
}

static void print_box(Text *to, const Manifest *m, const ManifestBox *b)
{
    text_printf(to, "{\"part\": %" PRId64 ", \"start\": ", b->part);
    sizes_print(to, b->box.start, b->box.n_dims);
    text_puts(to, ", \"size\": ");
    sizes_print(to, b->box.size, b->box.n_dims);
    text_printf(to, ", \"bytes\": [%" PRId64 ", %" PRId64 "], \"crc32\": \"", b->begin, b->end);
    for (int64_t i = 0; i < manifest_blocks(m, b); i++) put_checksum(to, b->crc ? b->crc[i] : 0);
    text_puts(to, "\"}");
}

static void print_tensor(Text *to, const Manifest *m, const ManifestTensor *t)
{
    text_puts(to, "{\"name\": ");
    text_json_string(to, str_of(t->name));
    text_printf(to, ", \"dtype\": \"%s\", \"shape\": ", safetensors_dtype_name(t->dtype));
    sizes_print(to, t->size, t->n_dims);
    text_puts(to, ", \"boxes\": [");
    for (int64_t i = 0; i < t->n_boxes; i++) {
        if (i) text_puts(to, ", ");
        print_box(to, m, &t->box[i]);
    }
    text_puts(to, "]}");
}

static void print_part(Text *to, const ManifestPart *p)
{
    text_puts(to, "{\"file\": ");
    text_json_string(to, str_of(p->file));
    text_printf(
        to, ", \"bytes\": %" PRId64 ", \"header_bytes\": %" PRId64 ", \"header_crc32\": \"%08x\"",
        p->bytes, p->header_bytes, p->header_crc);
    if (p->has_rest) text_printf(to, ", \"rest_crc32\": \"%08x\"", p->rest_crc);
    text_putc(to, '}');
}

static const char SEAL[] = "\"crc32\": \"%08x\"}\n";
enum { SEAL_BYTES = 21 };

void manifest_seal(Text *body)
{
    text_printf(body, SEAL, checksum(0, body->ptr, body->len));
}

Error *manifest_check_seal(Str bytes)
{
    char expected[SEAL_BYTES + 1];
    if (bytes.len < SEAL_BYTES)
        return error_new("%zu bytes are too few: it was cut short or damaged", bytes.len);
    size_t body = bytes.len - SEAL_BYTES;
    snprintf(expected, sizeof expected, SEAL, checksum(0, bytes.ptr, body));
    if (memcmp(bytes.ptr + body, expected, SEAL_BYTES) == 0) return NULL;
    return error_new(
        "the checksum in the last line is not that of the lines before it (%.8s): the file was "
        "changed, cut short or damaged",
        expected + 10);
}

void manifest_print(const Manifest *m, Text *out)
{
    text_printf(
        out,
        "{\"format\": \"%s\", \"version\": %d, \"layout\": \"%s\", \"block_bytes\": %" PRId64
        ",\n\"progress\": %s,\n\"objects\": ",
        MANIFEST_FORMAT, MANIFEST_VERSION, m->layout, m->block_bytes, m->progress);
    objects_print(m->object, m->n_objects, out);
    text_puts(out, ",\n\"parts\": [");
    for (int64_t i = 0; i < m->n_parts; i++) {
        text_puts(out, i ? ",\n" : "\n");
        print_part(out, &m->part[i]);
    }
    text_puts(out, "],\n\"tensors\": [");
    for (int64_t i = 0; i < m->n_tensors; i++) {
        text_puts(out, i ? ",\n" : "\n");
        print_tensor(out, m, &m->tensor[i]);
    }
    text_puts(out, "],\n");
    manifest_seal(out);
}
