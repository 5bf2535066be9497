/* torch_file.c - reads the archive that torch.save writes. */
#include "checkpoint/torch_file.h"
#include "checkpoint/box.h"
#include <stdio.h>
#include <string.h>

static const char REBUILD[] = "torch._utils _rebuild_tensor_v2";
static const char PARAMETER[] = "torch._utils _rebuild_parameter";
/* Around what rebuilds it, for a tensor with attributes, as FSDP1 gives: (it, class, its arguments,
 * attributes). */
static const char WITH_ATTRIBUTES[] = "torch._tensor _rebuild_from_type_v2";

static const struct {
    const char *torch, *storage;
} dtypes[N_DTYPES] = {
    [F64] = { "float64", "DoubleStorage" },
    [F32] = { "float32", "FloatStorage" },
    [BF16] = { "bfloat16", "BFloat16Storage" },
    [F16] = { "float16", "HalfStorage" },
    [F8_E4M3] = { "float8_e4m3fn", NULL },
    [F8_E5M2] = { "float8_e5m2", NULL },
    [I64] = { "int64", "LongStorage" },
    [I32] = { "int32", "IntStorage" },
    [I16] = { "int16", "ShortStorage" },
    [I8] = { "int8", "CharStorage" },
    [U16] = { "uint16", NULL },
    [U8] = { "uint8", "ByteStorage" },
    [BOOL] = { "bool", "BoolStorage" },
};

static const char *const names[] = { REBUILD,
                                     PARAMETER,
                                     WITH_ATTRIBUTES,
                                     "torch Tensor",
                                     "torch.nn.parameter Parameter",
                                     "collections OrderedDict",
                                     "torch Size",
                                     "torch DoubleStorage",
                                     "torch FloatStorage",
                                     "torch BFloat16Storage",
                                     "torch HalfStorage",
                                     "torch LongStorage",
                                     "torch IntStorage",
                                     "torch ShortStorage",
                                     "torch CharStorage",
                                     "torch ByteStorage",
                                     "torch BoolStorage",
                                     NULL };

bool torch_dtype_of_name(Str name, Dtype *out)
{
    for (int t = 0; t < N_DTYPES; t++) {
        *out = (Dtype)t;
        if (str_is(name, dtypes[t].torch)) return true;
    }
    return false;
}

const char *torch_dtype_name(Dtype t)
{
    return dtypes[t].torch;
}

const char *torch_storage_name(Dtype t)
{
    return dtypes[t].storage;
}

static Error *check_member(const Zip *z, const char *name, const char *expected)
{
    const ZipMember *m = zip_find(z, name);
    if (!m || str_is(m->data, expected)) return NULL;
    return error_new("%s is \"%.*s\"; only \"%s\" can be read", name, (int)m->data.len, m->data.ptr,
                     expected);
}

static Error *read(Arena *a, TorchFile *f)
{
    TRY(zip_read(a, f->path, f->bytes, &f->zip));
    const ZipMember *pickle = zip_find(&f->zip, "data.pkl");
    if (zip_find(&f->zip, "constants.pkl"))
        return error_new("%s: a TorchScript archive, which holds a program, not only tensors",
                         f->path);
    if (!pickle) return error_new("%s: no archive of torch.save: data.pkl is missing", f->path);
    TRY(error_wrap(check_member(&f->zip, "byteorder", "little"), "%s", f->path));
    TRY(error_wrap(zip_check(pickle), "%s", f->path));
    return pickle_read(a, arena_printf(a, "%s: data.pkl", f->path), pickle->data, names, &f->root);
}

Error *torch_file_read(Arena *a, const char *path, Str bytes, TorchFile *out)
{
    *out = (TorchFile){ .path = path, .bytes = bytes };
    if (bytes.len >= 2 && (unsigned char)bytes.ptr[0] == 0x80)
        return error_new("%s: written by torch.save before torch 1.6, or without its ZIP format: "
                         "save it again with a later torch",
                         path);
    return read(a, out);
}

bool torch_is_tensor(const Pickle *p)
{
    return pickle_is_object(p, REBUILD) || pickle_is_object(p, PARAMETER) ||
           pickle_is_object(p, WITH_ATTRIBUTES);
}

static Error *bad(const char *what)
{
    return error_new("a tensor with %s", what);
}

static bool is_int(const Pickle *p)
{
    return p->kind == PICKLE_INT && p->integer >= 0;
}

