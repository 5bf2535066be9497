/* graph.h - the program as data: values (what is computed) and nodes (how), in execution order.
 *
 * Sizes are those of the whole job; splits over the mesh are noted per dimension. Building never
 * fails in the middle: the first error sticks to the graph and graph_finish returns it. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "comm/comm.h"
#include "tensor/dims.h"
#include <stdio.h>

struct Mesh;

enum { MAX_MESH_AXES = 4 };

/* One dimension of a value: its size in the whole job, a logical name ("heads"), and the mesh axes
 * it is split over, outermost first; 0 ends the list. `rotation` r: this rank holds the part that
 * by its own place would be that of the rank r further on (ring exchanges). */
typedef struct Dim {
    int64_t size;
    const char *axis;
    uint8_t mesh[MAX_MESH_AXES];
    uint8_t rotation;
    Layout layout;
    int64_t granule; /* elements that stay together, as those of a head do; 0: not known, 1 */
    bool is_padded;  /* the parts need not divide the size: the last ones reach beyond it */
} Dim;

/* INPUT: set before each microbatch. PARAM, STATE: kept in the store between steps. RESULT:
 * computed by `from`. ACCUMULATOR: a gradient; zero at the start of a step, every write adds, the
 * update clears it. */
typedef enum ValueKind {
    VALUE_INPUT,
    VALUE_PARAM,
    VALUE_STATE,
    VALUE_RESULT,
    VALUE_ACCUMULATOR
} ValueKind;

/* How a parameter or state gets its first content. */
typedef enum InitKind {
    INIT_ZEROS,
    INIT_ONES,
    INIT_NORMAL,
    INIT_TRUNCATED,
    INIT_UNIFORM,
    INIT_LOG_COUNT, /* log(1), log(2) ... log(columns), and again */
    INIT_CHOICES /* rows of so many columns, each of different whole numbers below `high`, which is
                    at least as many */
} InitKind;
typedef struct Init {
    InitKind kind;
    double mean, std; /* NORMAL, TRUNCATED */
    double low, high; /* bounds of TRUNCATED (absolute) and UNIFORM */
    int64_t columns;  /* LOG_COUNT, CHOICES */
} Init;

/* What a parameter is for: initializers go by it. */
typedef enum Role {
    ROLE_LINEAR,    /* a layer that reads the residual stream */
    ROLE_UP,        /* the factor of a gated layer that is not the gate */
    ROLE_RESIDUAL,  /* a layer that writes to the residual stream */
    ROLE_EMBEDDING, /* a row per token */
    ROLE_POSITION,  /* a row per position */
    ROLE_HEAD,      /* from hidden states to logits */
    ROLE_TOKEN,     /* a row that no token of the input has: initializers leave it */
    ROLE_NORM,
    N_ROLES
} Role;

typedef struct Value {
    ValueKind kind;
    int id; /* index in graph->value */
    const char *name;
    Dtype dtype;
    int n_dims;
    Dim dim[MAX_DIMS];
    unsigned partial;      /* bit m: a reduction over mesh axis m is still outstanding */
    ReduceOp reduce;       /* which one */
    struct Node *from;     /* RESULT only */
    struct Value *grad;    /* PARAM only: its ACCUMULATOR, after autodiff */
    struct Value *grad_of; /* the value whose gradient this is, or NULL */
    bool is_copy;          /* PARAM only: another rank of the pipeline has it, too, and counts it */
    bool is_frozen;        /* PARAM only: stays what it is, and gets no gradient */
    int place;             /* PARAM only: see Graph.n_places */
    Init init;             /* PARAM and STATE */
    Role role;             /* PARAM only */
    bool is_bias;          /* PARAM only: added to what the weight gives */
    int block;             /* PARAM only: like that of nodes */
    struct Value *low;     /* PARAM only: a STATE, where this is the high half (passes/halves.h) */
    bool is_low;           /* STATE only: it is one */
    bool is_cache;         /* STATE only: see graph_cache */
    bool on_host;          /* RESULT only: in host memory, where only OP_COPY reaches it */
} Value;

