/* run.c - a training from its configuration to its end. */
#include "train/run.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "comm/mesh.h"
#include "monitor/subscribers.h"
#include "train/agreement.h"
#include "train/ending.h"
#include "train/make_job.h"
#include "train/session.h"
#include <stdlib.h>
#include <string.h>

typedef struct Run {
    Arena *arena;
    const RunSettings *s;
    RunConfig c;
    bool has_begun; /* steps were done */
} Run;

static Error *check_world(const Rank *rank)
{
    if (!rank || rank->world_size == 1) return NULL;
    return error_new("WORLD_SIZE is %lld: more than one rank is not built yet",
                     (long long)rank->world_size);
}

/* One line when the YAML asks for what this machine runs as one CPU rank. */
static void notice_device(const RunConfig *c)
{
    const Mesh *mesh = c->config.device_mesh;
    bool wants_cuda = mesh && mesh->device_type && !strcmp(mesh->device_type, "cuda");
    for (int64_t i = 0; i < builder_count(c->builder); i++) {
        const Component *part = builder_at(c->builder, i);
        wants_cuda |= !strcmp(part->kind, "model") && !strncmp(part->variant, "fsdp", 4);
    }
    if (wants_cuda) log_info("the configuration asks for GPUs; it runs here as one CPU rank");
}

static void print_report(const TrainingPlan *p)
{
    Text t = { 0 };
    training_report(p, &t);
    printf("%s\n", t.ptr);
    text_free(&t);
}

/* A warm start with the YAML of a fresh run would begin anew without a word. */
static Error *check_goes_on(const Run *r)
{
    const AppState *state = r->c.config.app_state;
    if (!r->s->last_checkpoint_info_path || state->checkpoint_path || state->model->weights_path)
        return NULL;
    return error_new(
        "%s: nothing in it loads the checkpoint, so warmstart would begin anew: "
        "app_state must be app_state.dcp with a checkpoint_dir_path from "
        "${warmstart_env:checkpoint_paths}, as in configs/training/small_warmstart.yaml",
        r->s->config_file_path);
}

static Error *train(Run *r)
{
    TrainingConfig *c = &r->c.config;
    TRY(check_goes_on(r));
    int64_t n_samples = c->train_dataset->count(c->train_dataset);
    TRY(training_dataset_check(&c->settings, n_samples));
    TRY(checkpoint_saving_prepare(c->checkpoint_saving));
    TrainingPlan plan = training_plan(&c->settings, n_samples);
    print_report(&plan);
    Events events = { 0 };
    events_subscribe(&events, console_subscriber(r->arena));
    events_subscribe(&events, c->progress_subscriber);
    events_subscribe(&events, c->evaluation_subscriber);
    TrainingJob job = training_job(r->arena, r->s, &r->c, &events);
    char now[64];
    clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
    printf("Start model training at %s.\n", now);
    fflush(stdout);
    TrainingEnd end;
    Error *e = trainer_run(&job, &end);
    r->has_begun = end.steps > 0;
    e = error_join(e, events_close(&events)); /* ends the live display */
    if (e) return e;
    const char *how = ending_text(r->arena, r->s, &r->c, &end);
    if (end.reason != END_SIGNAL) log_info("%s", how);
    clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
    bool is_done = end.reason == END_TARGET || end.reason == END_NOTHING_LEFT;
    printf("Training %s at %s.\n", is_done ? "done" : "stopped", now);
    return end.reason == END_SIGNAL ? error_stopped("%s", how) : NULL;
}

static Error *build_and_train(Run *r)
{
    RunConfig *c = &r->c;
    TRY(run_config_keep(r->arena, r->s, c));
    TRY(builder_build(c->builder, training_config_fields, &c->config));
    TRY(training_agreement_check(c->builder, &c->config));
    notice_device(c);
    signal_catch_in_steps();
    return train(r);
}

static Error *run(Run *r, const Registry *registry)
{
    TRY(session_check_device(r->s->device));
    TRY(check_world(r->s->rank));
    TRY(session_check_trace(r->s->print_graph));
    TRY(run_config_read(r->arena, r->s, registry, &r->c));
    bool is_new = !r->s->experiment_id || !file_exists(r->c.folder);
    Error *e = build_and_train(r);
    /* a folder without a step would only be in the way of the next attempt */
    if (e && is_new && !r->has_begun) e = error_join(e, remove_tree(r->c.folder));
    return e;
}

Error *training_run(const Registry *registry, const RunSettings *settings)
{
    Arena *a = arena_new();
    Run r = { .arena = a, .s = settings };
    Error *e = run(&r, registry);
    arena_free(a);
    return e;
}
