/* results_wandb.c - results_subscriber.wandb: what Weights & Biases would get, as files. */
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "config/builder.h"
#include "monitor/results.h"
#include "monitor/subscribers.h"
#include "monitor/wandb_file.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { ONLINE, OFFLINE, DISABLED };
static const char *const modes[] = { "ONLINE", "OFFLINE", "DISABLED", NULL };

typedef struct Wandb {
    Subscriber base;
    int64_t global_rank;
    const char *entity, *project, *experiment_id;
    int mode;
    const char *directory, *config_file_path;
    const char *history, *run; /* files of this run */
    Arena *arena;
    WandbFile *file; /* for `wandb sync` */
    Measures facts;
} Wandb;

static const Field fields[] = {
    FIELD_INT(Wandb, global_rank, NULL, 0, INFINITY, "only rank 0 writes"),
    FIELD_STRING(Wandb, entity, "null", "user or team, kept in run.json"),
    FIELD_STRING(Wandb, project, NULL, "folder of the runs of a project"),
    FIELD_STRING(Wandb, experiment_id, NULL, "name of the run and its folder"),
    FIELD_CHOICE(Wandb, mode, NULL, modes,
                 "ONLINE writes the same files as OFFLINE; DISABLED writes none"),
    FIELD_PATH(Wandb, directory, NULL, "files go to wandb/<project>/<experiment_id> in it",
               .role = PATH_BEGINNING),
    FIELD_PATH(Wandb, config_file_path, NULL, "copied beside the results"),
    { 0 },
};

static void put_pair(Text *t, const char *key, const char *value)
{
    text_printf(t, "%s\"%s\": ", t->len > 1 ? ", " : "", key);
    if (value)
        text_json_string(t, str_of(value));
    else
        text_puts(t, "null");
}

/* What identifies the run, and its facts under "config" as wandb has them. */
static Error *write_run(const Wandb *w)
{
    Text t = { 0 };
    text_putc(&t, '{');
    put_pair(&t, "entity", w->entity);
    put_pair(&t, "project", w->project);
    put_pair(&t, "name", w->experiment_id);
    put_pair(&t, "mode", modes[w->mode]);
    put_pair(&t, "config_file", path_name(w->config_file_path));
    text_puts(&t, ", \"config\": {");
    for (int i = 0; i < w->facts.n; i++) {
        if (i) text_puts(&t, ", ");
        text_json_string(&t, str_of(w->facts.item[i].name));
        text_puts(&t, ": ");
        measure_json(&w->facts.item[i], &t);
    }
    text_puts(&t, "}}\n");
    Error *e = file_write_unsynced(w->run, t.ptr, t.len);
    text_free(&t);
    return e;
}

static void put_group(Text *t, const char *tag, const Measures *m)
{
    for (int i = 0; i < m->n; i++) {
        Text name = { 0 };
        text_printf(&name, "%s %s", tag, m->item[i].name);
        text_puts(t, ", ");
        text_json_string(t, str_of(name.ptr));
        text_puts(t, ": ");
        measure_json(&m->item[i], t);
        text_free(&name);
    }
}

/* The three calls per message there have one step, so they are one row of the history. */
static Error *write_row(const Wandb *w, const Results *r)
{
    Text t = { 0 };
    text_printf(&t, "{\"_step\": %" PRId64 ", \"_timestamp\": %" PRId64, r->step,
                (int64_t)time(NULL));
    put_group(&t, r->tag, &r->losses);
    put_group(&t, r->tag, &r->metrics);
    put_group(&t, r->tag, &r->throughput);
    text_puts(&t, "}\n");
    Error *e = file_append(w->history, t.ptr, t.len);
    if (!e) e = wandb_file_add(w->file, t.ptr);
    text_free(&t);
    return e;
}

static Error *copy_config(Arena *a, const char *from, const char *folder)
{
    Str config;
    TRY(file_read(a, from, &config));
    return file_write_unsynced(path_join(a, folder, path_name(from)), config.ptr, config.len);
}