/* PREPARE runs when parameters have changed (casts, packing, tables); BACKWARD_LAST with the last
 * BACKWARD_WEIGHT of a step on its stage, among whose nodes it may stand; REDUCE once per step;
 * UPDATE once per step if the gradients are finite. */
typedef enum Phase {
    PREPARE,
    FORWARD,
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    BACKWARD_LAST,
    REDUCE,
    UPDATE,
    N_PHASES
} Phase;

/* Queues of work: that of the computation, and those of transfers beside it: of parameters, of
 * gradients, of gradients among copies of a sharded model, of activations to and from the host's
 * memory, and of rows among experts. */
enum {
    STREAM_COMPUTE,
    STREAM_GATHER,
    STREAM_REDUCE,
    STREAM_COPIES,
    STREAM_OFFLOAD,
    STREAM_EXPERTS,
    N_STREAMS
};

/* A place in this program's source, where a transfer is asked for: who finds ranks that wait in it
 * looks there. */
typedef struct Source {
    const char *file; /* NULL: not told */
    int line;
} Source;
#define HERE ((Source){ __FILE__, __LINE__ })

/* A PARAM, STATE or ACCUMULATOR among the results means: this node writes it in place. A node
 * without results (a send) is there for its effect. */
typedef struct Node {
    const struct OpDef *op;
    const DimSpec *dims;
    const int64_t *slot_size; /* by slot of dims */
    const void *attrs;
    int n_in, n_out;
    Value **in, **out;
    Phase phase;
    int block, stage;         /* unit of recompute and FSDP (-1: none); pipeline stage */
    int stream;               /* queue that it runs on */
    const struct Node *after; /* of another stream: done before this one begins, though they share
                                 no storage; NULL: none */
    unsigned axes;            /* OP_COMM: bit m: it talks to the ranks along MeshAxis m */
    const char *module; /* the part of the model that asked for it, "transformer.h.0.attn"; "" */
    Source source;      /* of nodes that talk to ranks */
} Node;

/* The place of a block among its like: the third of "transformer.h" has index 2. */
typedef struct BlockPlace {
    const char *stack;
    int index;
} BlockPlace;

typedef struct Output {
    const char *name;
    Value *value;
} Output;

typedef struct Graph {
    Arena *arena; /* of the caller; all parts of the graph come from it */
    /* Where nodes added from now on infer splits, and graph_verify checks them; NULL: nothing is
     * split. */
    const struct Mesh *mesh;
    Node **node;
    int64_t n_nodes, cap_nodes;
    Value **value;
    int64_t n_values, cap_values;
    struct Map *leaf; /* inputs, parameters, states and accumulators by name */
    Output *output;   /* what must be there after a run: "loss", "logits" ... */
    int64_t n_outputs, cap_outputs;
    BlockPlace *place; /* by number of the block: unique over all stacks */
    int64_t n_blocks, cap_blocks;
    int64_t n_places;  /* parameters of the whole model with gradients, where this is the graph of
                          one rank of a pipeline; else 0 */
    Value **elsewhere; /* parameters that only other ranks of the pipeline have */
    int64_t n_elsewhere;
    const char **left_out; /* how names begin of parameters that only other programs have */
    int64_t n_left_out, cap_left_out;
    Error *error;
    struct Scope *scope; /* the open graph_enter calls */
    int block, stage;    /* of the nodes to come */
    Phase phase;         /* likewise */
    const char *module;  /* likewise; NULL: that of the open graph_enter calls */
    Source source;       /* of the next node alone */
} Graph;

Graph *graph_new(Arena *a);
/* The first error made while building, or NULL. */
Error *graph_finish(Graph *g);
void graph_fail(Graph *g, Error *e);

/* Names and numbers what follows: graph_enter(g, "transformer.h", 3) gives the prefix
 * "transformer.h.3." and the block that has this place; index -1 gives "name." and keeps the block.
 */
void graph_enter(Graph *g, const char *name, int index);
void graph_leave(Graph *g);
/* `name` with the present prefix. */
const char *graph_name(Graph *g, const char *name);

Value *graph_input(Graph *g, const char *name, Dtype t, int n_dims, const Dim *dims);
/* The same name again gives the same value (tied weights). Float32; the layer that makes it says
 * its role and how it begins. */
