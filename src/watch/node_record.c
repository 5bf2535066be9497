/* node_record.c - writes a node with its inputs to a file, and runs it again from there. */
#include "watch/node_record.h"
#include "base/thread.h"
#include "checkpoint/safetensors.h"
#include "ops/all_ops.h"
#include "ops/kernels.h"
#include "ops/reference.h"
#include "watch/tensor_stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put(Map *m, const char *key, const char *value)
{
    map_set(m, str_of(key), (void *)value);
}

Error *node_record_write(Arena *a, const NodeRun *x, const char *path)
{
    const Launch *l = x->launch;
    const int n = l->n_in + l->n_out;
    NamedTensor *t = NEW_N(a, NamedTensor, n);
    Map *about = map_new(a);
    SafetensorsWriter *w;
    for (int k = 0; k < n; k++) {
        bool is_in = k < l->n_in;
        int i = is_in ? k : k - l->n_in;
        t[k].name = arena_printf(a, is_in ? "in.%d" : "out.%d", i);
        TRY(node_tensor(x, is_in ? &l->in[i] : &l->out[i], a, &t[k].tensor));
    }
    put(about, "op", x->node->op->name);
    put(about, "dims", x->node->dims->text);
    put(about, "attrs", node_attrs(a, x->node));
    put(about, "place", node_place(a, x->node));
    put(about, "step", arena_printf(a, "%lld", (long long)x->now->step));
    put(about, "updates", arena_printf(a, "%lld", (long long)x->now->updates));
    put(about, "microbatch", arena_printf(a, "%lld", (long long)x->now->microbatch));
    put(about, "position", arena_printf(a, "%lld", (long long)x->now->position));
    for (int i = 0; i < MAX_RATES; i++)
        put(about, arena_printf(a, "lr.%d", i), arena_printf(a, "%.17g", x->now->rate[i].lr));
    put(about, "loss_scale", arena_printf(a, "%.17g", x->now->loss_scale));
    put(about, "seed", arena_printf(a, "%llu", (unsigned long long)x->now->seed));
    put(about, "rank", arena_printf(a, "%lld", (long long)x->rank));
    TRY(safetensors_create(a, path, t, n, about, &w));
    for (int k = 0; k < n; k++) {
        Error *e = safetensors_put(w, k, t[k].tensor.data, tensor_bytes(&t[k].tensor));
        if (!e) continue;
        safetensors_abandon(w);
        return e;
    }
    return safetensors_commit(w);
}

/* ---- again ---- */

typedef struct Replay {
    Arena *arena;
    const Safetensors *file;
    const OpDef *op;
    RunTime now;
    Stream stream;
    Launch launch;
    Tensor *recorded; /* the results as the file has them */
} Replay;

static const char *about(const Replay *r, const char *key)
{
    const char *text = map_get(r->file->metadata, str_of(key));
    return text ? text : "";
}

static int count(const Safetensors *f, const char *what)
{
    int n = 0;
    char name[32];
    while (snprintf(name, sizeof name, "%s.%d", what, n), safetensors_find(f, name)) n++;
    return n;
}

static Tensor *take(Replay *r, const char *what, int n)
{
    Tensor *t = NEW_N(r->arena, Tensor, n);
    for (int k = 0; k < n; k++) {
        t[k] = *safetensors_find(r->file, arena_printf(r->arena, "%s.%d", what, k));
        t[k].data = arena_copy(r->arena, t[k].data, tensor_bytes(&t[k]));
    }
    return t;
}

static Error *read_attrs(Replay *r)
{
    Yaml *tree;
    if (!r->op->attrs_size) return NULL;
    void *attrs = arena_alloc(r->arena, r->op->attrs_size);
    TRY(yaml_parse(r->arena, str_of(about(r, "attrs")), r->file->path, &tree));
    TRY(fields_read(r->op->attrs, tree, r->arena, attrs));
    r->launch.attrs = attrs;
    return NULL;
}

