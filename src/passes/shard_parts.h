/* shard_parts.h - what the files of the shard pass share. */
#ifndef PASSES_SHARD_PARTS_H
#define PASSES_SHARD_PARTS_H
#include "passes/shard.h"

/* Dimensions of this name are split over this axis, where the model asks for it. */
typedef struct Rule {
    const char *axis;
    MeshAxis mesh;
    bool (*is_asked)(const Sharding *s);
} Rule;

/* How a letter is to be split. */
typedef struct Want {
    uint8_t mesh[MAX_MESH_AXES];
    Layout layout;
    bool is_padded;
} Want;

typedef struct Sharder {
    Graph *g;
    const Mesh *mesh;
    const Sharding *s;
    const Rule **rule; /* those that apply */
    int n_rules;
    int moment; /* of the node at hand: 0 until the backward pass has come to the blocks */
    const Node *user;
    const int64_t *uses; /* by value, of the n_values that were there before */
    int64_t n_values;
    struct Sent *sent; /* transfers that were put in, to be used again */
    int64_t n_sent, cap_sent;
} Sharder;

/* shard_rules.c: chooses the rules that apply, and splits inputs, parameters and states by them.
 * Errors: units that do not divide. */
Error *shard_leaves(Sharder *s);
/* shard_settle.c: brings a value to the wanted splits, by dimension, with nothing outstanding but
 * what `partial` allows. What is split otherwise is joined before anything is split. */
Value *shard_settle(Sharder *s, Value *v, unsigned partial, const Want *want);

/* Number of axes in a list, and whether this is one of them. */
int shard_n_axes(const uint8_t *mesh);
bool shard_has_axis(const uint8_t *mesh, MeshAxis axis);
#endif
