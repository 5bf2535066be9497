/* program.h - a graph made ready to run on one rank: kernels chosen, memory placed for all
 * microbatches in flight, launches fixed. */
#ifndef EXEC_PROGRAM_H
#define EXEC_PROGRAM_H
#include "comm/groups.h"
#include "exec/plan_memory.h"
#include "exec/schedule.h"
#include "exec/store.h"

typedef struct Program Program;

typedef struct ProgramSettings {
    Device *device;
    ParamStore *store;
    CpuLevel level;           /* highest instruction set to use */
    bool reference_only;      /* reference kernels everywhere */
    const char *name;         /* "train", "evaluate" ...: for messages */
    Groups *groups;           /* of the graph's mesh; NULL: one rank */
    bool is_plan;             /* memory is planned only, and nothing can run */
    size_t memory;            /* bytes that store and programs may take; 0: what is free */
    const Schedule *schedule; /* the actions of a step, which come in this order; NULL: of one
                                 microbatch through all stages.
                                 Used while the program is made only */
} ProgramSettings;

/* Adds to the store what the graph needs and places the rest in the store's workspace. Refused with
 * the map and the cheapest remedies when free memory does not suffice. The graph must stay. Free
 * with program_free. */
Error *program_new(Graph *g, const ProgramSettings *settings, Program **out);
void program_free(Program *p);

/* An input or output of a microbatch, in device memory; NULL if there is none. Programs of one
 * store overlay each other, so it holds only until another program is made or run; an output until
 * the next action. */
const Tensor *program_input(Program *p, const char *name, int64_t microbatch);
const Tensor *program_output(Program *p, const char *name, int64_t microbatch);
/* Queues a copy of `data`, of the input's dtype and sizes in the whole, of which a rank takes its
 * part; it must stay until program_wait. */
Error *program_write(Program *p, const char *input, int64_t microbatch, const void *data);
/* Waits, and copies an output to `data`. */
Error *program_read(Program *p, const char *output, int64_t microbatch, void *data);

/* Queues all nodes of the action's phases and stage in order; PREPARE nodes run by themselves when
 * parameters have changed, BACKWARD_LAST
 * with the last BACKWARD_WEIGHT of its stage. UPDATE marks the parameters as changed. `now` is
 * copied; its microbatch is the action's. Failures of kernels are told here or by program_wait. */
Error *program_run(Program *p, const Action *x, const RunTime *now);
/* Around the actions of a whole step that has the same ones every time, with RunTime.is_gated:
 * where the device can, the second such step is recorded, and the later ones are given to it in
 * one. The actions take effect at the end. *again: they could not be recorded, and have to be run
 * once more. */
Error *program_begin_step(Program *p);
Error *program_end_step(Program *p, Error *failed, bool *again);
/* Waits until all that was queued is done, but for what the next step begins with: that is under
 * way, and store_settle waits for it. */
Error *program_wait(Program *p);
/* Runs phases of a program without a schedule, stage after stage, and waits. */
Error *program_run_phases(Program *p, unsigned phases, const RunTime *now);
/* Whether this rank computes a scalar output of this name. */
bool program_has_scalar(const Program *p, const char *name);
/* Whether an update with RunTime.is_gated is left out on the device itself where a loss or the norm
 * is not finite. */
bool program_can_gate(const Program *p);
/* Whether a gated step may be given to the device before the host has heard of the one before. */
bool program_can_go_ahead(const Program *p);
/* Waits until the last gated step is done, or the one before it, while the last goes on. Its
 * scalars and its verdict are known then; errors of its kernels are program_wait's. */
Error *program_reach(Program *p, bool before_last);
/* Whether the update was left out, after program_wait or program_reach. */
bool program_left_out(const Program *p);
/* What it was, after program_wait or program_reach: of each microbatch of the step, or (microbatch
 * 0) of the step. NAN where there is none. */
double program_scalar(const Program *p, const char *name, int64_t microbatch);

/* Where the first value comes from that is not finite. */
typedef struct NonfinitePlace {
    const char *text; /* a parameter or input, or op, block, phase and parameter of a node; NULL:
                         all are finite */
    int64_t node;     /* its place in the order of the action; 0: before the first */
} NonfinitePlace;

/* Runs the action again, to its end, node by node. Gradients must be cleared before. */
Error *program_find_nonfinite(Program *p, const Action *x, const RunTime *now, NonfinitePlace *out,
                              Arena *a);

/* Called after each node, which is waited for; its error ends the run. NULL: none. */
typedef Error *NodeHook(void *ctx, const Node *n, const Launch *l, double seconds);
void program_set_hook(Program *p, NodeHook *hook, void *ctx);

/* A node that has run, or, with is_wait, one of another stream for which the computation waited. */
typedef struct NodeTime {
    const Node *node;
    const Launch *launch;
    const RunTime *now;
    double begin, seconds; /* by clock_seconds() */
    bool is_wait;
} NodeTime;
/* Called of each node some time after it has run, when its tensors may hold other things: streams
 * go on beside each other as without it. For devices that program_keeps_times. */
typedef Error *NodeTimes(void *ctx, const NodeTime *x);
void program_set_times(Program *p, NodeTimes *told, void *ctx);
/* The host's memory, or one that keeps times itself. */
bool program_keeps_times(const Device *d);

/* Bytes of the workspace that the program uses. */
size_t program_bytes(const Program *p);
const Graph *program_graph(const Program *p);
/* The memory map: parameters, states, gradients, derived, activations at the peak. */
void program_print_memory(const Program *p, FILE *to);
/* What the device takes itself, and other programs of its memory: nothing for the host. */
void program_print_own(const Program *p, FILE *to);
/* The n largest activations of those that exist together when they need most, a line each. */
void program_print_largest(const Program *p, int n, FILE *to);
/* The plan as JSON: {"moments": [...], "tensors": [{name, module, kind, bytes, spans}], "stored":
 * [...]}; for pages that draw it. */
void program_memory_json(const Program *p, Text *out);
/* The same as an overview: bytes by kind (activations, gradients, scratch, inputs) in at most 240
 * columns over the time of a step, layers at the peak, what is kept between steps. */
void program_memory_outline(const Program *p, Text *out);
/* One line per node: op, kernel ("avx512", "reference"), shapes; those of program_slow_ops marked.
 */
void program_print_kernels(const Program *p, FILE *to);
/* The ops without a tuned kernel, or with one that is plain, that by plan take over 2 % of a step
 * of so many microbatches, each with its share: "rope (reference kernel, about 31 % of a step)";
 * NULL: none does. */
const char *program_slow_ops(const Program *p, int64_t microbatches, Arena *a);
#endif