static Error *add_fact(const Wandb *w, const Measure *fact)
{
    Text value = { 0 };
    measure_json(fact, &value);
    Error *e = wandb_file_config(w->file, fact->name, value.ptr);
    text_free(&value);
    return e;
}

static Error *begin_file(Wandb *w)
{
    Yaml *config = NULL;
    TRY(yaml_read(w->arena, w->config_file_path, &config));
    const WandbRun run = { .entity = w->entity,
                           .project = w->project,
                           .name = w->experiment_id,
                           .config = config->type == YAML_MAP ? config : NULL };
    TRY(wandb_file_new(w->arena, w->directory, &run, &w->file));
    for (int i = 0; i < w->facts.n; i++) TRY(add_fact(w, &w->facts.item[i]));
    return NULL;
}

/* When the training begins: one that fails before leaves nothing behind. */
static Error *begin(Wandb *w)
{
    const char *folder = path_folder(w->arena, w->history);
    if (w->file) return NULL;
    TRY(make_directories(folder));
    TRY(copy_config(w->arena, w->config_file_path, folder));
    TRY(write_run(w));
    TRY(begin_file(w));
    log_info("wandb: %sresults go to %s, and to a file that uploads them: wandb sync %s",
             w->mode == ONLINE ? "this program contacts no server; " : "", w->history,
             path_folder(w->arena, wandb_file_path(w->file)));
    return NULL;
}

static Error *keep_fact(Wandb *w, const Measure *fact)
{
    CHECK(w->facts.n < MAX_MEASURES);
    w->facts.item[w->facts.n++] = *fact;
    if (!w->file) return NULL;
    TRY(write_run(w));
    return add_fact(w, fact);
}

static Error *on_event(Subscriber *self, const Event *event)
{
    Wandb *w = (Wandb *)self;
    if (event->kind == EVENT_FACT) return keep_fact(w, &event->fact);
    if (event->kind == EVENT_PROGRESS) return begin(w);
    if (event->kind != EVENT_RESULTS) return NULL;
    TRY(begin(w));
    return write_row(w, event->results);
}

/* The file for `wandb sync` is begun anew and gets what the history kept. */
static Error *go_back(Subscriber *self, const TrainingMoment *to)
{
    Wandb *w = (Wandb *)self;
    Str text = { "", 0 };
    TRY(results_cut(w->history, to));
    w->file = NULL;
    TRY(begin(w));
    if (file_exists(w->history)) TRY(file_read(w->arena, w->history, &text));
    char *rest = arena_string_n(w->arena, text.ptr, text.len);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) TRY(wandb_file_add(w->file, line));
    return NULL;
}

static Error *close_file(Subscriber *self)
{
    const Wandb *w = (const Wandb *)self;
    return w->file ? wandb_file_close(w->file) : NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Arena *a = builder_arena(b);
    Wandb *w = arena_copy(a, settings, sizeof(Wandb));
    *out =
        w->mode == DISABLED ? dummy_subscriber(a) : subscriber_of_rank(a, &w->base, w->global_rank);
    if (*out != &w->base) return NULL;
    if (!file_exists(w->config_file_path))
        return error_as_absent(
            error_new("config_file_path: there is no file %s", w->config_file_path));
    const char *folder =
        arena_printf(a, "%s/wandb/%s/%s", w->directory, w->project, w->experiment_id);
    w->history = path_join(a, folder, "history.jsonl");
    w->run = path_join(a, folder, "run.json");
    w->arena = a;
    w->base.on_event = on_event;
    w->base.go_back = go_back;
    w->base.close = close_file;
    return NULL;
}

const ComponentDef results_subscriber_wandb = {
    .kind = "results_subscriber",
    .variant = "wandb",
    .doc = "writes the history that Weights & Biases would get to files; no server is contacted",
    .fields = fields,
    .settings_size = sizeof(Wandb),
    .build = build,
};
