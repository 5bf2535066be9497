/* kernel_tracing.c - steppable_profiler.kernel_tracing: a Chrome trace of some steps and a table.
 */
#include "base/file.h"
#include "base/log.h"
#include "watch/node_trace.h"
#include "watch/profiler.h"

typedef struct Settings {
    int64_t num_wait_steps, num_warmup_steps, num_active_steps;
    struct ActivityList {
        int *item;
        int64_t n;
    } profiler_activities;
    bool profile_memory, record_shapes, with_flops, with_stack, with_modules;
    const char *output_folder_path;
    const IntList *tracked_ranks;
} Settings;

typedef struct KernelTracing {
    Profiler base;
    ProfilerWindow window;
    NodeTrace *trace;
    const char *folder, *trace_path, *summary_path;
    bool is_written;
} KernelTracing;

static void rest_or_look(KernelTracing *k)
{
    k->trace->base.is_off = !window_is_active(&k->window);
}

static Error *begin(Profiler *self)
{
    KernelTracing *k = (KernelTracing *)self;
    TRY(make_directories(k->folder));
    TRY(file_check_writable(k->trace_path));
    rest_or_look(k);
    return NULL;
}

static Error *write_all(KernelTracing *k)
{
    Text t = { 0 };
    node_trace_tables(k->trace, &t);
    Error *e = node_trace_write(k->trace, k->trace_path);
    if (!e) e = file_write(k->summary_path, t.ptr, t.len);
    text_free(&t);
    k->is_written = true;
    if (!e) log_info("profile: %s and %s", k->trace_path, k->summary_path);
    return e;
}

static Error *step(Profiler *self)
{
    KernelTracing *k = (KernelTracing *)self;
    k->window.done++;
    rest_or_look(k);
    return window_is_over(&k->window) && !k->is_written ? write_all(k) : NULL;
}

static Error *end(Profiler *self)
{
    return window_check_end(&((KernelTracing *)self)->window);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    KernelTracing *k = NEW(a, KernelTracing);
    const char *folder = s->output_folder_path;
    const ProfilerWindow w = { s->num_wait_steps, s->num_warmup_steps, s->num_active_steps, 0 };
    *k = (KernelTracing){ .base = { .n_steps = window_length(&w) },
                          .window = w,
                          .folder = folder,
                          .trace_path = profiler_path(b, folder, "profiler_trace", ".json"),
                          .summary_path = profiler_path(b, folder, "profiler_summary", ".txt") };
    *out = k;
    if (!profiler_is_tracked(b, s->tracked_ranks)) return NULL;
    k->trace = node_trace_new(a, s->record_shapes);
    k->trace->base.is_off = true;
    k->base.watches = &k->trace->base;
    k->base.begin = begin;
    k->base.step = step;
    k->base.end = end;
    return NULL;
}

static const char *const activities[] = { "CPU", "CUDA", NULL };
/* clang-format off */
#define ALWAYS .no_effect = "always in the trace"
static const Field activity = { .type = FIELD_CHOICE, .choices = activities, .size = sizeof(int) };
static const Field fields[] = {
    FIELD_INT(Settings, num_wait_steps, NULL, 0, INFINITY, "steps before anything is looked at"),
    FIELD_INT(Settings, num_warmup_steps, NULL, 0, INFINITY, "steps that are not kept"),
    FIELD_INT(Settings, num_active_steps, NULL, 0, INFINITY, "steps that are kept"),
    FIELD_LIST(Settings, profiler_activities, struct ActivityList, &activity, NULL, 0, 0, "what is recorded", .no_effect = "the kernels of the device that runs them are recorded"),
    FIELD_BOOL(Settings, profile_memory, NULL, "bytes that kernels read and write", ALWAYS),
    FIELD_BOOL(Settings, record_shapes, NULL, "sizes of the inputs"),
    FIELD_BOOL(Settings, with_flops, NULL, "FLOPs of each kernel", ALWAYS),
    FIELD_BOOL(Settings, with_stack, NULL, "where a kernel was called from", .no_effect = "kernels come from a list; their modules are always in the trace"),
    FIELD_BOOL(Settings, with_modules, NULL, "the module of each kernel", ALWAYS),
    FIELD_PATH(Settings, output_folder_path, NULL, "folder for profiler_trace_ranks_W_rank_R.json and profiler_summary_ranks_W_rank_R.txt", .role = PATH_BEGINNING),
    FIELD_INTS(Settings, tracked_ranks, "null", 0, 0, "ranks that are measured; null: none"),
    { 0 },
};
/* clang-format on */

const ComponentDef steppable_profiler_kernel_tracing = {
    .kind = "steppable_profiler",
    .variant = "kernel_tracing",
    .doc = "a Chrome trace of every kernel of some steps, and tables by op and by module",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
