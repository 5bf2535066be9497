/* output_part.h - one part file of a new checkpoint: its pieces, its layout, and what it was found
 * to hold when it was written. */
#ifndef CHECKPOINT_OUTPUT_PART_H
#define CHECKPOINT_OUTPUT_PART_H
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part_plan.h"
#include "checkpoint/shares.h"

typedef struct OutputPart {
    Arena *arena;
    const CheckpointContent *content;
    const Share *piece;
    int64_t n;
    int64_t block_bytes;
    PlacedObject *object; /* layout dcp, rank 0 */
    PartPlan *plan;
    int64_t first; /* of the pieces, in the content's staging */
    NewFile file;  /* open while it is written; stream NULL: not begun, or done */
    /* What the manifest says of it; checksums are known when it was written. */
    ManifestPart about;
    ManifestBox *box; /* of each piece */
} OutputPart;

/* Places the pieces in the file `rank` of the checkpoint `path`; `kind` is 0, or 1 for the
 * optimizer's file of fsdp1. */
Error *output_part_plan(OutputPart *p, const char *path, int rank, int kind);
/* Adds the pieces to the content's staging, by which they are read from then on. */
void output_part_stage(OutputPart *p);
/* Writes the file into the folder; file_commit gives it its name, file_abandon gives up. */
Error *output_part_write(OutputPart *p, const char *folder);
/* What the manifest says of it, as bytes for rank 0, and back. */
void output_part_print(const OutputPart *p, Text *out);
void output_part_read(Arena *a, Str bytes, ManifestPart *about, ManifestBox **box, int64_t *n);

/* The .bin files of layout fsdp1 beside the folder `path`; `kind` is "model" or "optimizer". */
const char *fsdp1_file(Arena *a, const char *path, const char *kind);
#endif
