/* dcp_metadata.h - `.metadata` of torch.distributed.checkpoint: a pickle that says which part of
 * which tensor lies where. */
#ifndef CHECKPOINT_DCP_METADATA_H
#define CHECKPOINT_DCP_METADATA_H
#include "checkpoint/checkpoint.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part_plan.h"
#include "checkpoint/pickle.h"

#define DCP_METADATA ".metadata"

/* A value that is no tensor: an archive of torch.save at bytes [begin, end) of a part. */
typedef struct DcpObject {
    const char *name;
    const Pickle *path; /* a tuple of texts and numbers; NULL: not told */
    int64_t part, begin, end;
} DcpObject;

typedef struct DcpMetadata {
    Manifest tensors; /* each box with the bytes of its archive; without checksums */
    DcpObject *object;
    int64_t n_objects, object_cap;
} DcpMetadata;

/* Parses and checks everything but the part files. `path` is for errors. */
Error *dcp_metadata_parse(Arena *a, const char *path, Str bytes, DcpMetadata **out);
/* The bytes of `.metadata` for parts whose boxes know their archives; objects lie in part 0. */
Str dcp_metadata_write(Arena *a, const char *path, const Manifest *m, const PlacedObject *object,
                       int64_t n_objects);
/* The folder `folder` with a .metadata and part files as a checkpoint. */
Error *dcp_open(Arena *a, const char *path, const char *folder, CheckpointReader **out);
#endif
