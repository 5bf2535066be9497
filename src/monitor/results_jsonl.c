/* results_jsonl.c - results_subscriber.to_disc: appends every result to a JSONL file. */
#include "base/file.h"
#include "config/builder.h"
#include "monitor/results.h"

typedef struct ToDisc {
    Subscriber base;
    const char *output_file_path;
} ToDisc;

static const Field fields[] = {
    FIELD_PATH(ToDisc, output_file_path, NULL,
               "JSONL file; its folder is made, lines are added at its end", .role = PATH_WRITTEN),
    { 0 },
};

static Error *on_event(Subscriber *self, const Event *event)
{
    if (event->kind != EVENT_RESULTS) return NULL;
    Text line = { 0 };
    results_json_line(event->results, &line);
    text_putc(&line, '\n');
    Error *e = file_append(((ToDisc *)self)->output_file_path, line.ptr, line.len);
    text_free(&line);
    return e;
}

static Error *go_back(Subscriber *self, const TrainingMoment *to)
{
    return results_cut(((ToDisc *)self)->output_file_path, to);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Arena *a = builder_arena(b);
    ToDisc *s = arena_copy(a, settings, sizeof(ToDisc));
    TRY(make_directories(path_folder(a, s->output_file_path)));
    TRY(file_check_writable(s->output_file_path));
    s->base.on_event = on_event;
    s->base.go_back = go_back;
    *out = &s->base;
    return NULL;
}

const ComponentDef results_subscriber_to_disc = {
    .kind = "results_subscriber",
    .variant = "to_disc",
    .doc = "appends every result to evaluation_results.jsonl",
    .fields = fields,
    .settings_size = sizeof(ToDisc),
    .build = build,
    .leaves_files = true,
};
