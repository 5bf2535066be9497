/* checkpoint.h - named tensors and progress, written and read in any format.
 *
 * What a process holds of a tensor is a part that knows its place in the whole, so that a
 * checkpoint can be loaded into any other split. Names are the original's flat keys:
 * app.model.<parameter>, app.optimizer.state.<parameter>.{step,exp_avg,exp_avg_sq}. Formats: this
 * program's own (checkpoint/native.h) and a plain .safetensors file (reading only). */
#ifndef CHECKPOINT_CHECKPOINT_H
#define CHECKPOINT_CHECKPOINT_H
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "checkpoint/box.h"
#include "checkpoint/objects.h"
#include "tensor/tensor.h"

/* A tensor of the program's state: this process's part, and the sizes of the whole. */
typedef struct StateTensor {
    const char *name;
    int64_t whole[MAX_DIMS];
    Tensor part;
    const struct Stored *halves; /* of a store, whose numbers in f32 lie at part.data in two halves,
                                    the high ones first (tensor/halves.h); NULL: as they are */
} StateTensor;

/* A file that a checkpoint keeps for whoever goes on from it. */
typedef struct CheckpointFile {
    const char *name, *text;
} CheckpointFile;

/* How the part files of a new checkpoint are laid out: safetensors; torch.distributed.checkpoint;
 * the two .bin files of FSDP1 beside the folder. */
typedef enum CheckpointLayout { LAYOUT_NATIVE, LAYOUT_DCP, LAYOUT_FSDP1 } CheckpointLayout;

/* Which rank writes what (checkpoint/shares.h). */
typedef struct Shares Shares;

/* What a new checkpoint holds. */
typedef struct CheckpointContent {
    CheckpointLayout layout;
    const StateTensor *state; /* tensors, and parts of tensors */
    int64_t n;
    const Shares *shares; /* of this state among all ranks; NULL: all of it is written here */
    /* Gives the numbers of state[i].part until the next call; NULL: they are at hand. */
    Error *(*fetch)(void *context, int64_t i, const void **data);
    void *context;
    struct Pool *pool;       /* threads that copy numbers; NULL: the caller alone */
    struct Staging *staging; /* numbers may change while they are written; NULL: do not */
    const CheckpointObject *object;
    int64_t n_objects;
    const CheckpointFile *file;
    int64_t n_files;
    const char *progress; /* a JSON object */
} CheckpointContent;

/* One tensor of a checkpoint. */
typedef struct CheckpointEntry {
    const char *name;
    Dtype dtype;
    int n_dims;
    int64_t size[MAX_DIMS];
} CheckpointEntry;

typedef struct CheckpointReader {
    const char *format; /* "native", "dcp", "fsdp1", "torch", "safetensors" */
    const char *path;
    const char *progress; /* JSON object; "{}" in formats that hold none */
    const CheckpointEntry *entry;
    int64_t n_entries;
    Map *by_name;       /* filled by checkpoint_open, for checkpoint_find */
    int64_t bytes_read; /* of what has checksums: headers and numbers, so far */
    /* The numbers of `box` of entry i, dense, in the entry's dtype. Whatever is read is checked
     * first. */
    Error *(*get)(struct CheckpointReader *r, int64_t i, const Box *box, void *out);
    /* Checks what is stored of entry i, unless get did; NULL in formats without checksums. */
    Error *(*verify)(struct CheckpointReader *r, int64_t i);
    /* Checks what lies around the tensors; NULL where nothing is known of it. */
    Error *(*verify_files)(struct CheckpointReader *r);
    /* Values that are no tensors, read when first asked for; NULL: there are none. */
    Error *(*objects)(struct CheckpointReader *r, const CheckpointObject **out, int64_t *n);
} CheckpointReader;

/* Finds out the format of a folder or file and opens it; lives as long as the arena. A
 * last_checkpoint_info.json stands for the folder that it names. */
Error *checkpoint_open(Arena *a, const char *path, CheckpointReader **out);
/* An error when the checkpoint that a last_checkpoint_info.json (of any file name) tells cannot be
 * read. */
Error *checkpoint_check_info(const char *path);
/* Fills by_name of a reader that was not opened by checkpoint_open. */
void checkpoint_index(Arena *a, CheckpointReader *r);
/* The index of a name, or -1. */
int64_t checkpoint_find(const CheckpointReader *r, const char *name);

/* Writes a checkpoint at `path`, replacing one of that name; nothing is visible under the name
 * before it is complete, and after an error nothing is left but what was there before. With shares
 * every rank calls it; objects, files and progress are rank 0's. */
Error *checkpoint_write(const char *path, const CheckpointContent *c);
/* The same in this program's layout, of tensors alone. */
Error *checkpoint_save(const char *path, const StateTensor *state, int64_t n, const char *progress);
/* An error that lists what does not fit: parts of the state that the checkpoint lacks or has with
 * other whole sizes, and names that the checkpoint alone has, if `must_fit` (NULL: none must);
 * second names of tied weights may be there. */
Error *checkpoint_check(CheckpointReader *r, const StateTensor *state, int64_t n,
                        bool (*must_fit)(const void *ctx, const char *name), const void *ctx);
/* Fills the parts from a checkpoint, after a check, before which nothing is changed; what only the
 * checkpoint has is ignored. Floats are converted when dtypes differ. */
Error *checkpoint_load(CheckpointReader *r, const StateTensor *state, int64_t n);
/* Checks everything that is stored and was not checked when it was read; the error names each
 * tensor that is damaged. Formats without checksums pass. */
Error *checkpoint_verify(CheckpointReader *r);
#endif
