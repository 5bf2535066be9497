/* part_write.h - writes a planned part file, with checksums of everything. */
#ifndef CHECKPOINT_PART_WRITE_H
#define CHECKPOINT_PART_WRITE_H
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part_output.h"
#include "checkpoint/part_plan.h"
#include "checkpoint/staging.h"

typedef struct PartSource {
    PieceSource *numbers;
    /* Whose begin and end are known, and whose checksums are to be filled. */
    ManifestBox *(*box)(void *context, int64_t piece);
    void *context;
    int64_t block_bytes; /* of each checksum */
    Pool *pool;          /* threads that copy; NULL: the caller alone */
    Staging *staging;    /* numbers may change meanwhile, and the caller reads alone; NULL: not */
    int64_t first;       /* the pieces' numbers there */
} PartSource;

/* Writes all bytes of the file to `to`; fills the checksums of `out`, whose size is known. */
Error *part_write(Arena *a, PartPlan *p, const PartSource *s, NewFile *to, ManifestPart *out);
#endif
