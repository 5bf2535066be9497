/* results_csv.c - results_subscriber.csv: a row per number, for spreadsheets and data frames. */
#include "base/file.h"
#include "config/builder.h"
#include "monitor/results.h"
#include "monitor/system_metrics.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "step,loader,name,value\n";

typedef struct Csv {
    Subscriber base;
    const char *output_file_path;
    SystemMetrics system;
} Csv;

/* RFC 4180: quotes where the text needs them. */
static void put_text(Text *t, const char *s)
{
    bool is_quoted = strpbrk(s, ",\"\r\n") != NULL;
    if (is_quoted) text_putc(t, '"');
    for (; *s; s++) {
        if (*s == '"') text_putc(t, '"');
        text_putc(t, *s);
    }
    if (is_quoted) text_putc(t, '"');
}

static void put_row(Text *t, const Results *r, const char *name, const Measure *m, double value)
{
    char number[32];
    text_printf(t, "%" PRId64 ",", r->step);
    put_text(t, r->tag);
    text_putc(t, ',');
    put_text(t, name);
    if (m && m->is_count) {
        text_printf(t, ",%" PRId64 "\n", m->count);
        return;
    }
    format_double(m ? (double)(float)m->value : value, number);
    text_printf(t, ",%s\n", number);
}

static void put_group(Text *t, const Results *r, const Measures *m)
{
    for (int i = 0; i < m->n; i++) put_row(t, r, m->item[i].name, &m->item[i], 0);
}

static Error *on_event(Subscriber *self, const Event *event)
{
    Csv *c = (Csv *)self;
    if (event->kind != EVENT_RESULTS) return NULL;
    const Results *r = event->results;
    Text t = { 0 };
    if (!file_exists(c->output_file_path)) text_puts(&t, header);
    put_group(&t, r, &r->losses);
    put_group(&t, r, &r->metrics);
    put_group(&t, r, &r->throughput);
    system_metrics_take(&c->system);
    if (!r->is_evaluation) {
        put_row(&t, r, "memory (MB)", NULL, c->system.memory_mb);
        put_row(&t, r, "cpu (%)", NULL, c->system.cpu_percent);
    }
    Error *e = file_append(c->output_file_path, t.ptr, t.len);
    text_free(&t);
    return e;
}

/* As results_cut: evaluations at the step itself come again unless they were whole. */
static bool stays(const char *line, const TrainingMoment *to)
{
    char *end;
    long long step = strtoll(line, &end, 10);
    if (end == line) return !strncmp(line, header, sizeof header - 2);
    size_t n = strlen(to->train_tag);
    bool is_training = !strncmp(end + 1, to->train_tag, n) && end[1 + n] == ',';
    return step < to->step || (step == to->step && (is_training || to->is_evaluated));
}

static Error *go_back(Subscriber *self, const TrainingMoment *to)
{
    const Csv *c = (const Csv *)self;
    Str text;
    if (!file_exists(c->output_file_path)) return NULL;
    Arena *a = arena_new();
    Text kept = { 0 };
    Error *e = file_read(a, c->output_file_path, &text);
    for (size_t at = 0; !e && at < text.len;) {
        const char *line = text.ptr + at, *end = memchr(line, '\n', text.len - at);
        if (!end) break; /* a crash cut it */
        size_t n = (size_t)(end - line) + 1;
        if (stays(line, to)) text_add(&kept, line, n);
        at += n;
    }
    if (!e) e = file_write(c->output_file_path, kept.ptr ? kept.ptr : "", kept.len);
    text_free(&kept);
    arena_free(a);
    return e;
}

static const Field fields[] = {
    FIELD_PATH(Csv, output_file_path, NULL,
               "CSV file: step,loader,name,value; its folder is made, lines are added at its end",
               .role = PATH_WRITTEN),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    Arena *a = builder_arena(b);
    Csv *c = arena_copy(a, settings, sizeof(Csv));
    TRY(make_directories(path_folder(a, c->output_file_path)));
    TRY(file_check_writable(c->output_file_path));
    c->base.on_event = on_event;
    c->base.go_back = go_back;
    system_metrics_take(&c->system);
    *out = &c->base;
    return NULL;
}

const ComponentDef results_subscriber_csv = {
    .kind = "results_subscriber",
    .variant = "csv",
    .doc = "appends every number to a CSV file",
    .fields = fields,
    .settings_size = sizeof(Csv),
    .build = build,
    .leaves_files = true,
};
