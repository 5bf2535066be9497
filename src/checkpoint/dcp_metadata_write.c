/* dcp_metadata_write.c - writes `.metadata` as torch.distributed.checkpoint does. */
#include "checkpoint/dcp_metadata.h"
#include "checkpoint/torch_file.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define META "torch.distributed.checkpoint.metadata "

/* A class without arguments, whose state follows. */
static void begin_object(PickleWriter *w, const char *name)
{
    pickle_put_global(w, name);
    pickle_begin(w, PICKLE_TUPLE);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_new(w);
}

static void begin_fields(PickleWriter *w, const char *name)
{
    begin_object(w, name);
    pickle_begin(w, PICKLE_DICT);
}

static void end_fields(PickleWriter *w)
{
    pickle_finish(w, PICKLE_DICT);
    pickle_build(w);
}

static void key(PickleWriter *w, const char *name)
{
    pickle_put_text(w, str_of(name));
}

static void put_size(PickleWriter *w, int n_dims, const int64_t *size)
{
    pickle_put_global(w, "torch Size");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_begin(w, PICKLE_TUPLE);
    for (int d = 0; d < n_dims; d++) pickle_put_int(w, size[d]);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
}

static void put_properties(PickleWriter *w, Dtype t)
{
    char name[32];
    snprintf(name, sizeof name, "torch %s", torch_dtype_name(t));
    begin_object(w, META "TensorProperties");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_put_global(w, name);
    pickle_put_global(w, "torch.serialization _get_layout");
    pickle_begin(w, PICKLE_TUPLE);
    key(w, "torch.strided");
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
    pickle_put_bool(w, false);
    pickle_put_global(w, META "_MEM_FORMAT_ENCODING");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_put_int(w, 0);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
    pickle_put_bool(w, false);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_build(w);
}

static void put_tensor(PickleWriter *w, const ManifestTensor *t)
{
    begin_fields(w, META "TensorStorageMetadata");
    key(w, "properties");
    put_properties(w, t->dtype);
    key(w, "size");
    put_size(w, t->n_dims, t->size);
    key(w, "chunks");
    pickle_begin(w, PICKLE_LIST);
    for (int64_t i = 0; i < t->n_boxes; i++) {
        begin_fields(w, META "ChunkStorageMetadata");
        key(w, "offsets");
        put_size(w, t->n_dims, t->box[i].box.start);
        key(w, "sizes");
        put_size(w, t->n_dims, t->box[i].box.size);
        end_fields(w);
    }
    pickle_finish(w, PICKLE_LIST);
    end_fields(w);
}

/* app.model.X is ('app', 'model', 'X'), whatever dots X has. */
static void put_path(PickleWriter *w, const char *name, const Pickle *path)
{
    bool is_flat = !path || str_starts(str_of(name), "app.optimizer.");
    pickle_begin(w, PICKLE_TUPLE);
    for (int64_t i = 0; !is_flat && i < path->n; i++) pickle_put(w, path->item[i]);
    for (int i = 0; is_flat && name; i++) {
        const char *dot = i < 2 ? strchr(name, '.') : NULL;
        pickle_put_text(w, (Str){ name, dot ? (size_t)(dot - name) : strlen(name) });
        name = dot ? dot + 1 : NULL;
    }
    pickle_finish(w, PICKLE_TUPLE);
}

static void put_stored(PickleWriter *w, const char *file, int64_t begin, int64_t end)
{
    begin_fields(w, "torch.distributed.checkpoint.filesystem _StorageInfo");
    key(w, "relative_path");
    key(w, file);
    key(w, "offset");
    pickle_put_int(w, begin);
    key(w, "length");
    pickle_put_int(w, end - begin);
    end_fields(w);
}

