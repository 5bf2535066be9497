/* update_run.h - the end of a training step alone: gradients in, norm, clipping and update. */
#ifndef TESTS_GOLDEN_UPDATE_RUN_H
#define TESTS_GOLDEN_UPDATE_RUN_H
#include "checkpoint/safetensors.h"
#include "exec/program.h"
#include "passes/all_passes.h"
#include "passes/optimize.h"

typedef struct UpdateRun {
    Arena *arena;
    Device *device;
    ParamStore *store;
    Graph *graph;
    Program *program;
} UpdateRun;

/* A program with one parameter, zero at first, for each tensor of the file whose name is `prefix`
 * and the parameter's name. */
UpdateRun *update_run_new(Arena *a, const Safetensors *f, const char *prefix, const Optimize *o,
                          bool reference_only);
void update_run_free(UpdateRun *u);
/* Copies the file's tensors named `from` + p into the store's named `to` + p, for all parameters p.
 */
void update_run_set(UpdateRun *u, const char *to, const Safetensors *f, const char *from);
/* One step: its number (from 0) and rate. Returns the norm. */
double update_run_step(UpdateRun *u, int64_t step, double lr);
/* Number of parameters, and their names. */
int64_t update_run_count(const UpdateRun *u);
const Value *update_run_param(const UpdateRun *u, int64_t i);
/* "exp_avg." and the name: a tensor of the store. */
const Tensor *update_run_tensor(const UpdateRun *u, const char *prefix, const char *param);
#endif
