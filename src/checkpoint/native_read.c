/* native_read.c - opens a checkpoint folder by its manifest.json. */
#include "base/file.h"
#include "checkpoint/boxes_read.h"
#include "checkpoint/native.h"

static Error *objects(CheckpointReader *r, const CheckpointObject **out, int64_t *n)
{
    const Manifest *m = boxes_source(r)->manifest;
    *out = m->object;
    *n = m->n_objects;
    return NULL;
}

Error *native_open(Arena *a, const char *path, const char *folder, CheckpointReader **out)
{
    const char *name = path_join(a, folder, MANIFEST_NAME);
    Str text;
    BoxSource source = { .path = path, .folder = folder, .objects = objects };
    TRY(file_read(a, name, &text));
    TRY(manifest_parse(a, name, text, &source.manifest));
    source.format = source.manifest->layout;
    *out = boxes_reader(a, &source);
    return NULL;
}
