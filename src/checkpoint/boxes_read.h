/* boxes_read.h - a reader of tensors whose boxes lie in files, whatever the files' format. */
#ifndef CHECKPOINT_BOXES_READ_H
#define CHECKPOINT_BOXES_READ_H
#include "checkpoint/checkpoint.h"
#include "checkpoint/manifest.h"

/* Where boxes lie. Formats other than the own one may know only roughly where until `locate` has
 * looked, which is called once for each box before its first use. */
typedef struct BoxSource {
    const char *format, *path; /* of the checkpoint, for users */
    const char *folder;        /* that the part files lie in */
    Manifest *manifest;        /* .part[i].bytes < 0: the file may have any size */
    /* Sets begin, end and crc of a box; `file` is its part file. NULL: they are known. */
    Error *(*locate)(void *context, const ManifestTensor *t, ManifestBox *b, Str file);
    Error *(*objects)(CheckpointReader *r, const CheckpointObject **out, int64_t *n);
    void *context;
} BoxSource;

/* Lives as long as the arena, which must hold the source. */
CheckpointReader *boxes_reader(Arena *a, const BoxSource *s);
/* The source of a reader that boxes_reader made. */
const BoxSource *boxes_source(const CheckpointReader *r);
/* The content of part i, mapped when it is first needed. */
Error *boxes_file(CheckpointReader *r, int64_t i, Str *out);
#endif
