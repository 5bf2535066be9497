/* op.h - all that is known of an op, in one struct. NULL or 0 always means: the safe default. */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H
#include "config/field.h"
#include "device/device.h"
#include "graph/graph.h"

enum {
    OP_MATMUL = 1,      /* FLOPs are twice the product of all letters */
    OP_LINEAR = 2,      /* may be applied to partial sums */
    OP_RANDOM = 4,      /* depends on the seed: never merged, recomputed with the same key */
    OP_ADDS = 8,        /* results may be added to what is there: Launch.add */
    OP_VIEW = 16,       /* the result is the input's memory, or a part of it, under another shape */
    OP_COMM = 32,       /* moves data between ranks */
    OP_SUM = 64,        /* adds up activations, as the residual stream does */
    OP_ATTENTION = 128, /* softmax(q k^T) v: dear to compute again */
    OP_ROWS = 256, /* has rows in an order of this rank's own, so that they cannot be joined with
                      those of other ranks, nor be divided among them */
    OP_COPY = 512, /* its bytes are copied by the device itself, from or to host memory */
};

typedef struct OpDef {
    const char *name, *doc;
    const char *dims;   /* "*d!,d->*d"; NULL: each node brings its own */
    const char *halves; /* of an update: the dims with the low half of a parameter as the last input
                           and result; the high half is the first. NULL: it cannot have them */
    const Field *attrs; /* rows of the attribute struct; NULL: none */
    size_t attrs_size;
    /* Dtypes of the results; NULL: that of the first float input. */
    void (*dtypes)(const Node *n, Dtype *out);
    /* Appends gradient nodes: din[k] for every input that needs one, from dout[k] of every result
     * (NULL where nothing flows back). NULL: the gradient stops here. */
    void (*grad)(Graph *g, const Node *n, Value *const *dout, Value **din);
    int64_t (*flops)(const Node *n); /* NULL: from dims if OP_MATMUL, else 0 */
    /* OP_VIEW: the element of the input at which the result begins; NULL: its first. */
    int64_t (*offset)(const Node *n);
    /* The truth for every other kernel, in double precision: it sees all floats as F64 and all
     * integers as I32, never has to add (Launch.add), and uses no threads. run_reference converts
     * around it, so one source serves every mix of dtypes. Where OP_COMM is set it is the kernel of
     * all devices, by ops/moves.h, and sees the tensors as they are; where it computes, too
     * (flops), only of those whose memory is the host's. */
    Kernel *reference;
    size_t (*scratch)(const Launch *l); /* OP_COMM: bytes that the kernel needs; NULL: none */
    double (*sent)(const Launch *l);    /* bytes that this rank sends; NULL: none */
    /* OP_COMM: sets the splits of results from those that the inputs have when the shard pass comes
     * by; NULL: whoever appends the node has set them. */
    void (*spread)(const Node *n);
    /* Results, as bits, that the kernel itself completes over Node.axes: the axes along which a
     * letter that such a result lacks is split. */
    unsigned completes;
    unsigned flags;
} OpDef;

/* FLOPs of a node: what the op says, twice its volume for a product, else 0. */
double node_flops(const Node *n);

#endif
