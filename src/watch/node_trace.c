/* node_trace.c - collects nodes that ran, and writes them as a trace and as tables. */
#include "watch/node_trace.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "comm/mesh.h"
#include "device/cpu_peak.h"
#include "exec/cost.h"
#include "ops/kernels.h"
#include "ops/transfer.h"
#include <stdlib.h>
#include <string.h>

static double bytes_of(const Launch *l)
{
    double bytes = 0;
    for (int k = 0; k < l->n_in; k++) bytes += (double)tensor_bytes(&l->in[k]);
    for (int k = 0; k < l->n_out; k++)
        bytes += (double)tensor_bytes(&l->out[k]) * (launch_adds(l, k) ? 2 : 1);
    return bytes;
}

static const char *shapes_of(Arena *a, const Launch *l)
{
    Text t = { 0 };
    for (int k = 0; k < l->n_in; k++) {
        text_printf(&t, "%s[", k ? ", " : "");
        for (int d = 0; d < l->in[k].n_dims; d++)
            text_printf(&t, "%s%lld", d ? ", " : "", (long long)l->in[k].size[d]);
        text_putc(&t, ']');
    }
    const char *text = t.len ? arena_string(a, t.ptr) : "";
    text_free(&t);
    return text;
}

/* The rank of the job that a send or receive talks to; -1: others do. */
static int64_t peer_of(const NodeRun *x)
{
    const Mesh *m = x->graph->mesh;
    if (x->node->axes != 1u << MESH_PP || !m) return -1;
    const TransferUse use = transfer_use(x->node, x->now->microbatch);
    if (use.kind == TRANSFER_ALL) return -1;
    const int64_t apart = m->world_size / m->size[MESH_PP];
    return use.peer * apart + m->rank % apart;
}

static void note_transfer(NodeTrace *t, const NodeRun *x, TraceEntry *e)
{
    const Launch *l = x->launch;
    e->peer = -1;
    if (!x->node->axes || !l->comm) return;
    e->axes = mesh_axes_text(t->arena, x->node->axes);
    e->ranks = l->comm->size;
    e->peer = peer_of(x);
    e->sent = x->node->op->sent ? x->node->op->sent(l) : 0;
}

static Error *on_node(Watch *self, const NodeRun *x)
{
    NodeTrace *t = (NodeTrace *)self;
    const Launch *l = x->launch;
    const KernelDef *kernel = kernel_of_device(x->node->op->name, x->device, cpu_level_in_use(), l);
    t->device = x->device;
    t->rank = x->rank;
    t->entry = arena_grow(t->arena, t->entry, t->n, &t->cap, sizeof *t->entry);
    t->entry[t->n++] = (TraceEntry){ .op = x->node->op->name,
                                     .module = node_module(t->arena, x->node),
                                     .kernel = kernel_name(kernel),
                                     .attrs = node_attrs(t->arena, x->node),
                                     .shapes = t->with_shapes ? shapes_of(t->arena, l) : NULL,
                                     .phase = x->node->phase,
                                     .stream = x->node->stream,
                                     .begin = x->begin,
                                     .seconds = x->seconds,
                                     .bytes = bytes_of(l),
                                     .flops = node_flops(x->node),
                                     .dtype = l->n_in ? l->in[0].dtype : F32,
                                     .step = x->now->step,
                                     .microbatch = x->now->microbatch,
                                     .is_wait = x->is_wait };
    TraceEntry *e = &t->entry[t->n - 1];
    note_transfer(t, x, e);
    if (!x->is_wait) return NULL;
    e->stream = STREAM_COMPUTE;
    e->bytes = e->flops = 0;
    return NULL;
}

NodeTrace *node_trace_new(Arena *a, bool with_shapes)
{
    NodeTrace *t = NEW(a, NodeTrace);
    *t = (NodeTrace){ .base = { .node = on_node, .only_times = true },
                      .arena = a,
                      .with_shapes = with_shapes };
    return t;
}

/* What the device reaches at most: of a CPU measured once, else by datasheet; 0 where it is not
 * known. */
typedef struct Peaks {
    double flops[N_DTYPES]; /* FLOP/s of products of these that occur */
    double bytes;           /* of memory, per second */
    bool is_measured;
} Peaks;

/* A CPU multiplies pairs of bf16, or f32. */
static Dtype multiplied(const Peaks *p, Dtype given)
{
    return !p->is_measured || given == BF16 ? given : F32;
}

