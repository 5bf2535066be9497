/* run.c - a training from its configuration to its end. */
#include "train/run.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "comm/mesh.h"
#include "monitor/experiment.h"
#include "monitor/subscribers.h"
#include "train/crew.h"
#include "train/ending.h"
#include "train/make_job.h"
#include "train/session.h"
#include "train/training_check.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Run {
    Arena *arena;
    const RunSettings *s;
    RunConfig c;
    RunRecord record;
    int lock; /* -1: none */
    TrainingEnd end;
} Run;

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

/* The state after the last checkpoint, in place of the one that the configuration begins with. */
static Error *go_back(const Run *r, Events *events)
{
    const ResumePoint *p = r->s->resume;
    const TrainingMoment to = { .step = p->position.steps,
                                .train_tag = loader_tag(r->c.config.train_dataloader),
                                .is_evaluated = p->position.is_evaluated };
    TRY(events_go_back(events, &to));
    if (!p->checkpoint) return NULL;
    TRY(checkpoint_saving_go_on(r->c.config.checkpoint_saving, p->checkpoint));
    return loader_seek(r->c.config.train_dataloader, p->position.loader_position);
}

static void set_progress(Run *r)
{
    const ResumePoint *p = r->s->resume;
    TrainingConfig *c = &r->c.config;
    if (!p || !p->checkpoint) return;
    c->settings.training_progress =
        (TrainingProgress){ .global_num_seen_tokens = p->position.tokens,
                            .num_seen_steps = p->position.steps,
                            .num_seen_samples =
                                p->position.tokens / c->settings.step_profile.sequence_length,
                            .last_step = p->position.steps - 1 };
    c->app_state->checkpoint_path = p->checkpoint;
    c->app_state->model->weights_path = NULL; /* the checkpoint has them all */
    c->app_state->optimizer->state_path = NULL;
}

/* What `resume` needs, in the experiment's folder and in each checkpoint. */
static Error *keep_record(Run *r)
{
    CheckpointSaving *saving = r->c.config.checkpoint_saving;
    const CheckpointExecution *x = &saving->execution;
    const RunSettings *s = r->s;
    Arena *a = r->arena;
    const TrainingSettings *t = &r->c.config.settings;
    if (s->resume) r->record = *s->resume->record;
    r->record.state = RUN_RUNNING;
    r->record.why = "";
    r->record.target_steps = t->training_target.num_target_steps;
    r->record.experiment = path_absolute(a, r->c.folder);
    r->record.checkpoints = path_absolute(a, x->checkpoint_path);
    r->record.checkpoint_id = x->experiment_id;
    if (!s->resume) {
        r->record.start_folder = path_absolute(a, ".");
        r->record.config_file_path = s->config_file_path;
        r->record.initial_weights = s->initial_weights_path;
    }
    Text t2 = { 0 };
    run_record_put(&r->record, false, &t2);
    CheckpointFile *file = NEW_N(a, CheckpointFile, 2);
    file[0] = (CheckpointFile){ RUN_RECORD, arena_string(a, t2.ptr) };
    file[1] = (CheckpointFile){ RUN_YAML, run_config_text(a, &r->c) };
    text_free(&t2);
    saving->beside = file;
    saving->n_beside = 2;
    return run_record_write(r->c.folder, &r->record);
}

/* Whether this process did a step. */
static bool has_begun(const Run *r)
{
    return r->end.steps > r->c.config.settings.training_progress.num_seen_steps;
}

/* How it ended, for `resume` and `report`. */
static Error *close_record(Run *r, const Error *e)
{
    bool is_done = r->end.reason == END_TARGET || r->end.reason == END_NOTHING_LEFT;
    if (!r->record.experiment || !is_directory(r->c.folder)) return NULL;
    r->record.state = !e && is_done                               ? RUN_DONE
                      : e && error_exit_status(e) != EXIT_STOPPED ? RUN_FAILED
                                                                  : RUN_STOPPED;
    if (r->record.state == RUN_FAILED) r->record.why = error_text(e);
    if (has_begun(r)) r->record.steps = r->end.steps;
    return run_record_write(r->c.folder, &r->record);
}

static Error *train(Run *r)
{
    TrainingConfig *c = &r->c.config;
    int64_t n_samples = c->train_dataset->count(c->train_dataset);
    TRY(checkpoint_saving_prepare(c->checkpoint_saving));
    TRY(keep_record(r));
    TrainingPlan plan = training_plan(&c->settings, n_samples);
    print_report(&plan);
    Events events = { 0 };
    events_subscribe(&events, console_subscriber(r->arena));
    events_subscribe(&events, c->progress_subscriber);
    events_subscribe(&events, c->evaluation_subscriber);
    if (r->s->resume) TRY(go_back(r, &events));
    TrainingJob job = training_job(r->arena, r->s, &r->c, &events);
    char now[64];
    clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
    printf("Start model training at %s.\n", now);
    fflush(stdout);
    Error *e = trainer_run(&job, &r->end);
    const TrainingEnd end = r->end;
    e = error_join(e, events_close(&events)); /* ends the live display */
    if (e && end.saved_steps > 0)
        e = error_join(e, error_new("%s", how_to_go_on(r->arena, r->s, &r->c)));
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
    TRY(training_check(c->builder, &c->config,
                       r->s->last_checkpoint_info_path ? r->s->config_file_path : NULL));
    notice_device(c);
    set_progress(r);
    crew_notice(r->s->crew, samples_per_step(&c->config.settings.step_profile));
    signal_catch_in_steps();
    crew_watch(r->s->crew);
    return train(r);
}

/* The experiment's folder is this process's alone; where a training goes on, it is so already. */
static Error *claim(Run *r)
{
    if (r->s->resume) return NULL;
    TRY(make_directories(r->c.folder));
    TRY(run_lock_take(r->arena, r->c.folder, &r->lock));
    return experiment_check_unused(r->arena, r->c.folder);
}

static bool nothing_left(const Run *r)
{
    const ResumePoint *p = r->s->resume;
    int64_t target = r->c.config.settings.training_target.num_target_steps;
    if (!p || !target) return false;
    bool is_done = p->record->state == RUN_DONE && p->record->steps >= target;
    return is_done || (p->checkpoint && p->position.steps >= target && p->position.is_evaluated);
}

static Error *run(Run *r, const Registry *registry)
{
    TRY(session_check_device(r->s->device));
    TRY(session_check_trace(r->s->print_graph));
    TRY(run_config_read(r->arena, r->s, registry, &r->c));
    if (nothing_left(r)) {
        log_info("%s: the target of %lld steps is reached; nothing is left to do", r->c.folder,
                 (long long)r->c.config.settings.training_target.num_target_steps);
        return NULL;
    }
    bool is_new = !r->s->resume && (!r->s->experiment_id || !file_exists(r->c.folder));
    TRY(claim(r));
    Error *e = build_and_train(r);
    /* a folder without a step would only be in the way of the next attempt */
    if (e && is_new && !has_begun(r)) return error_join(e, remove_tree(r->c.folder));
    return error_join(e, close_record(r, e));
}

Error *training_run(const Registry *registry, const RunSettings *settings)
{
    Arena *a = arena_new();
    Run r = { .arena = a, .s = settings, .lock = -1 };
    Error *e = run(&r, registry);
    if (r.lock >= 0) close(r.lock);
    arena_free(a);
    return e;
}