static Error *open_record(Replay *r, const char *path)
{
    Safetensors *f;
    TRY(safetensors_open(r->arena, path, &f));
    r->file = f;
    if (!f->metadata || !*about(r, "op") || !*about(r, "dims"))
        return error_new("%s holds no recorded node", path);
    r->op = op_find(about(r, "op"));
    if (!r->op) return error_new("%s: there is no op \"%s\"", path, about(r, "op"));
    Launch *l = &r->launch;
    l->op = r->op;
    l->n_in = count(f, "in");
    l->n_out = count(f, "out");
    if (!l->n_in || !l->n_out) return error_new("%s: inputs or results are missing", path);
    l->in = take(r, "in", l->n_in);
    l->out = take(r, "out", l->n_out);
    r->recorded = take(r, "out", l->n_out);
    TRY(read_attrs(r));
    Shape *shape = NEW_N(r->arena, Shape, l->n_in);
    for (int k = 0; k < l->n_in; k++) {
        shape[k].n_dims = l->in[k].n_dims;
        memcpy(shape[k].size, l->in[k].size, sizeof shape[k].size);
    }
    int64_t slot_size[N_SLOTS];
    TRY(error_wrap(dims_parse(r->arena, about(r, "dims"), l->n_in, shape, &l->dims), "%s", path));
    TRY(error_wrap(dims_bind(l->dims, shape, NULL, slot_size), "%s", path));
    for (int k = 0; k < l->n_out; k++) {
        const Shape s = dims_shape(&l->dims->out[k < l->dims->n_out ? k : 0], slot_size);
        bool fits = k < l->dims->n_out && s.n_dims == l->out[k].n_dims;
        for (int d = 0; fits && d < s.n_dims; d++) fits = s.size[d] == l->out[k].size[d];
        if (!fits) return error_new("%s: result %d has not the sizes of its op", path, k);
    }
    r->now = (RunTime){ .step = atoll(about(r, "step")),
                        .updates = atoll(about(r, "updates")),
                        .microbatch = atoll(about(r, "microbatch")),
                        .position = atoll(about(r, "position")),
                        .loss_scale = atof(about(r, "loss_scale")),
                        .seed = strtoull(about(r, "seed"), NULL, 10) };
    for (int i = 0; i < MAX_RATES; i++)
        r->now.rate[i].lr = atof(about(r, arena_printf(r->arena, "lr.%d", i)));
    l->now = &r->now;
    l->stream = &r->stream;
    return NULL;
}

static void tell_tensor(const char *who, int k, const Tensor *t, FILE *to)
{
    const TensorStats s = tensor_stats(t);
    fprintf(to,
            "%-10s %d: %lld elements, %lld NaN, %lld infinite, mean %.6g, std %.6g, %.6g to %.6g\n",
            who, k, (long long)s.n, (long long)s.n_nan, (long long)s.n_inf, s.mean, s.std, s.min,
            s.max);
}

/* The largest difference of finite elements, and in how many only one of two is finite. */
static void compare(const Tensor *x, const Tensor *y, const char *with, FILE *to)
{
    double most = 0;
    int64_t n_other = 0;
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        double a = dtype_get(x->dtype, x->data, i), b = dtype_get(y->dtype, y->data, i);
        if (isfinite(a) != isfinite(b))
            n_other++;
        else if (isfinite(a) && fabs(a - b) > most)
            most = fabs(a - b);
    }
    fprintf(to, "           against %s: at most %.6g apart; %lld finite in one only\n", with, most,
            (long long)n_other);
}

static Error *run(Replay *r, const char *who, Kernel *kernel, size_t scratch, FILE *to)
{
    Launch *l = &r->launch;
    l->scratch = scratch ? arena_alloc(r->arena, scratch) : NULL;
    for (int k = 0; k < l->n_out; k++) memset(l->out[k].data, 0, tensor_bytes(&l->out[k]));
    int status = kernel(l);
    if (status) return error_new("the %s kernel failed with status %d", who, status);
    for (int k = 0; k < l->n_out; k++) {
        tell_tensor(who, k, &l->out[k], to);
        compare(&l->out[k], &r->recorded[k], "what was recorded", to);
    }
    return NULL;
}

static int run_reference_of(const Launch *l)
{
    return reference_run(l->op, l);
}

static Error *replay(Replay *r, FILE *to)
{
    const Launch *l = &r->launch;
    CpuLevel level;
    fprintf(to, "%s: %s, step %lld, microbatch %lld, rank %s\n", r->file->path, about(r, "place"),
            (long long)r->now.step + 1, (long long)r->now.microbatch, about(r, "rank"));
    for (int k = 0; k < l->n_in; k++) tell_tensor("input", k, &l->in[k], to);
    for (int k = 0; k < l->n_out; k++) tell_tensor("recorded", k, &r->recorded[k], to);
    if (!r->op || !r->op->reference) return error_new("op %s has no kernel", about(r, "op"));
    TRY(run(r, "reference", run_reference_of, reference_scratch(r->op, l), to));
    TRY(cpu_level(&level));
    const KernelDef *tuned = kernel_find(r->op->name, "cpu", level, l);
    if (!tuned) return NULL;
    size_t scratch = tuned->scratch ? tuned->scratch(l, pool_size(r->stream.pool)) : 0;
    return run(r, cpu_level_name(tuned->level), tuned->run, scratch, to);
}

Error *node_record_replay(Arena *a, const char *path, FILE *to)
{
    Replay r = { .arena = a };
    TRY(open_record(&r, path));
    r.stream.pool = pool_new(1);
    Error *e = replay(&r, to);
    pool_free(r.stream.pool);
    return e;
}