static double peak_flops(const NodeTrace *t, Dtype of)
{
    const Device *d = t->device;
    return d->peak_flops ? d->peak_flops(d, of) : cpu_peak_flops(t->device, of, cpu_level_in_use());
}

static Peaks measure(const NodeTrace *t)
{
    const Device *d = t->device;
    Peaks p = { .is_measured = !d || !d->peak_flops };
    const bool is_known = d && (d->peak_flops || !strcmp(d->kernels, "cpu"));
    for (int64_t i = 0; is_known && i < t->n; i++) {
        const Dtype of = multiplied(&p, t->entry[i].dtype);
        if (t->entry[i].flops > 0 && !p.flops[of]) p.flops[of] = peak_flops(t, of);
    }
    if (is_known && t->n) p.bytes = d->peak_bytes ? d->peak_bytes(d) : cpu_peak_bytes(t->device);
    return p;
}

/* Seconds that its products, and its bytes, take at least: the longer ones are its limit. */
static double least_for_flops(const Peaks *p, const TraceEntry *e)
{
    const double peak = p->flops[multiplied(p, e->dtype)];
    return peak > 0 ? e->flops / peak : 0;
}

static double least_for_bytes(const Peaks *p, const TraceEntry *e)
{
    return p->bytes > 0 ? e->bytes / p->bytes : 0;
}

static double least(const Peaks *p, const TraceEntry *e)
{
    const double flops = least_for_flops(p, e), bytes = least_for_bytes(p, e);
    return flops > bytes ? flops : bytes;
}

static void put_transfer(const TraceEntry *e, Text *t)
{
    if (!e->axes) return;
    text_printf(t, ", \"mesh axis\": \"%s\", \"ranks\": %lld", e->axes, (long long)e->ranks);
    if (e->is_wait) return;
    text_printf(t, ", \"bytes sent\": %.0f", e->sent);
    if (e->peer >= 0) text_printf(t, ", \"peer\": %lld", (long long)e->peer);
}

