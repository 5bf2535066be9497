/* mesh.h - the ranks of a job as a grid with named axes, one per kind of parallelism. */
#ifndef COMM_MESH_H
#define COMM_MESH_H
#include "base/error.h"
#include "base/rank.h"
#include <stdbool.h>
#include <stdint.h>

/* From the outermost to the innermost: neighbouring ranks differ in tp first. The ranks that share
 * one copy of the dense parameters are those along dp_shard and ep: along ep they have different
 * experts. */
typedef enum MeshAxis {
    MESH_NONE,
    MESH_PP,
    MESH_DP_REPLICATE,
    MESH_DP_SHARD,
    MESH_EP,
    MESH_CP,
    MESH_TP,
    MESH_N_AXES
} MeshAxis;

typedef struct Mesh {
    int64_t size[MESH_N_AXES]; /* of each axis, at least 1; their product is the world size */
    int64_t world_size;
    int64_t rank;            /* of this process: see base/rank.h */
    const char *device_type; /* "cuda" or "cpu", as the configuration asks */
} Mesh;

/* The names of all axes in configurations: "pp", "dp_replicate", ... by MeshAxis less one; ends
 * with NULL. */
extern const char *const mesh_axis_names[];

/* At most one of the two data-parallel degrees is -1: what the others leave. The product of all
 * must be the world size. size[MESH_DP_SHARD] comes as configurations say it, with the ranks along
 * ep among its own, and leaves without them. */
Error *mesh_make(Mesh *m);
/* The degree of an axis as configurations say it. */
int64_t mesh_degree(const Mesh *m, MeshAxis axis);
/* Where a configuration has none: all ranks along dp_shard. */
Mesh mesh_of_rank(const Rank *rank);
/* Ranks that share the samples, and the place of a rank among them. */
int64_t mesh_dp_degree(const Mesh *m);
int64_t mesh_dp_place(const Mesh *m, int64_t rank);
/* The original's mesh has an axis when its size is above 1; dp_shard is always there. */
bool mesh_has(const Mesh *m, MeshAxis axis);
/* Place of a rank along an axis. */
int64_t mesh_coordinate(const Mesh *m, MeshAxis axis, int64_t rank);
#endif
