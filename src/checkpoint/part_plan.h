/* part_plan.h - a file of a checkpoint before it is written: which numbers lie where, and what lies
 * between them. */
#ifndef CHECKPOINT_PART_PLAN_H
#define CHECKPOINT_PART_PLAN_H
#include "checkpoint/objects.h"
#include "checkpoint/safetensors.h"

typedef struct PartPlan PartPlan;
struct PartPlan {
    Arena *arena;
    const char *file;         /* its name in the folder */
    const NamedTensor *piece; /* names, dtypes and sizes; no numbers */
    int64_t n;
    int64_t *order;             /* pieces by their place in the file */
    int64_t *begin;             /* of each piece, in the file */
    int64_t *entry, *entry_end; /* the archive around each piece (DCP); NULL: none */
    int64_t bytes;              /* of the whole file */
    /* Appends what lies before the piece order[i], after the former one; i == n: what ends the
     * file. Called for rising i; `at` is the file's length so far and `crc` the checksum of the
     * former piece. */
    void (*around)(PartPlan *p, int64_t i, int64_t at, uint32_t crc, Text *out);
};

/* Fills begin and bytes of a plan whose pieces have an order. */
void part_plan_place(PartPlan *p);

/* A safetensors file. */
Error *safetensors_plan(Arena *a, const char *file, const NamedTensor *piece, int64_t n,
                        PartPlan **out);

/* Where an object lies in a part of DCP. */
typedef struct PlacedObject {
    const CheckpointObject *object;
    int64_t begin, end;
} PlacedObject;

/* A part of DCP: archives of torch.save, first of the objects (begin and end are filled), then of
 * the pieces. */
Error *distcp_plan(Arena *a, const char *file, const NamedTensor *piece, int64_t n,
                   PlacedObject *object, int64_t n_objects, PartPlan **out);

/* One archive of torch.save with all pieces, whose pickle a function writes: a value for each piece
 * by torch_put_tensor. */
Error *torch_plan(Arena *a, const char *file, const NamedTensor *piece, int64_t n,
                  void (*put)(void *context, PickleWriter *w), void *context, PartPlan **out);
/* Puts the tensor whose numbers are member data/I of the archive. */
void torch_put_tensor(PickleWriter *w, const Tensor *t, int64_t i);
#endif
