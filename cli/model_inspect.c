/* model_inspect.c - `modalities model inspect`: parameters, FLOPs and memory of a model, before any
 * run. */
#include "base/map.h"
#include "command.h"
#include "components.h"
#include "exec/cost.h"
#include "models/loss.h"
#include "monitor/mfu.h"
#include "train/session.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Options {
    const char *config_file_path;
    int64_t batch_size;
    const int64_t *sequence_length;
    int precision;
    bool kernels, graph;
    StringList set;
} Options;

static const char *const precisions[] = { "f32", "bf16", "f64", NULL };
/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "YAML with the component model_raw", .flags = FIELD_EXISTS),
    FIELD_INT(Options, batch_size, "1", 1, INFINITY, "sequences of a microbatch"),
    FIELD_INT(Options, sequence_length, "null", 1, INFINITY, "tokens of a sequence; null: the model's longest"),
    FIELD_CHOICE(Options, precision, "f32", precisions, "of the computation"),
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

/* Matrix products of the training graph, per token; attention counts its causal half. */
static double graph_flops(const Graph *g)
{
    double flops = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) flops += node_flops(g->node[i]);
    return flops;
}

static void print_flops(const Model *m, const Graph *g, int64_t batch, int64_t sequence)
{
    double tokens = (double)batch * (double)sequence;
    printf(
        "FLOPs per trained token\n%16.4g  6N + 12 L s d\n%16.4g  matrix products of the graph\n\n",
        flops_per_token_palm(graph_parameter_count(g), m->n_layer, sequence, m->width),
        graph_flops(g) / tokens);
}

static Error *inspect(Arena *a, const Options *o, const Model *m, Session *s)
{
    int64_t sequence = o->sequence_length ? *o->sequence_length : m->sequence_length;
    const Loss loss = loss_of_tokens("target_ids");
    Program *p;
    TRY(session_inspection_program(s, &loss, true, o->batch_size, sequence, &p));
    print_parameters(a, program_graph(p));
    print_flops(m, program_graph(p), o->batch_size, sequence);
    printf("memory of forward and backward for %" PRId64 " x %" PRId64 " tokens\n", o->batch_size,
           sequence);
    program_print_memory(p, stdout);
    if (o->kernels) program_print_kernels(p, stdout);
    if (o->graph) graph_print(program_graph(p), stdout);
    return NULL;
}

static Error *run(Arena *a, const void *from)
{
    static const Dtype dtypes[] = { F32, BF16, F64 };
    const Options *o = from;
    void *model;
    TRY(component_from_file(a, o->config_file_path, o->set, "model_raw", "model", &model));
    SessionSettings settings = { .model = model, .precision = &dtypes[o->precision] };
    Session *s;
    TRY(session_new(&settings, &s));
    Error *e = inspect(a, o, model, s);
    session_free(s);
    return e;
}

const Command command_model_inspect = {
    .group = "model",
    .name = "inspect",
    .doc = "Prints parameters per module, FLOPs per token and planned memory.",
    .examples = "modalities model inspect --config_file_path train.yaml --batch_size 8\n"
                "modalities model inspect --config_file_path train.yaml --precision bf16 --kernels",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
