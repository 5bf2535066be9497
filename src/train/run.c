/* run.c - a training from its configuration to its end. */
#include "train/run.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "base/terminal.h"
#include "comm/mesh.h"
#include "comm/waiting.h"
#include "device/cuda_library.h"
#include "monitor/experiment.h"
#include "monitor/subscribers.h"
#include "train/crew.h"
#include "train/ending.h"
#include "train/keep_steps.h"
#include "train/make_job.h"
#include "train/resume.h"
#include "train/session.h"
#include "train/training_check.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Run {
    Arena *arena;
    Consensus *together; /* all ranks */
    const RunSettings *s;
    RunConfig c;
    RunRecord record;
    int lock; /* -1: none */
    TrainingEnd end;
} Run;

/* One line when the YAML asks for what this machine runs on CPUs. */
static void notice_device(const RunSettings *s, const RunConfig *c)
{
    const char *chosen = training_device(s);
    const Mesh *mesh = c->config.device_mesh;
    bool wants_cuda = mesh && mesh->device_type && !strcmp(mesh->device_type, "cuda");
    for (int64_t i = 0; i < builder_count(c->builder); i++) {
        const Component *part = builder_at(c->builder, i);
        wants_cuda |= !strcmp(part->kind, "model") && !strncmp(part->variant, "fsdp", 4);
    }
    const int64_t n = builder_rank(c->builder)->world_size;
    if (chosen && strcmp(chosen, "cpu")) return;
    if (wants_cuda && n == 1)
        log_info("the configuration asks for GPUs; it runs here as one CPU rank");
    else if (wants_cuda)
        log_info("the configuration asks for GPUs; it runs here as %lld CPU ranks", (long long)n);
}

static void print_report(const TrainingPlan *p)
{
    const bool is_shown = is_terminal(STDOUT_FILENO);
    Text t = { 0 };
    training_report_shown(p, is_shown ? terminal_width(STDOUT_FILENO) : INT_MAX,
                          terminal_has_colours(STDOUT_FILENO), &t);
    printf("%s\n", t.ptr);
    text_free(&t);
}

/* Samples that this rank has seen, of those that all had seen when the checkpoint was saved, maybe
 * by another number of ranks. */
static Error *place_in_data(const Run *r, int64_t *out)
{
    const TrainingPosition *p = &r->s->resume->position;
    int64_t was = p->dp_degree, is = r->c.config.settings.step_profile.dp_degree;
    int64_t seen = p->loader_position * was;
    const Dataset *data = r->c.config.train_dataset;
    TRY(changes_of_data(p, r->s->changes.data, data->count(data), &seen));
    *out = seen / is;
    if (seen % is == 0) return NULL;
    return error_new(
        "%lld data-parallel ranks have seen %lld samples each, which %lld ranks cannot "
        "share evenly: go on with %lld",
        (long long)was, (long long)p->loader_position, (long long)is, (long long)was);
}

/* The state after the last checkpoint, in place of the one that the configuration begins with. */
static Error *go_back(const Run *r, Events *events)
{
    const ResumePoint *p = r->s->resume;
    const TrainingMoment to = { .step = p->position.steps,
                                .train_tag = loader_tag(r->c.config.train_dataloader),
                                .is_evaluated = p->position.is_evaluated };
    int64_t place = 0;
    if (p->checkpoint) TRY(place_in_data(r, &place)); /* an error changes nothing yet */
    TRY(events_go_back(events, &to));
    if (!p->checkpoint) return NULL;
    if (consensus_leads(r->together))
        TRY(checkpoint_saving_go_on(r->c.config.checkpoint_saving, p->checkpoint));
    return loader_seek(r->c.config.train_dataloader, place);
}

