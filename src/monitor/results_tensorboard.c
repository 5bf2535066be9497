/* results_tensorboard.c - results_subscriber.tensorboard: event files that TensorBoard reads.
 *
 * A file is a sequence of records (length, its checksum, an Event, its checksum); the first Event
 * names the version. */
#include "base/file.h"
#include "config/builder.h"
#include "monitor/protobuf.h"
#include "monitor/results.h"
#include "monitor/system_metrics.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Settings {
    const char *directory;
} Settings;

typedef struct TensorBoard {
    Subscriber base;
    bool has_begun;
    const char *path;
    SystemMetrics system;
} TensorBoard;

/* CRC-32C (Castagnoli), bit by bit: records are short. */
static uint32_t crc32c(const void *bytes, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc ^= ((const uint8_t *)bytes)[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

static uint32_t masked(const void *bytes, size_t n)
{
    uint32_t crc = crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* All of it or nothing is added to the file. */
static Error *add_record(const TensorBoard *b, const Text *event)
{
    Text t = { 0 };
    uint64_t n = event->len;
    uint32_t of_length = masked(&n, sizeof n), of_event = masked(event->ptr, event->len);
    text_add(&t, &n, sizeof n);
    text_add(&t, &of_length, sizeof of_length);
    text_add(&t, event->ptr, event->len);
    text_add(&t, &of_event, sizeof of_event);
    Error *e = file_append(b->path, t.ptr, t.len);
    text_free(&t);
    return e;
}

static double wall_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5, EVENT_LOG = 7 };

static Error *write_version(const TensorBoard *b)
{
    Text event = { 0 };
    protobuf_double(&event, EVENT_WALL_TIME, wall_time());
    protobuf_string(&event, EVENT_VERSION, "brain.Event:2");
    Error *e = add_record(b, &event);
    text_free(&event);
    return e;
}

/* "train/train loss avg": TensorBoard groups by what is before the slash. */
static void put_value(Text *summary, const char *tag, const char *name, double x)
{
    enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };
    Text value = { 0 }, full = { 0 };
    text_printf(&full, "%s/%s", tag, name);
    protobuf_string(&value, VALUE_TAG, full.ptr);
    protobuf_float(&value, VALUE_SIMPLE, (float)x);
    protobuf_message(summary, SUMMARY_VALUE, &value);
    text_free(&value);
    text_free(&full);
}

static void put_group(Text *summary, const char *tag, const Measures *m)
{
    for (int i = 0; i < m->n; i++) {
        const Measure *x = &m->item[i];
        put_value(summary, tag, x->name, x->is_count ? (double)x->count : x->value);
    }
}

/* When the training begins: one that fails before leaves nothing behind. */
static Error *begin(TensorBoard *b)
{
    if (b->has_begun) return NULL;
    b->has_begun = true;
    Arena *a = arena_new();
    Error *e = make_directories(path_folder(a, b->path));
    arena_free(a);
    if (!e) e = file_check_writable(b->path);
    return e ? e : write_version(b);
}

static Error *on_event(Subscriber *self, const Event *event)
{
    TensorBoard *b = (TensorBoard *)self;
    if (event->kind == EVENT_PROGRESS) return begin(b);
    if (event->kind != EVENT_RESULTS) return NULL;
    TRY(begin(b));
    const Results *r = event->results;
    Text summary = { 0 }, out = { 0 };
    put_group(&summary, r->tag, &r->losses);
    put_group(&summary, r->tag, &r->metrics);
    put_group(&summary, r->tag, &r->throughput);
    if (!r->is_evaluation) {
        system_metrics_take(&b->system);
        put_value(&summary, "system", "memory (MB)", b->system.memory_mb);
        put_value(&summary, "system", "cpu (%)", b->system.cpu_percent);
    }
    protobuf_double(&out, EVENT_WALL_TIME, wall_time());
    protobuf_int(&out, EVENT_STEP, r->step);
    protobuf_message(&out, EVENT_SUMMARY, &summary);
    Error *e = add_record(b, &out);
    text_free(&summary);
    text_free(&out);
    return e;
}

/* A session that starts at a step makes TensorBoard forget what came from that step on. */
static Error *go_back(Subscriber *self, const TrainingMoment *to)
{
    enum { SESSION_STATUS = 1, SESSION_START = 1 };
    Text log = { 0 }, event = { 0 };
    TRY(begin((TensorBoard *)self));
    protobuf_int(&log, SESSION_STATUS, SESSION_START);
    protobuf_double(&event, EVENT_WALL_TIME, wall_time());
    protobuf_int(&event, EVENT_STEP, to->step + 1);
    protobuf_message(&event, EVENT_LOG, &log);
    Error *e = add_record((TensorBoard *)self, &event);
    text_free(&log);
    text_free(&event);
    return e;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    TensorBoard *t = NEW(a, TensorBoard);
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    *t = (TensorBoard){ .base = { .on_event = on_event, .go_back = go_back },
                        .path =
                            arena_printf(a, "%s/events.out.tfevents.%010lld.%s.%lld", s->directory,
                                         (long long)time(NULL), host, (long long)getpid()) };
    system_metrics_take(&t->system);
    *out = &t->base;
    return NULL;
}

static const Field fields[] = {
    FIELD_PATH(Settings, directory, NULL,
               "folder for events.out.tfevents.*; tensorboard --logdir shows it",
               .role = PATH_BEGINNING),
    { 0 },
};

const ComponentDef results_subscriber_tensorboard = {
    .kind = "results_subscriber",
    .variant = "tensorboard",
    .doc = "writes event files for TensorBoard",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
    .leaves_files = true,
};
