/* program_parts.h - what a program is made of; for the files of exec that run and print it. */
#ifndef EXEC_PROGRAM_PARTS_H
#define EXEC_PROGRAM_PARTS_H
#include "exec/program.h"
#include "ops/kernels.h"

/* One node, ready to run. */
typedef struct Step {
    const Node *node;
    const KernelDef *tuned; /* NULL: the reference */
    Kernel *kernel;
    Launch *launch;  /* one per slot, or one where the node is of no microbatch */
    Stored *derived; /* PREPARE: what it makes */
    int64_t *wait;   /* steps on other streams whose results it uses */
    int64_t n_waits;
    StreamMark done; /* marked when a step of another stream waits for it */
    bool is_awaited;
    struct Stretch *stretch; /* those that begin here (program_stretches.c) */
} Step;

/* An output that is a scalar: its values in a step are kept, to be read together. */
typedef struct Reading {
    const char *name;
    const Value *value;
} Reading;

typedef struct TimeNotes TimeNotes;

struct Program {
    Arena *arena;
    ProgramSettings settings;
    Graph *graph;
    Timeline *timeline;
    int64_t n_microbatches;
    int64_t
        *last; /* by stage: the microbatch whose backward pass is the last of a step; -1: none */
    int n_last;
    Tensor *tensor; /* [slot][value id]; slot n_slots: what is of no microbatch */
    Step *step;
    int64_t n_steps;
    Stream **stream; /* by Node.stream */
    int n_streams;
    const Step *given[N_STREAMS]; /* what each was given last; NULL: the computation joined it */
    /* What the next step begins with may begin while this one updates (program_ahead.c). */
    int64_t *ahead_after; /* by step of PREPARE: the update it comes after, -1: none; NULL: nothing
                             begins ahead */
    bool is_ahead;        /* streams have work of the next step that nobody joined */
    MemoryPlan *plan;
    char *block, *host_block; /* the workspace; memory of the host for values that lie there */
    /* Of two steps that may be under way at once, each has what it copies from and to on the host:
     * this is the place of the present one. */
    int turn;
    RunTime *now[2];   /* host: by microbatch, then of the step; stays while copies are under way */
    RunTime *slot_now; /* device: by slot */
    Reading *reading;
    int n_readings;
    /* Device and host: [reading][microbatch], each in the value's own dtype; then, where a device
     * gates updates, whether the last one was left out. */
    double *cell, *read[2];
    const double *shown; /* what was read; NULL: something was queued since */
    StreamMark end[2];   /* of a gated step, when it was read */
    void **sent[2];      /* [microbatch][value id]: memory for copies of what program_write got */
    /* A whole step as the device keeps it (program_record.c). */
    void *recording[2]; /* NULL: there is none */
    bool is_recording, is_replaying, cannot_record;
    bool has_stepped; /* all that is made when it is needed first is there */
    NodeHook *hook;
    void *hook_ctx;
    TimeNotes *times; /* NULL: nobody wants to know them */
};

/* How many cells there are. */
int64_t program_cells(const Program *p);
/* The slot of an action's values. */
int program_slot(const Program *p, const Action *x);
/* Makes the workspace's present place known to all launches. */
void program_settle(Program *p);
/* Forgets the recorded step. */
void program_forget_step(Program *p);
/* An action, and if it is the last backward pass of its stage, what waits for its gradients. */
Action program_with_last(const Program *p, const Action *x);
/* Whether a step belongs to an action. */
bool program_is_due(const Step *s, const Action *x);
/* Hands the device what an action's kernels read from RunTime. */
Error *program_set_now(Program *p, const Action *x, const RunTime *now);
/* What keeps a stream until the step may begin there; the step alone. */
Error *program_wait_for_others(Program *p, const Step *s, int slot);
Error *program_start_step(Program *p, const Step *s, int slot);
/* Whether the device keeps work that is given to it again and again. */
bool program_can_record(const Program *p);
/* Whether parts of the action's work are given in one: where ranks talk between them. Where the one
 * ends that begins with step `first`, which is due (first + 1: it is none); queuing it. */
typedef struct Stretch Stretch;
bool stretches_are_wanted(const Program *p);
int64_t stretch_end(const Program *p, const Action *x, int64_t first);
Error *stretch_run(Program *p, const Action *x, int slot, int64_t first, int64_t end);
void stretches_forget(Program *p);
/* Queues one step, or PREPARE's steps if they are due. */
Error *program_run_step(Program *p, Step *s, int slot);
Error *program_prepare(Program *p);
Launch *step_launch(const Step *s, int slot);
/* What failed on a stream that has been waited for. */
Error *program_failure(Program *p, Stream *s);
/* Finds what may begin ahead; runs an update with it; and says, when the parameters count as
 * changed, that it was made of the new ones, and later that the computation has joined it. */
void ahead_find(Program *p);
Error *ahead_update(Program *p, const Action *x, int slot);
void ahead_made(Program *p);
void ahead_joined(Program *p);
/* What a planned block is for, and what is kept between steps: "parameter", "optimizer state". */
typedef enum { BLOCK_ACTIVATION, BLOCK_GRADIENT, BLOCK_SCRATCH, BLOCK_INPUT } BlockKind;
BlockKind block_kind(const Block *b);
const char *stored_kind(const Stored *s);
/* "backward_input, backward_weight": the phases of a moment. */
void moment_put_name(const Moment *m, Text *out);
/* "op in block 3 (forward)". */
const char *step_place(Arena *a, const Step *s);
/* Whether a node runs once per microbatch, rather than once per step. */
bool node_is_of_microbatch(const Node *n);
/* The tensor of a value in a slot. */
Tensor *program_tensor(const Program *p, int slot, const Value *v);
#endif
