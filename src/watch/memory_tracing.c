/* memory_tracing.c - steppable_profiler.memory_tracing: the memory of a step as a page. */
#include "base/file.h"
#include "base/log.h"
#include "watch/memory_page.h"
#include "watch/profiler.h"

typedef struct Settings {
    const char *memory_snapshot_folder_path;
    int64_t num_wait_steps, num_warmup_steps, num_active_steps;
    const IntList *tracked_ranks;
} Settings;

typedef struct MemoryTracing {
    Profiler base;
    Watch watch;
    ProfilerWindow window;
    const Program *program; /* the first that was made: that of the steps */
    const char *folder, *path;
} MemoryTracing;

static MemoryTracing *of_watch(Watch *w)
{
    return (MemoryTracing *)((char *)w - offsetof(MemoryTracing, watch));
}

static Error *start(Watch *self, const Program *p)
{
    MemoryTracing *m = of_watch(self);
    if (!m->program) m->program = p;
    return NULL;
}

static Error *on_node(Watch *self, const NodeRun *x)
{
    (void)self, (void)x;
    return NULL;
}

static Error *begin(Profiler *self)
{
    const MemoryTracing *m = (const MemoryTracing *)self;
    TRY(make_directories(m->folder));
    return file_check_writable(m->path);
}

static Error *step(Profiler *self)
{
    MemoryTracing *m = (MemoryTracing *)self;
    m->window.done++;
    bool is_last = m->window.done == window_length(&m->window) && m->window.num_active_steps > 0;
    if (!is_last || !m->program) return NULL;
    TRY(memory_page_write(m->program, m->path));
    log_info("memory: %s", m->path);
    return NULL;
}

static Error *end(Profiler *self)
{
    return window_check_end(&((MemoryTracing *)self)->window);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    MemoryTracing *m = NEW(builder_arena(b), MemoryTracing);
    const ProfilerWindow w = { s->num_wait_steps, s->num_warmup_steps, s->num_active_steps, 0 };
    *m = (MemoryTracing){
        .base = { .n_steps = window_length(&w) },
        .watch = { .start = start, .node = on_node, .is_off = true },
        .window = w,
        .folder = s->memory_snapshot_folder_path,
        .path = profiler_path(b, s->memory_snapshot_folder_path, "memory_snapshot", ".html"),
    };
    *out = m;
    if (!profiler_is_tracked(b, s->tracked_ranks)) return NULL;
    m->base.watches = &m->watch;
    m->base.begin = begin;
    m->base.step = step;
    m->base.end = end;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_PATH(Settings, memory_snapshot_folder_path, NULL, "folder for memory_snapshot_ranks_W_rank_R.html", .role = PATH_BEGINNING),
    FIELD_INT(Settings, num_wait_steps, NULL, 0, INFINITY, "steps before anything is looked at", .no_effect = "the plan is that of every step"),
    FIELD_INT(Settings, num_warmup_steps, NULL, 0, INFINITY, "steps that are not kept", .no_effect = "the plan is that of every step"),
    FIELD_INT(Settings, num_active_steps, NULL, 0, INFINITY, "steps after which the page is written; 0: it is not"),
    FIELD_INTS(Settings, tracked_ranks, "null", 0, 0, "ranks that are measured; null: none"),
    { 0 },
};
/* clang-format on */

const ComponentDef steppable_profiler_memory_tracing = {
    .kind = "steppable_profiler",
    .variant = "memory_tracing",
    .doc = "the memory of a step over its nodes, by tensor and by layer, as one HTML page",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
