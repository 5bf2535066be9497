/* data_parallel.h - copies of the model on ranks with data of their own: DDP, ZeRO 1 to 3 (FSDP),
 * HSDP.
 *
 * A graph is that of one rank's microbatch, so data parallelism splits no activation: every
 * gradient is a sum outstanding over the data-parallel axes, as it is over microbatches. Along the
 * sharding axes (dp_shard, ep and cp) a parameter has a home: its rows (dimension 0) are divided
 * over the ranks, and states, master weights and updates with them. */
#ifndef PASSES_DATA_PARALLEL_H
#define PASSES_DATA_PARALLEL_H
#include "base/rank.h"
#include "comm/mesh.h"
#include "graph/pass.h"

/* What has a home: ZeRO's stages. */
typedef enum ZeroStage {
    ZERO_NONE,      /* nothing: DDP */
    ZERO_STATES,    /* optimizer states and master weights; gradients are reduced once per step,
                       during the last backward pass, as without homes */
    ZERO_GRADIENTS, /* and gradients, which are reduced after every microbatch */
    ZERO_PARAMETERS /* and parameters: whole only while their unit computes */
} ZeroStage;

typedef struct DataParallel {
    ZeroStage stage;
    int64_t blocks_per_unit; /* that are gathered and reduced together */
    Dtype reduce_dtype;      /* F32, BF16 or F16: what gradients are sent as */
    int64_t bucket_bytes; /* of gradients that are reduced together, where not by units; 0: a 16th
                                 of all, at least 1 MiB and at most 25 */
    bool is_hybrid; /* where the configuration has no mesh: parameters are sharded over the ranks of
                       a machine, and machines have copies */
} DataParallel;
extern const PassDef pass_data_parallel;

/* For a mesh that no configuration asked for, with all ranks along dp_shard: where the layout is
 * hybrid and every machine has as many ranks, those of a machine share and machines have copies. */
void data_parallel_place(const DataParallel *d, const Rank *rank, Mesh *m);
/* The axes over which homes are divided, and all over which ranks have data of their own. */
unsigned mesh_shard_axes(const Mesh *m);
unsigned mesh_data_axes(const Mesh *m);
/* Those of `axes` over which a parameter is not split already: experts are, over ep. */
unsigned home_axes(const Value *param, unsigned axes);
#endif