Value *graph_param(Graph *g, const char *name, int n_dims, const Dim *dims);
/* What an optimizer keeps between steps. The state of a parameter is called "{state}.{parameter}".
 * Checkpoints hold all of them. */
Value *graph_state(Graph *g, const char *name, Dtype t, int n_dims, const Dim *dims);
/* A STATE that can be made again, so that no checkpoint holds it. */
Value *graph_cache(Graph *g, const char *name, Dtype t, int n_dims, const Dim *dims);
/* Parameters of the model below `name` (in the present place, with an index as in graph_enter) are
 * for other programs of it; checkpoints may have them. */
void graph_leave_out(Graph *g, const char *name, int index);
Value *graph_accumulator(Graph *g, Value *param);
/* Another one, "{name}.grad.{parameter}", split as the parameter is. */
Value *graph_accumulator_named(Graph *g, const char *name, Value *param);
/* Marks a value as wanted after the run. */
void graph_output(Graph *g, const char *name, Value *v);
Value *graph_find_output(const Graph *g, const char *name);
/* A parameter, state or input by its full name, or NULL. */
Value *graph_find(const Graph *g, const char *name);

/* The next node is asked for at `s`; gives g, so that it can stand where g does. */
Graph *graph_from(Graph *g, Source s);
/* Appends a node; shapes of the results follow from op->dims. `attrs` is copied. Returns its
 * results by node->out. On error a harmless node with results of the wanted number is returned. */
Node *graph_add(Graph *g, const struct OpDef *op, const void *attrs, int n_in, Value *const *in);
/* The same for ops whose nodes bring their own dims; `sizes` as in dims_bind. */
Node *graph_add_dims(Graph *g, const struct OpDef *op, const char *dims, const char *sizes,
                     const void *attrs, int n_in, Value *const *in);
/* Like graph_add_dims, but result 0 is written into `into` (PARAM, STATE or ACCUMULATOR). */
Node *graph_add_into(Graph *g, const struct OpDef *op, const char *dims, const char *sizes,
                     const void *attrs, int n_in, Value *const *in, int n_into, Value *const *into);
/* The module that a node belongs to, down to the layer whose parameter it reads:
 * "transformer.h.0.attn.q_attn". */
const char *node_module(Arena *a, const Node *n);
/* The parameter that a node reads, itself or as a copy made from it; NULL: none. */
const Value *node_parameter(const Node *n);
/* Appends a node that was taken out before. */
void graph_keep(Graph *g, Node *n);
/* Appends a copy of a node with new results. */
Node *graph_copy_node(Graph *g, const Node *n);
/* A new RESULT shaped like `like`. */
Value *graph_value_like(Graph *g, const Value *like, Dtype t);

Shape value_shape(const Value *v);
int64_t value_count(const Value *v);
/* Of the whole value in its dtype. */
int64_t value_bytes(const Value *v);
/* The size of the last dimension; 1 for a scalar, as every value is that failed to be built. */
int64_t value_width(const Value *v);
/* The storage that a value lies in: itself, or what it is a view of, through all views; *offset is
 * where it begins there, in elements of the storage's dtype. */
const Value *value_storage(const Value *v, int64_t *offset);
/* Whether two nodes touch the same storage and at least one of them writes it: the later one must
 * wait for the earlier one. So must a node that comes `after` the other. Views do nothing. */
bool nodes_conflict(const Node *a, const Node *b);
/* How many stages its nodes have; at least 1. */
int graph_stages(const Graph *g);
/* Drops nodes that no output, no write in place and no node without results needs. */
void graph_prune(Graph *g);
/* Drops values that no node touches and that are no outputs, but not inputs; values get new ids. */
void graph_forget_unused(Graph *g);
/* One line per parameter, with its first content, and one per node. Reads like "x[4 6 16] =
 * contract(a, b) *k,nk->*n  #block". */
void graph_print(const Graph *g, FILE *to);
/* Appends " name=value" for each attribute of the node: what tells two nodes of one op apart. */
void graph_attrs_text(const Node *n, Text *to);
/* Checks every invariant that passes must keep; the error names the node. */
Error *graph_verify(const Graph *g);
const char *phase_name(Phase p);
#endif
