/* convert.h - a checkpoint of any format written in another one. */
#ifndef CHECKPOINT_CONVERT_H
#define CHECKPOINT_CONVERT_H
#include "checkpoint/checkpoint.h"

typedef enum ConvertTo { TO_NATIVE, TO_DCP, TO_TORCH, TO_SAFETENSORS } ConvertTo;

/* Writes `target`: a folder (native, dcp), one file of torch.save (torch), or one safetensors file
 * with all tensors under their DCP keys. `model_only`: parameters alone. One tensor at a time is in
 * memory. Whatever is read is checked first. */
Error *checkpoint_convert(CheckpointReader *r, const char *target, ConvertTo to, bool model_only);
/* Appends what differs between two checkpoints, a line each: tensors that only one has, other
 * shapes, dtypes or numbers (how many, and the largest difference), other values. *n counts them.
 */
Error *checkpoint_diff(CheckpointReader *a, CheckpointReader *b, Text *out, int64_t *n);
#endif
