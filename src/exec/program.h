/* program.h - a graph made ready to run on one rank: kernels chosen, memory placed, launches fixed.
 */
#ifndef EXEC_PROGRAM_H
#define EXEC_PROGRAM_H
#include "exec/store.h"
#include "passes/plan_memory.h"

typedef struct Program Program;

typedef struct ProgramSettings {
    Device *device;
    ParamStore *store;
    CpuLevel level;      /* highest instruction set to use */
    bool reference_only; /* reference kernels everywhere */
    const char *name;    /* "train", "evaluate" ...: for messages */
} ProgramSettings;

/* Adds to the store what the graph needs and places the rest in the store's workspace. Refused with
 * the map and the cheapest remedies when free memory does not suffice. The graph must stay. Free
 * with program_free. */
Error *program_new(Graph *g, const ProgramSettings *settings, Program **out);
void program_free(Program *p);

/* The memory of an input (write before running) or output (read after); NULL if there is none.
 * Programs of one store overlay each other, so both hold only until another program is made or run.
 */
Tensor *program_input(Program *p, const char *name);
const Tensor *program_output(Program *p, const char *name);
/* An output that is a scalar, as double. */
double program_scalar(Program *p, const char *name);

/* Runs all nodes of the phases in the set (bit mask of 1 << Phase) in order; PREPARE nodes run by
 * themselves when parameters have changed. UPDATE marks the parameters as changed. */
Error *program_run(Program *p, unsigned phases, const RunTime *now);

/* Where the first value comes from that is not finite when the phases are run again: a parameter or
 * input, or op, block, phase and parameter of a node; NULL when all are finite. Gradients must be
 * cleared before. */
Error *program_find_nonfinite(Program *p, unsigned phases, const RunTime *now, const char **found,
                              Arena *a);

/* Called after each node; for --trace and --check. NULL: none. */
typedef void NodeHook(void *ctx, const Node *n, const Launch *l, double seconds);
void program_set_hook(Program *p, NodeHook *hook, void *ctx);

/* Bytes of the workspace that the program uses. */
size_t program_bytes(const Program *p);
const Graph *program_graph(const Program *p);
/* The memory map: parameters, states, gradients, derived, activations at the peak. */
void program_print_memory(const Program *p, FILE *to);
/* One line per node: op, kernel ("avx512", "reference"), shapes; those of program_slow_ops marked.
 */
void program_print_kernels(const Program *p, FILE *to);
/* The ops without a tuned kernel that by plan take over 2 % of a step of so many microbatches, each
 * with its share: "rope (reference kernel, about 31 % of a step)"; NULL: none does. */
const char *program_slow_ops(const Program *p, int64_t microbatches, Arena *a);
#endif
