/* shard.h - tensor, sequence and context parallelism: splits of dimensions by their names.
 *
 * A rule says over which mesh axis a named dimension of leaves is split. Splits travel through an
 * op along its letters; where operands disagree, a dimension must be whole, or a sum is outstanding
 * that an op cannot take, communication is put in front. */
#ifndef PASSES_SHARD_H
#define PASSES_SHARD_H
#include "comm/mesh.h"
#include "graph/pass.h"

/* What a model asks for along the axes tp and cp; on a mesh without them it means nothing. */
typedef enum ContextMethod {
    CONTEXT_GATHER,  /* attention reads keys and values of all ranks along cp */
    CONTEXT_RING,    /* keys and values go round the ranks along cp (Liu et al. 2023) */
    CONTEXT_ULYSSES, /* in attention ranks have all tokens, but of some heads (Jacobs et al. 2023)
                      */
} ContextMethod;

typedef struct Sharding {
    bool tensor;   /* heads, hidden units of feed-forward layers and vocabulary over tp */
    bool sequence; /* between them, tokens over tp */
    bool async;    /* products in pieces, made while others travel over tp (async_tensor.c) */
    bool context;  /* tokens over cp */
    Layout layout; /* of tokens over cp */
    ContextMethod method;
} Sharding;
extern const PassDef pass_shard;

struct Model;
/* What the model asks for; where nothing does, tokens are split over cp in zig-zag, and keys go
 * round in a ring. */
Sharding sharding_of(const struct Model *m, const Mesh *mesh);
#endif
