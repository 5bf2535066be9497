/* hf_folder.h - the tensors of a Hugging Face folder, by name, whichever files they lie in. */
#ifndef CHECKPOINT_HF_FOLDER_H
#define CHECKPOINT_HF_FOLDER_H
#include "checkpoint/hf_file.h"
#include "config/yaml.h"
#include "models/hf/family.h"

/* A tensor and the file that it is in. */
typedef struct HfFound {
    const HfFile *file;
    const Tensor *tensor;
} HfFound;

typedef struct HfFolder {
    Arena *arena;
    const char *path;
    const char *file;         /* that all tensors lie in, or NULL */
    const char *index;        /* path of the index; NULL: one file */
    const Yaml *shards;       /* name of a tensor to its file */
    Map *open;                /* name of a file to HfFile * */
    const HfDialect *dialect; /* or NULL */
    bool base_layers;         /* NAME.base_layer.weight stands for NAME.weight */
} HfFolder;

/* Finds the folder's file of weights or their index. An error, marked as absent, where there is
 * none. */
Error *hf_folder_open(Arena *a, const char *path, const HfDialect *dialect, HfFolder *out);
/* A tensor under its name or another spelling of it; an error where it is not, or its file is not.
 */
Error *hf_folder_find(HfFolder *f, const char *name, HfFound *out);
/* Whether it is there. */
bool hf_folder_has(HfFolder *f, const char *name, HfFound *out);
typedef void HfNameUse(void *arg, const char *name);
/* Calls `use` with the name of every tensor. */
Error *hf_folder_names(HfFolder *f, HfNameUse *use, void *arg);
/* "[2, 3]", for errors. */
const char *hf_shape_text(Arena *a, int n_dims, const int64_t *size);
#endif
