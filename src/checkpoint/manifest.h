/* manifest.h - manifest.json: which box of which tensor lies where in which part file. */
#ifndef CHECKPOINT_MANIFEST_H
#define CHECKPOINT_MANIFEST_H
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "checkpoint/box.h"
#include "checkpoint/objects.h"

#define MANIFEST_NAME "manifest.json"
#define MANIFEST_FORMAT "modalities checkpoint"
/* Version 1 had one checksum per box, and no bytes outside of header and boxes. */
enum { MANIFEST_VERSION = 2 };

/* One file of the folder. */
typedef struct ManifestPart {
    const char *file;
    int64_t bytes, header_bytes; /* of the whole file; before the first number */
    uint32_t header_crc;
    bool has_rest; /* bytes that belong neither to the header nor to a box */
    uint32_t rest_crc;
} ManifestPart;

/* One rectangle of a tensor: bytes [begin, end) of a part file, dense and row-major. */
typedef struct ManifestBox {
    Box box;
    int64_t part, begin, end;
    uint32_t *crc; /* of each block of block_bytes, of which the last one may be shorter */
    int64_t entry_begin, entry_end; /* of the archive around it, while DCP is written */
} ManifestBox;

/* A whole tensor; its boxes tile it. */
typedef struct ManifestTensor {
    const char *name;
    Dtype dtype;
    int n_dims;
    int64_t size[MAX_DIMS];
    ManifestBox *box;
    int64_t n_boxes, box_cap;
} ManifestTensor;

/* Of new checkpoints: so small that whoever reads a part reads little more, and larger where there
 * would be too many to list. */
enum { LEAST_BLOCK_BYTES = 1 << 16, MOST_BLOCK_BYTES = 1 << 20 };

typedef struct Manifest {
    const char *progress; /* a JSON object */
    const char *layout;   /* of the part files: "native", "dcp", "fsdp1" */
    int64_t block_bytes;
    CheckpointObject *object;
    int64_t n_objects;
    ManifestPart *part;
    int64_t n_parts, part_cap;
    ManifestTensor *tensor;
    int64_t n_tensors, tensor_cap;
} Manifest;

/* CRC-32 as in zip and gzip; `so_far` is 0 at the start. */
uint32_t checksum(uint32_t so_far, const void *bytes, size_t len);

/* The size of blocks for a checkpoint of so many bytes. */
int64_t manifest_block_bytes(int64_t total);
/* Blocks of a box. */
int64_t manifest_blocks(const Manifest *m, const ManifestBox *b);
/* Checks the manifest's own checksum, then everything it says: `path` is for errors. */
Error *manifest_parse(Arena *a, const char *path, Str bytes, Manifest **out);
/* Checks that the boxes of each tensor tile it and lie inside their files. */
Error *manifest_check(Arena *a, const Manifest *m);
/* The same without places in files, names of tensors included. */
Error *manifest_check_boxes(Arena *a, const Manifest *m);
/* The text of manifest.json, its checksum included. */
void manifest_print(const Manifest *m, Text *out);
/* Appends the last line, which holds the checksum of all before it. */
void manifest_seal(Text *body);
/* Whether the last line is that checksum. */
Error *manifest_check_seal(Str bytes);
#endif