/* Row-major and without gaps; a dimension of one element may have any stride. */
static Error *read_sizes(const Pickle *sizes, const Pickle *strides, TorchTensor *t)
{
    if (sizes->kind != PICKLE_TUPLE || strides->kind != PICKLE_TUPLE || sizes->n != strides->n)
        return bad("sizes or strides that are no tuples of one length");
    if (sizes->n > MAX_DIMS) return error_new("a tensor of more than %d dimensions", MAX_DIMS);
    t->n_dims = (int)sizes->n;
    bool is_empty = false;
    for (int d = 0; d < t->n_dims; d++) {
        if (!is_int(sizes->item[d]) || !is_int(strides->item[d]))
            return bad("sizes or strides that are no whole numbers");
        t->size[d] = sizes->item[d]->integer;
        is_empty = is_empty || !t->size[d];
    }
    int64_t stride = 1;
    for (int d = t->n_dims - 1; d >= 0 && !is_empty; d--) {
        if (t->size[d] != 1 && strides->item[d]->integer != stride)
            return bad("strides that are not row-major; save its .contiguous()");
        if (__builtin_mul_overflow(stride, t->size[d], &stride)) return bad("too many elements");
    }
    return NULL;
}

/* The storage is ('storage', torch.FloatStorage, '0', 'cpu', numel). */
static Error *read_storage(const TorchFile *f, const Pickle *storage, TorchTensor *t)
{
    const Pickle *id = storage->kind == PICKLE_STORAGE ? storage->args : NULL;
    if (!id || id->kind != PICKLE_TUPLE || id->n < 5 || id->item[0]->kind != PICKLE_TEXT ||
        !str_is(id->item[0]->text, "storage") || id->item[1]->kind != PICKLE_GLOBAL ||
        id->item[2]->kind != PICKLE_TEXT)
        return bad("a storage that is none of torch.save");
    Str type = id->item[1]->text, key = id->item[2]->text;
    int found = -1;
    for (int i = 0; i < N_DTYPES && strchr(type.ptr, ' '); i++)
        if (dtypes[i].storage && !strcmp(strchr(type.ptr, ' ') + 1, dtypes[i].storage)) found = i;
    if (found < 0) return error_new("a storage of type %s", type.ptr);
    t->dtype = (Dtype)found;
    char name[64];
    if (key.len > 40) return bad("a storage with a long name");
    snprintf(name, sizeof name, "data/%.*s", (int)key.len, key.ptr);
    t->storage = zip_find(&f->zip, name);
    return t->storage ? NULL : error_new("%s is missing in the archive", name);
}

static Error *without_attributes(const Pickle *p, Pickle *out)
{
    Pickle *const *arg = p->args->item;
    if (p->args->n != 4 || arg[0]->kind != PICKLE_GLOBAL || arg[2]->kind != PICKLE_TUPLE)
        return bad("attributes of an unknown form");
    *out = (Pickle){ .kind = PICKLE_OBJECT, .of = arg[0], .args = arg[2] };
    return NULL;
}

Error *torch_tensor(const TorchFile *f, const Pickle *p, TorchTensor *out)
{
    *out = (TorchTensor){ .n_dims = 0 };
    Pickle plain;
    for (int i = 0; pickle_is_object(p, PARAMETER) && p->args->n >= 1 && i < 2; i++)
        p = p->args->item[0];
    if (pickle_is_object(p, WITH_ATTRIBUTES)) {
        TRY(without_attributes(p, &plain));
        p = &plain;
    }
    if (!pickle_is_object(p, REBUILD) || p->args->n < 4) return bad("an unknown form");
    Pickle *const *arg = p->args->item;
    TRY(read_storage(f, arg[0], out));
    TRY(read_sizes(arg[2], arg[3], out));
    int64_t bytes, from = 0;
    if (!is_int(arg[1]) || !dense_bytes(out->dtype, out->n_dims, out->size, &bytes) ||
        __builtin_mul_overflow(arg[1]->integer, (int64_t)dtype_size(out->dtype), &from) ||
        (uint64_t)from > out->storage->data.len ||
        (uint64_t)bytes > out->storage->data.len - (uint64_t)from)
        return bad("more elements than its storage has");
    out->data = (Str){ out->storage->data.ptr + from, (size_t)bytes };
    return NULL;
}
