/* model_inspect.c - `modalities model inspect`: parameters, FLOPs and memory of a model, before any
 * run. */
#include "base/log.h"
#include "base/map.h"
#include "command.h"
#include "components.h"
#include "config/config.h"
#include "configurations.h"
#include "exec/rank_plan.h"
#include "models/loss.h"
#include "monitor/mfu.h"
#include "train/step_plan.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Options {
    const char *config_file_path;
    int64_t batch_size, sequence_length;
    int precision;
    bool kernels, graph;
    StringList set;
} Options;

enum { AS_CONFIGURED };
static const char *const precisions[] = { "as_configured", "f32", "bf16", "f64", NULL };
/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "YAML of a training, or with the component model_raw", .flags = FIELD_EXISTS),
    FIELD_INT(Options, batch_size, "0", 0, INFINITY, "sequences of a microbatch; 0: as the training's step profile says, else 1"),
    FIELD_INT(Options, sequence_length, "0", 0, INFINITY, "tokens of a sequence; 0: as the training's step profile says, else the model's longest"),
    FIELD_CHOICE(Options, precision, "as_configured", precisions, "of the computation"),
    FIELD_BOOL(Options, kernels, "false", "lists the kernel that every node gets, and marks what is slow for want of one"),
    FIELD_BOOL(Options, graph, "false", "prints the graph of a training step"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "overrides, a.b=value"),
    { 0 },
};
/* clang-format on */

/* "transformer.h.0.attn.q_attn.weight" belongs to the module "transformer.h.0.attn.q_attn". */
static Str module_of(const char *param)
{
    const char *dot = strrchr(param, '.');
    return (Str){ param, dot ? (size_t)(dot - param) : strlen(param) };
}

/* Blocks are alike: their numbers are joined, "transformer.h.*.attn". */
static Str without_numbers(Arena *a, Str name)
{
    char *out = arena_string_n(a, name.ptr, name.len), *to = out;
    for (const char *p = name.ptr, *end = name.ptr + name.len; p < end;) {
        bool starts_number = *p >= '0' && *p <= '9' && p > name.ptr && p[-1] == '.';
        if (!starts_number) {
            *to++ = *p++;
            continue;
        }
        *to++ = '*';
        while (p < end && *p >= '0' && *p <= '9') p++;
    }
    *to = 0;
    return str_of(out);
}

static void print_parameters(Arena *a, const Graph *g)
{
    Map *counts = map_new(a);
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        if (v->kind != VALUE_PARAM) continue;
        Str name = without_numbers(a, module_of(v->name));
        int64_t *n = map_get(counts, name);
        if (!n) map_set(counts, name, n = NEW(a, int64_t));
        *n += value_count(v);
    }
    printf("parameters\n");
    for (int64_t i = 0; i < counts->n; i++)
        printf("%16" PRId64 "  %s\n", *(int64_t *)counts->entry[i].value, counts->entry[i].key.ptr);
    printf("%16" PRId64 "  in all\n\n", graph_parameter_count(g));
}

/* A program of one rank, and what it is of. */
typedef struct Inspected {
    const Model *model;
    const Program *program;
    int64_t batch, sequence, microbatches;
    const char *what;
} Inspected;

/* Matrix products per token; attention counts its causal half. */
static void print_flops(Arena *a, const Inspected *x)
{
    const double tokens = (double)(x->batch * x->sequence * x->microbatches);
    const RankPlan plan = program_rank_plan(x->program, a);
    printf("FLOPs per trained token\n%16.4g  6N + 12 L s d\n%16.4g  matrix products of the "
           "graph\n\n",
           flops_per_token_palm(graph_parameter_count(program_graph(x->program)), x->model->n_layer,
                                x->sequence, x->model->width),
           plan.flops / tokens);
}