static void put_boxes(PickleWriter *w, const Manifest *m, const ManifestTensor *t)
{
    for (int64_t i = 0; i < t->n_boxes; i++) {
        const ManifestBox *b = &t->box[i];
        begin_fields(w, META "MetadataIndex");
        key(w, "fqn");
        key(w, t->name);
        key(w, "index");
        pickle_put_int(w, i);
        key(w, "offset");
        put_size(w, t->n_dims, b->box.start);
        end_fields(w);
        put_stored(w, m->part[b->part].file, b->entry_begin, b->entry_end);
    }
}

static void put_object(PickleWriter *w, const char *file, const PlacedObject *o)
{
    begin_fields(w, META "MetadataIndex");
    key(w, "fqn");
    key(w, o->object->name);
    key(w, "index");
    pickle_put_none(w);
    end_fields(w);
    put_stored(w, file, o->begin, o->end);
}

/* torch draws an id; here it follows from what is saved, so that equal runs write equal files. */
static void put_id(PickleWriter *w, const char *path, const Manifest *m)
{
    uint64_t hash[2] = { hash_bytes(path, strlen(path)), 0 };
    for (int64_t i = 0; i < m->n_tensors; i++)
        for (int64_t k = 0; k < m->tensor[i].n_boxes; k++)
            if (m->tensor[i].box[k].crc)
                hash[1] = hash[1] * 1099511628211u + *m->tensor[i].box[k].crc;
    char id[64];
    snprintf(id, sizeof id, "%08x-%04x-4%03x-8%03x-%012" PRIx64, (unsigned)(hash[0] >> 32),
             (unsigned)(hash[0] >> 16 & 0xffff), (unsigned)(hash[0] & 0xfff),
             (unsigned)(hash[1] >> 52), hash[1] & 0xffffffffffff);
    key(w, id);
}

static void put_storage_meta(PickleWriter *w, const char *path, const Manifest *m)
{
    begin_fields(w, META "StorageMeta");
    key(w, "checkpoint_id");
    pickle_put_global(w, "pathlib PosixPath");
    pickle_begin(w, PICKLE_TUPLE);
    key(w, path);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
    key(w, "save_id");
    put_id(w, path, m);
    key(w, "load_id");
    pickle_put_none(w);
    key(w, "modules");
    pickle_begin(w, PICKLE_LIST);
    pickle_finish(w, PICKLE_LIST);
    end_fields(w);
}

Str dcp_metadata_write(Arena *a, const char *path, const Manifest *m, const PlacedObject *object,
                       int64_t n_objects)
{
    PickleWriter *w = pickle_writer(a, 4);
    begin_fields(w, META "Metadata");
    key(w, "state_dict_metadata");
    pickle_begin(w, PICKLE_DICT);
    for (int64_t i = 0; i < m->n_tensors; i++) {
        key(w, m->tensor[i].name);
        put_tensor(w, &m->tensor[i]);
    }
    for (int64_t i = 0; i < n_objects; i++) {
        key(w, object[i].object->name);
        begin_object(w, META "BytesStorageMetadata");
    }
    pickle_finish(w, PICKLE_DICT);
    key(w, "planner_data");
    pickle_begin(w, PICKLE_DICT);
    for (int64_t i = 0; i < m->n_tensors; i++) {
        key(w, m->tensor[i].name);
        put_path(w, m->tensor[i].name, NULL);
    }
    for (int64_t i = 0; i < n_objects; i++) {
        key(w, object[i].object->name);
        put_path(w, object[i].object->name, object[i].object->path);
    }
    pickle_finish(w, PICKLE_DICT);
    key(w, "storage_data");
    pickle_begin(w, PICKLE_DICT);
    for (int64_t i = 0; i < n_objects; i++) put_object(w, m->part[0].file, &object[i]);
    for (int64_t i = 0; i < m->n_tensors; i++) put_boxes(w, m, &m->tensor[i]);
    pickle_finish(w, PICKLE_DICT);
    key(w, "storage_meta");
    put_storage_meta(w, path, m);
    key(w, "version");
    key(w, "1.0.0");
    end_fields(w);
    return pickle_end(w);
}
