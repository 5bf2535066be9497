/* groups.h - one rank's groups over the axes of its mesh, made when first asked for. */
#ifndef COMM_GROUPS_H
#define COMM_GROUPS_H
#include "base/arena.h"
#include "comm/comm.h"
#include "comm/mesh.h"

struct Device;

typedef struct Groups Groups;

/* Both must stay; mesh->rank is this rank, whose place in `world` is the same. Groups made from it
 * are freed with the arena, before `world`. */
Groups *groups_new(Arena *a, const Mesh *mesh, Comm *world);
/* Groups that have sizes and labels, but nobody to talk to: to plan a rank of a job that does not
 * run. */
Groups *groups_planned(Arena *a, const Mesh *mesh);
const Mesh *groups_mesh(const Groups *g);
/* NULL: planned only. */
Comm *groups_world(const Groups *g);
/* The ranks that differ from this one along these axes at most (bit m: MeshAxis m), row-major. All
 * of them must ask for it. Groups of different `stream` may be in use at the same time. Axes of
 * size 1 count for nothing. */
Error *groups_get(Groups *g, unsigned axes, int stream, Comm **out);
/* From now on groups_get gives these ranks as a group for memory of the device, which frees it. All
 * of them must ask for it. sends[r]: this rank sends messages to rank r; further calls add to
 * these. */
Error *groups_on_device(Groups *g, struct Device *d, unsigned axes, int stream, const bool *sends);
/* A copy of a text that stays as long as the groups; equal texts have one. */
const char *groups_text(Groups *g, const char *text);
/* The axes whose size is above 1; the number of ranks along some axes. */
unsigned mesh_live_axes(const Mesh *m);
/* "dp_shard x cp", of the arena. */
const char *mesh_axes_text(Arena *a, unsigned axes);
int64_t mesh_ranks_along(const Mesh *m, unsigned axes);
#endif
