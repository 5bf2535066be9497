/* hf_file.h - one file of a Hugging Face folder's tensors: .safetensors, or torch's .bin. */
#ifndef CHECKPOINT_HF_FILE_H
#define CHECKPOINT_HF_FILE_H
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "tensor/tensor.h"

typedef struct HfFile HfFile;

/* By the ending of its name. The file stays mapped as long as the arena. */
Error *hf_file_open(Arena *a, const char *path, HfFile **out);
const char *hf_file_path(const HfFile *f);
/* The keys are the names of its tensors. */
const Map *hf_file_names(const HfFile *f);
/* *out: the tensor, as long as the arena; NULL where the file has none of this name. Errors: its
 * numbers do not have the checksum of a .bin, or lie in it as cannot be read. */
Error *hf_file_find(const HfFile *f, const char *name, const Tensor **out);
#endif