static void put_event(const TraceEntry *e, const Peaks *p, double start, int64_t rank, Text *t)
{
    const char *kind = e->is_wait ? "wait" : e->axes ? "transfer" : "kernel";
    text_printf(t, "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": ", kind);
    text_json_string(t, str_of(e->is_wait ? "wait" : e->op));
    text_printf(t, ", \"pid\": %lld, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {",
                (long long)rank, e->stream, (e->begin - start) * 1e6, e->seconds * 1e6);
    if (e->is_wait) {
        text_puts(t, "\"for\": ");
        text_json_string(t, str_of(e->op));
        text_puts(t, ", ");
    }
    text_puts(t, "\"settings\": ");
    text_json_string(t, str_of(e->attrs));
    text_puts(t, ", \"module\": ");
    text_json_string(t, str_of(e->module));
    text_printf(t,
                ", \"phase\": \"%s\", \"kernel\": \"%s\", \"bytes\": %.0f, \"flops\": %.0f, "
                "\"step\": %lld, \"microbatch\": %lld",
                phase_name(e->phase), e->kernel, e->bytes, e->flops, (long long)e->step,
                (long long)e->microbatch);
    put_transfer(e, t);
    if (e->seconds > 0) text_printf(t, ", \"GB/s\": %.3f", e->bytes / e->seconds / 1e9);
    if (least_for_flops(p, e) > 0 && e->seconds > 0)
        text_printf(t, ", \"share of peak FLOP/s\": %.4g", least_for_flops(p, e) / e->seconds);
    if (p->bytes > 0 && e->seconds > 0)
        text_printf(t, ", \"share of peak GB/s\": %.4g", least_for_bytes(p, e) / e->seconds);
    if (e->shapes) text_printf(t, ", \"Input Dims\": [%s]", e->shapes);
    text_puts(t, "}}");
}

static void put_names(const NodeTrace *t, FILE *to)
{
    static const char *const stream[N_STREAMS] = { "computation",      "gathers",     "reductions",
                                                   "sums over copies", "host memory", "experts" };
    const long long rank = t->rank;
    fprintf(to,
            "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %lld, \"args\": {\"name\": "
            "\"rank %lld\"}}",
            rank, rank);
    for (int i = 0; i < N_STREAMS; i++)
        fprintf(to,
                ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %lld, \"tid\": %d, "
                "\"args\": {\"name\": \"%s\"}}",
                rank, i, stream[i]);
}

/* Times are those of the day, so that the traces of all ranks lie beside each other. */
Error *node_trace_write(const NodeTrace *t, const char *path)
{
    const Peaks p = measure(t);
    const double start = clock_seconds() - clock_of_day();
    NewFile f;
    Text line = { 0 };
    TRY(file_create(path, &f));
    fputs("{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"traceEvents\": [\n", f.stream);
    put_names(t, f.stream);
    for (int64_t i = 0; i < t->n; i++) {
        text_clear(&line);
        put_event(&t->entry[i], &p, start, t->rank, &line);
        fprintf(f.stream, ",\n%s", line.ptr);
    }
    fputs("\n]}\n", f.stream);
    text_free(&line);
    return file_commit(&f);
}

/* ---- tables ---- */

typedef struct Sum {
    const char *name;
    int64_t calls;
    double seconds, bytes, flops, least; /* least: seconds at the limit */
} Sum;

typedef struct Sums {
    Arena *arena;
    Map *by_name;
    double seconds;
} Sums;

static void add(Sums *s, const char *name, const TraceEntry *e, const Peaks *p)
{
    Sum *x = map_get(s->by_name, str_of(name));
    if (!x) {
        x = NEW(s->arena, Sum);
        x->name = name;
        map_set(s->by_name, str_of(name), x);
    }
    x->calls++;
    x->seconds += e->seconds;
    x->bytes += e->bytes;
    x->flops += e->flops;
    x->least += least(p, e);
    s->seconds += e->seconds;
}

static int slowest_first(const void *x, const void *y)
{
    const Sum *a = *(Sum *const *)x, *b = *(Sum *const *)y;
    if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void put_table(const Sums *s, const char *what, Text *out)
{
    const int64_t n = s->by_name->n;
    Sum **sum = NEW_N(s->arena, Sum *, n);
    for (int64_t i = 0; i < n; i++) sum[i] = s->by_name->entry[i].value;
    if (n) qsort(sum, (size_t)n, sizeof *sum, slowest_first);
    text_printf(out, "%-40s %8s %12s %7s %10s %10s %10s %9s\n", what, "calls", "time (ms)", "share",
                "MB", "GB/s", "GFLOP/s", "of limit");
    for (int64_t i = 0; i < n; i++) {
        const Sum *x = sum[i];
        double seconds = x->seconds > 0 ? x->seconds : 1;
        text_printf(out, "%-40s %8lld %12.3f %6.1f%% %10.2f %10.2f %10.2f", x->name,
                    (long long)x->calls, x->seconds * 1e3,
                    s->seconds > 0 ? 100 * x->seconds / s->seconds : 0, x->bytes / 1e6,
                    x->bytes / seconds / 1e9, x->flops / seconds / 1e9);
        if (x->least > 0 && x->seconds > 0)
            text_printf(out, " %7.1f%%", 100 * x->least / x->seconds);
        text_putc(out, '\n');
    }
}

static void put_limits(const Peaks *p, Text *out)
{
    text_puts(out, p->is_measured ? "limits, measured:" : "limits, by datasheet:");
    for (int t = 0; t < N_DTYPES; t++)
        if (p->flops[t] > 0)
            text_printf(out, " %.0f GFLOP/s in %s,", p->flops[t] / 1e9, dtype_name((Dtype)t));
    text_printf(out, " %.1f GB/s of memory; more than 100 %% comes from caches\n", p->bytes / 1e9);
}

/* "contract (forward)": an op's backward passes have names of their own, but products have not. */
static const char *op_name(Arena *a, const TraceEntry *e)
{
    if (e->is_wait) return arena_printf(a, "wait for %s", e->op);
    const char *pass = e->phase == FORWARD ? "forward"
                       : e->phase == BACKWARD_INPUT || e->phase == BACKWARD_WEIGHT
                           ? "backward"
                           : phase_name(e->phase);
    return arena_printf(a, "%s (%s)", e->op, pass);
}

void node_trace_tables(const NodeTrace *t, Text *out)
{
    const Peaks p = measure(t);
    Arena *a = arena_new();
    Sums ops = { a, map_new(a), 0 }, modules = { a, map_new(a), 0 };
    for (int64_t i = 0; i < t->n; i++) {
        const TraceEntry *e = &t->entry[i];
        add(&ops, op_name(a, e), e, &p);
        add(&modules, *e->module ? e->module : "(none)", e, &p);
    }
    put_table(&ops, "op", out);
    text_putc(out, '\n');
    put_table(&modules, "module", out);
    if (p.bytes > 0) put_limits(&p, out);
    arena_free(a);
}
