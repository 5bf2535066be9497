/* nccl.h - groups of ranks whose memory is that of GPUs, through NCCL. */
#ifndef COMM_CUDA_NCCL_H
#define COMM_CUDA_NCCL_H
#include "comm/comm.h"
#include "device/cuda/cuda.h"

/* What a call was, for whoever waits for it. */
typedef struct NcclFlight {
    const char *op; /* "all_reduce", "send" ... */
    int64_t n;      /* elements; bytes of a message */
    Dtype dtype;
    int peer; /* of a message; -1: all */
    int64_t layer, step, sequence;
    const char *origin; /* of comm.h */
    int64_t n_nodes;
    double time;      /* when it was queued */
    cudaEvent_t done; /* recorded behind it */
    bool is_known;    /* to be done */
} NcclFlight;

/* Memory for a message that waits: for its receiver at the sender, or for its tag. */
typedef struct NcclRoom {
    struct NcclRoom *next;
    void *data;
    size_t bytes;     /* that it has */
    cudaEvent_t last; /* its last use */
    bool is_taken;
    int peer, tag; /* an early message: of whom, and its tag */
    size_t message;
} NcclRoom;

/* One direction between two ranks: NCCL's messages have no tags and wait for each other, so each
 * has a communicator and a queue of its own. */
typedef struct NcclLink {
    ncclComm_t nccl; /* NULL: not made */
    cudaStream_t queue;
} NcclLink;

enum { NCCL_FLIGHTS = 128 };

typedef struct NcclGroup {
    Comm comm;              /* first: what the caller holds */
    struct NcclGroup *next; /* of this device */
    Cuda *cuda;
    const CudaCalls *calls;
    Comm *host;          /* a group of the same ranks, for this one alone */
    bool is_of_caller;   /* it was made by Comm.group, which made the host's, too */
    ncclComm_t nccl;     /* of all; NULL: one rank */
    NcclLink *to, *from; /* by rank */
    NcclRoom *room;
    NcclRoom *early; /* messages that came before they were asked for, the first one first */
    struct Pending *idle;
    cudaEvent_t here;                /* a place in the caller's stream */
    NcclFlight flight[NCCL_FLIGHTS]; /* the last ones, by sequence */
    int64_t n_flights;
    double last_news; /* when a flight was last seen to end */
    bool is_dead;     /* after an abort */
} NcclGroup;

/* Makes groups on this GPU possible. */
void nccl_offer(Cuda *d);

static inline NcclGroup *nccl_of(Comm *c)
{
    return (NcclGroup *)c;
}

static inline cudaStream_t nccl_queue(const struct Stream *s)
{
    return cuda_stream_of(s)->queue;
}

/* Error of a call, with what the group does and where. `status` may be "in progress", which is
 * waited for on `c`. */
Error *nccl_check(NcclGroup *g, ncclComm_t c, ncclResult_t status, const char *op);
Error *nccl_cuda(const NcclGroup *g, cudaError_t status);
/* The end of the job as an error of `op`; NULL: it goes on. */
Error *nccl_ended(NcclGroup *g, const char *op);

/* nccl_flight.c: notes that `op` was queued. */
Error *nccl_note(NcclGroup *g, cudaStream_t queue, const char *op, int64_t n, Dtype t, int peer);
Error *nccl_watch(Cuda *d);
/* Ends everything that is queued, here and at the other ranks. */
void nccl_abort_all(Cuda *d, const char *why);

/* nccl_collective.c */
Error *nccl_all_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, struct Stream *s);
Error *nccl_all_gather(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                       struct Stream *s);
Error *nccl_reduce_scatter(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                           ReduceOp op, struct Stream *s);
Error *nccl_all_to_all(Comm *c, const void *in, const int64_t *send, void *out,
                       const int64_t *receive, Dtype t, struct Stream *s);
Error *nccl_broadcast(Comm *c, void *data, size_t bytes, int root, struct Stream *s);

/* nccl_messages.c */
Error *nccl_exchange(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                     int n_receives, struct Stream *s);
struct Pending *nccl_start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                           int n_receives, struct Stream *s);
Error *nccl_finish(Comm *c, struct Pending *p, struct Stream *s);
void nccl_free_messages(NcclGroup *g);
#endif