static Error *set_progress(Run *r)
{
    const ResumePoint *p = r->s->resume;
    TrainingConfig *c = &r->c.config;
    if (!p || !p->checkpoint) return NULL;
    c->settings.training_progress =
        (TrainingProgress){ .global_num_seen_tokens = p->position.tokens,
                            .num_seen_steps = p->position.steps,
                            .num_seen_samples =
                                p->position.tokens / c->settings.step_profile.sequence_length,
                            .last_step = p->position.steps - 1 };
    c->app_state->checkpoint_path = p->checkpoint;
    c->app_state->model->weights_path = NULL; /* the checkpoint has them all */
    c->app_state->optimizer->state_path = NULL;
    return changes_of_step(&p->position, p->checkpoint, r->s->changes.step, &c->settings);
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
    r->record.ranks = s->rank ? s->rank->world_size : 1;
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

/* On rank 0: what all share is made, and told to the user. */
static Error *open_training(Run *r, Events *events)
{
    TrainingConfig *c = &r->c.config;
    if (!consensus_leads(r->together)) return NULL;
    TRY(checkpoint_saving_prepare(c->checkpoint_saving));
    TRY(keep_record(r));
    TrainingPlan plan = training_plan(&c->settings, c->train_dataset->count(c->train_dataset));
    print_report(&plan);
    events_subscribe(events, console_subscriber(r->arena));
    events_subscribe(events, record_steps_subscriber(r->arena, r->c.folder, &r->record));
    events_subscribe(events, c->progress_subscriber);
    events_subscribe(events, c->evaluation_subscriber);
    return NULL;
}

static void say_now(const Run *r, const char *what)
{
    char now[64];
    clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
    if (consensus_leads(r->together)) printf("%s at %s.\n", what, now);
    fflush(stdout);
}

/* What every rank ends with; only rank 0 says why. */
static Error *stopped(const Run *r, const char *how)
{
    return consensus_leads(r->together) ? error_stopped("%s", how) : error_silent(EXIT_STOPPED);
}

static Error *train(Run *r)
{
    Events events = { 0 };
    Error *e = open_training(r, &events);
    if (!e && r->s->resume) e = go_back(r, &events);
    TRY(consensus_error(r->together, e));
    TrainingJob job = training_job(r->arena, r->s, &r->c, &events);
    if (consensus_leads(r->together)) keep_steps(r->arena, &r->c, r->s, &job);
    say_now(r, "Start model training");
    e = trainer_run(&job, &r->end);
    const TrainingEnd end = r->end;
    e = error_join(e, events_close(&events)); /* ends the live display */
    if (e && end.saved_steps > 0 && consensus_leads(r->together))
        e = error_join(e, error_new("%s", how_to_go_on(r->arena, r->s, &r->c)));
    TRY(consensus_error(r->together, e));
    const char *how = ending_text(r->arena, r->s, &r->c, &end);
    if (end.reason != END_SIGNAL) log_info("%s", how);
    bool is_done = end.reason == END_TARGET || end.reason == END_NOTHING_LEFT;
    say_now(r, is_done ? "Training done" : "Training stopped");
    return end.reason == END_SIGNAL ? stopped(r, how) : NULL;
}

static Error *build(Run *r)
{
    RunConfig *c = &r->c;
    if (consensus_leads(r->together)) TRY(run_config_keep(r->arena, r->s, c));
    TRY(builder_build(c->builder, training_config_fields, &c->config));
    return training_check(c->builder, &c->config,
                          r->s->last_checkpoint_info_path ? r->s->config_file_path : NULL);
}

/* Signals are caught from before `build` on; a rank that none has reached hears of it from the
 * others. */
static Error *build_all(Run *r)
{
    double stop = 0;
    Error *e = build(r);
    stop = signal_number();
    TRY(consensus_reach(r->together, e, &stop, 1));
    if (stop == 0) return NULL;
    return stopped(r, arena_printf(r->arena,
                                   "Stopped by signal %d before the first step; nothing "
                                   "is left of this run.",
                                   (int)stop));
}

/* mpirun ends its ranks soon after the signal that it got itself. */
static const char *launcher_warning(const Run *r)
{
    const bool is_process = r->s->rank && r->s->rank->launcher == LAUNCHER_MPI;
    if (!is_process || !consensus_leads(r->together)) return "";
    return "an mpirun that was stopped itself soon ends all ranks, saved or not, unless "
           "OMPI_MCA_odls_base_sigkill_timeout leaves them time; the last checkpoint stays whole\n";
}

static Error *build_and_train(Run *r)
{
    TRY(build_all(r));
    notice_device(r->s, &r->c);
    TRY(consensus_error(r->together, set_progress(r)));
    crew_notice(r->s->crew);
    signal_catch_in_steps(launcher_warning(r));
    crew_watch(r->s->crew);
    return train(r);
}

/* On rank 0: the experiment's folder is this job's alone; where a training goes on, it is so
 * already. */
static Error *claim(Run *r)
{
    if (r->s->resume || !consensus_leads(r->together)) return NULL;
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

static Error *check_options(const RunSettings *s)
{
    TRY(session_check_device(s->device));
    return session_check_trace(s->print_graph);
}

/* Products on GPUs are made as before when a run goes on; a rank has its own. */
static const char *algorithms_path(const Run *r)
{
    const Rank *rank = r->s->rank;
    const char *name = rank && rank->rank > 0 ? arena_printf(r->arena, "gpu_algorithms_%lld.txt",
                                                             (long long)rank->rank)
                                              : "gpu_algorithms.txt";
    return path_join(r->arena, r->c.folder, name);
}

/* A warm start makes them as the run did from which it goes on. */
static Error *take_algorithms_over(const Run *r)
{
    const char *info = r->s->last_checkpoint_info_path, *to = algorithms_path(r);
    const char *before = info ? training_experiment(r->arena, info) : NULL;
    Str text;
    if (!before || file_exists(to)) return NULL;
    const char *from = path_join(r->arena, before, path_name(to));
    if (!file_exists(from)) return NULL;
    TRY(file_read(r->arena, from, &text));
    return file_write(to, text.ptr, text.len);
}

static Error *run(Run *r, const Registry *registry)
{
    const bool leads = consensus_leads(r->together);
    TRY(consensus_error(r->together, check_options(r->s)));
    TRY(run_config_read(r->arena, r->s, registry, &r->c));
    const double *timeout = r->c.config.settings.comm_timeout;
    consensus_wait_at_most(r->together, timeout);
    gpu_allow(&(GpuFreedom){ .any_order = r->c.config.settings.determinism == 1,
                             .tf32 = r->c.config.settings.tf32,
                             .longest = timeout ? *timeout : waiting_timeout(),
                             .record = algorithms_path(r) });
    if (nothing_left(r)) {
        log_info("%s: the target of %lld steps is reached; nothing is left to do", r->c.folder,
                 (long long)r->c.config.settings.training_target.num_target_steps);
        return NULL;
    }
    signal_catch();
    bool is_new = !r->s->resume && (!r->s->experiment_id || !file_exists(r->c.folder));
    TRY(consensus_error(r->together, claim(r)));
    TRY(consensus_error(r->together, take_algorithms_over(r)));
    Error *e = build_and_train(r);
    if (!leads) return e;
    /* a folder without a step would only be in the way of the next attempt, unless it can be gone
     * on from */
    const bool goes_on = e && error_exit_status(e) == EXIT_STOPPED && r->record.experiment;
    if (e && is_new && !has_begun(r) && !goes_on) return error_join(e, remove_tree(r->c.folder));
    return error_join(e, close_record(r, e));
}

Error *training_run(const Registry *registry, const RunSettings *settings)
{
    Arena *a = arena_new();
    Run r = { .arena = a, .s = settings, .together = crew_consensus(settings->crew), .lock = -1 };
    Error *e = run(&r, registry);
    if (r.lock >= 0) close(r.lock);
    arena_free(a);
    return e;
}
