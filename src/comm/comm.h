/* comm.h - a group of ranks, and what they do together.
 *
 * Every member makes the same calls on a group in the same order. A call comes in the order of its
 * stream; on CPUs it is done on return. Groups are independent of each other: several may be in use
 * at once, each by one thread at a time. Sums of F32, BF16 and F16 are made in F32, in F64 for F64,
 * in the order of the ranks, so that all members get the same bits in every run. */
#ifndef COMM_COMM_H
#define COMM_COMM_H
#include "base/error.h"
#include "tensor/dtype.h"
#include <stddef.h>
#include <stdint.h>

struct Stream;

typedef enum ReduceOp { REDUCE_SUM, REDUCE_MAX } ReduceOp;

/* One message of an exchange. Messages between two ranks meet by their tags, not by their order. */
typedef struct Transfer {
    int peer; /* rank in the group; the own one is allowed */
    int tag;  /* at least 0, below COMM_MAX_TAG */
    void *data;
    size_t bytes; /* the same at both ends */
} Transfer;

enum { COMM_MAX_TAG = 1 << 20 };

typedef struct Comm Comm;
struct Comm {
    const char *transport; /* "self", "threads", "mpi", "delayed" */
    int rank, size;
    /* The caller's, for errors about the calls that follow: what the group is for ("dp_shard",
     * "pp"), the layer and the step of the call; -1: not known. */
    const char *label;
    int64_t layer, step;
    const char *origin; /* which node of a graph makes the call, and where it was asked for: "reduce
                           in lm_head (backward), src/passes/x.c:12"; NULL: none does */
    int64_t n_nodes;    /* that have used the group until then, with this one */
    double timeout;     /* seconds that a call waits for another rank; groups take it over */
    Error *error;       /* of the last call that a kernel made; taken by whoever runs the kernels */
    /* data[i] becomes the reduction over all ranks. In place. */
    Error *(*all_reduce)(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, struct Stream *s);
    /* `out` becomes the parts of all ranks, one after the other; counts[r] elements of rank r. `in`
     * may be this rank's place in `out`. */
    Error *(*all_gather)(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                         struct Stream *s);
    /* `in` holds a part for each rank, counts[r] elements for rank r; `out` becomes the reduction
     * of all parts for this rank. It may be this rank's place in `in`. */
    Error *(*reduce_scatter)(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                             ReduceOp op, struct Stream *s);
    /* send[r] elements go to rank r, receive[r] come from it; both packed in the order of ranks. */
    Error *(*all_to_all)(Comm *c, const void *in, const int64_t *send, void *out,
                         const int64_t *receive, Dtype t, struct Stream *s);
    Error *(*broadcast)(Comm *c, void *data, size_t bytes, int root, struct Stream *s);
    /* All messages at once; cannot deadlock where each has its counterpart. On return what was sent
     * may be overwritten: a message nobody waits for yet is copied. */
    Error *(*exchange)(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                       int n_receives, struct Stream *s);
    /* The same in two halves, between which the caller works: what is sent must stay as it is, and
     * what is received is there, when `finish` returns. Several may be under way, and end in any
     * order, by the thread that began them; each has to be finished, also after an error, which
     * `finish` tells. The lists of transfers need not stay. */
    struct Pending *(*start)(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                             int n_receives, struct Stream *s);
    Error *(*finish)(Comm *c, struct Pending *p, struct Stream *s);
    /* A group of some ranks of this one, in the order given; called by these ranks only. The same
     * ranks may have several groups, told apart by `key` (at least 0). */
    Error *(*group)(Comm *c, const int *ranks, int n, int key, Comm **out);
    /* Every call that waits on this group, or on any group of the job, returns an error with this
     * text, on all ranks, now and later. May be called by any thread. */
    void (*abort)(Comm *c, const char *why);
    /* The abort as an error of a call `op` that it ends; NULL: the job goes on. */
    Error *(*ended)(Comm *c, const char *op);
    /* Of the whole job last. Every member frees its own. */
    void (*free)(Comm *c);
};

enum { COMM_TIMEOUT = 600 }; /* of a Comm whose timeout nobody has set */

#endif