static void print(Arena *a, const Options *o, const Inspected *x)
{
    print_parameters(a, program_graph(x->program));
    print_flops(a, x);
    printf("memory of %s %" PRId64 " x %" PRId64 " tokens\n", x->what, x->batch, x->sequence);
    program_print_memory(x->program, stdout);
    if (o->kernels) program_print_kernels(x->program, stdout);
    if (o->graph) graph_print(program_graph(x->program), stdout);
}

static const Dtype *precision_of(const Options *o)
{
    static const Dtype dtypes[] = { F32, BF16, F64 };
    return o->precision == AS_CONFIGURED ? NULL : &dtypes[o->precision - 1];
}

static Error *inspect_model(Arena *a, const Options *o, const Model *m, Session *s)
{
    const Loss loss = loss_of_tokens("target_ids");
    Inspected x = { .model = m,
                    .batch = o->batch_size ? o->batch_size : 1,
                    .sequence = o->sequence_length ? o->sequence_length : m->sequence_length,
                    .microbatches = 1,
                    .what = "forward and backward of the model for" };
    Program *p;
    TRY(session_inspection_program(s, &loss, true, x.batch, x.sequence, &p));
    x.program = p;
    print(a, o, &x);
    return NULL;
}

static Error *run_model(Arena *a, const Options *o)
{
    void *model;
    Session *s;
    TRY(component_from_file(a, o->config_file_path, o->set, "model_raw", "model", &model));
    const SessionSettings settings = { .model = model,
                                       .precision = precision_of(o),
                                       .is_plan = true };
    TRY(session_new(&settings, &s));
    Error *e = inspect_model(a, o, model, s);
    session_free(s);
    return e;
}

/* As `run` would take it on this rank. */
static Error *run_training(Arena *a, const Options *o, const TrainingConfig *c, const Rank *rank)
{
    const Mesh mesh = training_mesh(c, rank);
    const StepPlanSettings settings = { .batch = o->batch_size,
                                        .sequence = o->sequence_length,
                                        .precision = precision_of(o) };
    StepPlan plan;
    Error *e = step_plan_new(a, c, &mesh, &settings, &plan);
    if (!e)
        print(a, o,
              &(Inspected){ .model = c->app_state->model,
                            .program = plan.program,
                            .batch = plan.step.samples,
                            .sequence = plan.sequence,
                            .microbatches = plan.step.n,
                            .what = mesh.world_size > 1
                                        ? "a training step on rank 0, in microbatches of"
                                        : "a training step, in microbatches of" });
    step_plan_free(&plan);
    return e;
}

static Error *read_training(Arena *a, const Options *o, const Rank *rank, TrainingConfig *out,
                            bool *is_training)
{
    const StepPlanSource source = { o->config_file_path, "experiments", o->set };
    Registry *registry;
    Yaml *root;
    TRY(components_registry(a, &registry));
    TRY(config_read(a, o->config_file_path, o->set, &root));
    const Configuration *kind = configuration_of(root);
    *is_training = kind && kind->keys == training_config_fields;
    return *is_training ? step_plan_read(a, registry, &source, rank, out, &root) : NULL;
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    TrainingConfig c = { 0 };
    Rank rank;
    bool is_training = false;
    TRY(rank_of_process(&rank));
    Error *e = read_training(a, o, &rank, &c, &is_training);
    if (!e && is_training) return run_training(a, o, &c, &rank);
    if (e && !is_training) return e;
    if (e)
        log_info("the training cannot be planned, so this is its model alone: %s", error_text(e));
    error_free(e);
    return run_model(a, o);
}

const Command command_model_inspect = {
    .group = "model",
    .name = "inspect",
    .doc = "Prints parameters per module, FLOPs per token and planned memory.",
    .details = "Of a training: what `run` would take for its step on this machine. Of a file with "
               "a model_raw alone: its forward and backward pass.",
    .examples = "modalities model inspect --config_file_path train.yaml --batch_size 8\n"
                "modalities model inspect --config_file_path train.yaml --precision bf16 --kernels",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
