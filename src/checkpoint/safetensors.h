/* safetensors.h - files of named tensors: 8 bytes with the header's length, a JSON header, the
 * numbers.
 *
 * https://huggingface.co/docs/safetensors: tensors follow each other without gaps, row-major,
 * little-endian. */
#ifndef CHECKPOINT_SAFETENSORS_H
#define CHECKPOINT_SAFETENSORS_H
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "tensor/tensor.h"

typedef struct NamedTensor {
    const char *name;
    Tensor tensor;
} NamedTensor;

/* An open file. The numbers are mapped: read only, loaded when touched. */
typedef struct Safetensors {
    const char *path;
    NamedTensor *tensor; /* by place in the file; data is aligned for its dtype */
    int64_t n;
    Map *metadata; /* "__metadata__": text to char * */
    Map *by_name;
} Safetensors;

/* Checks the whole header; errors name file, tensor and offset. Lives as long as the arena. */
Error *safetensors_open(Arena *a, const char *path, Safetensors **out);
/* The same for bytes at hand, which must outlive the arena; `path` is for errors. */
Error *safetensors_parse(Arena *a, const char *path, Str bytes, Safetensors **out);
/* NULL when there is no such tensor. */
const Tensor *safetensors_find(const Safetensors *f, const char *name);

/* The dtype's name in safetensors: "F32", "BF16", "F8_E4M3". */
const char *safetensors_dtype_name(Dtype t);
bool safetensors_dtype_of_name(const char *name, Dtype *out);

/* A file being written; it appears under its name at safetensors_commit. */
typedef struct SafetensorsWriter SafetensorsWriter;

/* Plans the file from names, dtypes and sizes (data may be NULL) and writes the header. `metadata`
 * (text to char *) may be NULL. The tensors lie in the file by falling element size, large ones of
 * whole pages before all others, else in the given order. */
Error *safetensors_create(Arena *a, const char *path, const NamedTensor *plan, int64_t n,
                          const Map *metadata, SafetensorsWriter **out);
/* The next `bytes` bytes of tensor i of the plan; tensors may come in any order and in pieces. */
Error *safetensors_put(SafetensorsWriter *w, int64_t i, const void *data, size_t bytes);
/* Where tensor i of the plan begins in the file. */
int64_t safetensors_offset(const SafetensorsWriter *w, int64_t i);
/* All bytes before the numbers. */
Str safetensors_header(const SafetensorsWriter *w);
/* Every tensor must be complete. After an error nothing is left under the name. */
Error *safetensors_commit(SafetensorsWriter *w);
/* Gives up and removes what was written. Does nothing after safetensors_commit. */
void safetensors_abandon(SafetensorsWriter *w);

/* Writes a file of tensors at hand. */
Error *safetensors_write(const char *path, const NamedTensor *tensors, int64_t n);
#endif
