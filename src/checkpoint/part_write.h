/* part_write.h - writes a planned part file, with checksums of everything. */
#ifndef CHECKPOINT_PART_WRITE_H
#define CHECKPOINT_PART_WRITE_H
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part_output.h"
#include "checkpoint/part_plan.h"
#include "checkpoint/piece_numbers.h"

typedef struct PartSource {
    /* The numbers of a piece, valid until the next call. */
    Error *(*numbers)(void *context, int64_t piece, PieceNumbers *out);
    /* Whose begin and end are known, and whose checksums are to be filled. */
    ManifestBox *(*box)(void *context, int64_t piece);
    void *context;
    int64_t block_bytes; /* of each checksum */
    struct Pool *pool;   /* threads that copy; NULL: the caller alone */
} PartSource;

/* Puts all bytes of the file into `o`; fills the checksums of `out`, whose size is known. */
Error *part_fill(Arena *a, PartPlan *p, const PartSource *s, PartOutput *o, ManifestPart *out);
/* The same, and writes the file to `to`. */
Error *part_write(Arena *a, PartPlan *p, const PartSource *s, NewFile *to, ManifestPart *out);
#endif
