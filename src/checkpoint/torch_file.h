/* torch_file.h - what torch.save writes: a ZIP archive of a pickle and of the numbers of tensors.
 */
#ifndef CHECKPOINT_TORCH_FILE_H
#define CHECKPOINT_TORCH_FILE_H
#include "checkpoint/pickle.h"
#include "checkpoint/zip.h"
#include "tensor/tensor.h"

typedef struct TorchFile {
    const char *path;
    Str bytes;
    Zip zip;
    const Pickle *root;
} TorchFile;

/* A tensor in the file, row-major and dense. */
typedef struct TorchTensor {
    Dtype dtype;
    int n_dims;
    int64_t size[MAX_DIMS];
    Str data;                 /* its numbers */
    const ZipMember *storage; /* which holds them and perhaps those of others */
} TorchTensor;

/* The dtype of torch's name ("float32"), and back; false or NULL when there is none. */
bool torch_dtype_of_name(Str name, Dtype *out);
const char *torch_dtype_name(Dtype t);
/* "FloatStorage"; of BF16 "BFloat16Storage". NULL when torch has none. */
const char *torch_storage_name(Dtype t);

/* Reads the pickle and finds the members; numbers are not looked at. The bytes must outlive the
 * arena. */
Error *torch_file_read(Arena *a, const char *path, Str bytes, TorchFile *out);
/* Whether a value of the pickle is a tensor. */
bool torch_is_tensor(const Pickle *p);
Error *torch_tensor(const TorchFile *f, const Pickle *p, TorchTensor *out);
#endif
