/* threads.h - what the parts of the transport between threads share. */
#ifndef COMM_THREADS_H
#define COMM_THREADS_H
#include "base/arena.h"
#include "base/buffer.h"
#include "comm/comm.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* All ranks of a job. */
typedef struct World {
    pthread_mutex_t lock; /* of what follows; taken before that of a group */
    struct Group *groups; /* all that are in use */
    char *why;            /* of the abort */
    _Atomic bool is_aborted;
    bool has_cores;               /* one for each rank */
    const struct CommLink *links; /* transport "delayed"; else none */
    int n_links;
} World;

/* What a member brings to a collective call. */
typedef struct Call {
    const char *op; /* "all_reduce" ... */
    Dtype dtype;
    ReduceOp reduce;
    int root;
    int64_t n; /* elements, or bytes of a broadcast */
    const int64_t *counts;
    const void *in;
    void *out;
    const int64_t *send, *receive; /* all_to_all: instead of counts */
} Call;

typedef struct Group Group;

typedef struct Member {
    Comm comm; /* first: what the caller holds */
    Group *group;
    bool is_joined;
    Call call;
    int64_t n_gates;        /* that it has come to */
    pthread_cond_t changed; /* something happened to its messages */
    Buffer scratch;         /* of one call */
    struct Pending *idle;   /* room for exchanges */
    double *busy;           /* delayed: until when its messages to each member take */
} Member;

struct Group {
    Group *next, *before;
    World *world;
    Arena *arena;
    const Group *parent;
    int size, key, n_joined, n_freed;
    int *rank; /* in the world, by rank in the group */
    Member *member;
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t opened; /* the gate */
    int n_arrived;
    double opened_at;            /* the gate, for the last time */
    _Atomic unsigned generation; /* of the gate */
    _Atomic int n_reading;       /* members that read or write memory of others */
    struct Message *message, *unused;
    struct Want *wanted;
};

/* What a member can do. */
extern const Comm threads_calls;
/* threads_groups.c: Comm.group and Comm.free. */
Error *threads_group(Comm *c, const int *ranks, int n, int key, Comm **out);
void threads_free(Comm *c);
/* The abort as an error of a call of this member, or NULL. */
Error *member_error(const Member *me, const char *op);
/* Aborts with a text about a rank that member `me` has waited for too long. */
void member_give_up(const Member *me, int missing);
/* When a wait that begins now is too long; for pthread_cond_timedwait on these conditions. */
struct timespec member_deadline(const Member *me);
/* A condition on the clock that never jumps. */
void condition_init(pthread_cond_t *c);

Error *threads_exchange(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                        int n_receives, struct Stream *s);
struct Pending *threads_start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                              int n_receives, struct Stream *s);
Error *threads_finish(Comm *c, struct Pending *p, struct Stream *s);
/* delayed.c: when the call that all have come to is done over its link; the member waits for it. */
void delay_call(const Member *me);
/* When a message that is sent now has arrived; 0: at once. The lock of the group is held. */
double delay_message(const Member *me, const Transfer *t);
void delay_until(const Member *me, double time);

/* Frees the messages that nobody received, and room. */
void threads_free_messages(Group *g);

#endif
