/* run.c - reads the configuration, makes the job, runs it. */
#include "train/run.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/signal.h"
#include "comm/mesh.h"
#include "config/yaml_emit.h"
#include "monitor/experiment.h"
#include "monitor/subscribers.h"
#include "monitor/training_report.h"
#include "passes/passes.h"
#include "train/agreement.h"
#include "train/session.h"
#include "train/settings.h"
#include "train/trainer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct Run {
    Arena *arena;
    const RunSettings *s;
    const char *experiment_id, *folder;
    bool has_begun; /* steps were done */
    Yaml *root;
    TrainingConfig config;
} Run;

static Error *check_world(void)
{
    const char *world = environment_get("WORLD_SIZE");
    if (!world || atoi(world) <= 1) return NULL;
    return error_new("WORLD_SIZE is %s: more than one rank is not built yet", world);
}

/* A name that no pass has would print nothing. */
static Error *check_print_graph(const char *print)
{
    static const PassDef *const passes[] = { &pass_initialize, &pass_autodiff, &pass_precision,
                                             &pass_recompute,  &pass_fuse,     &pass_optimize };
    if (!print) return NULL;
    const char *colon = strchr(print, ':');
    bool has_place = !strncmp(print, "before:", 7) || !strncmp(print, "after:", 6);
    if (has_place && !strcmp(colon + 1, "all")) return NULL;
    Text names = { 0 };
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        if (has_place && !strcmp(colon + 1, passes[i]->name)) {
            text_free(&names);
            return NULL;
        }
        text_printf(&names, ", %s", passes[i]->name);
    }
    Error *e = error_usage("--print_graph %s: the form is before:PASS or after:PASS; allowed are "
                           "all%s",
                           print, names.ptr);
    text_free(&names);
    return e;
}

static Error *load_config(Run *r)
{
    const RunSettings *s = r->s;
    Yaml *checkpoint_paths = NULL;
    if (s->last_checkpoint_info_path)
        TRY(yaml_read_json(r->arena, s->last_checkpoint_info_path, &checkpoint_paths));
    const ResolverContext context = { .config_file_path = s->config_file_path,
                                      .experiments_root_path = s->experiments_root_path,
                                      .experiment_id = r->experiment_id,
                                      .checkpoint_paths = checkpoint_paths };
    TRY(config_load(r->arena, s->config_file_path, s->overrides, &context, &r->root));
    return training_config_complete(r->arena, r->root, s->experiments_root_path);
}

static Error *write_resolved(FILE *to, void *context)
{
    Text t = { 0 };
    yaml_emit(context, &t);
    fwrite(t.ptr, 1, t.len, to);
    text_free(&t);
    return NULL;
}

static Error *make_folder(Run *r)
{
    const Experiment x = { .root = r->s->experiments_root_path,
                           .id = r->experiment_id,
                           .config_file_path = r->s->config_file_path,
                           .write_resolved = write_resolved,
                           .context = r->root };
    return experiment_create(r->arena, &x, &r->folder);
}

/* One line when the YAML asks for what this machine runs as one CPU rank. */
static void notice_device(const Run *r, const Builder *b)
{
    const Mesh *mesh = r->config.device_mesh;
    bool wants_cuda = mesh && mesh->device_type && !strcmp(mesh->device_type, "cuda");
    for (int64_t i = 0; i < builder_count(b); i++) {
        const Component *c = builder_at(b, i);
        wants_cuda |= !strcmp(c->kind, "model") && !strncmp(c->variant, "fsdp", 4);
    }
    if (wants_cuda) log_info("the configuration asks for GPUs; it runs here as one CPU rank");
}

static TrainingPlan plan_of(const TrainingSettings *s, int64_t n_samples)
{
    const ConsistencyEnforcement *c = &s->consistency_enforcement;
    return (TrainingPlan){
        .num_target_tokens = s->training_target.num_target_tokens,
        .num_target_steps = s->training_target.num_target_steps,
        .training_log_interval_in_steps = s->intervals.training_log_interval_in_steps,
        .checkpointing_interval_in_steps = s->intervals.checkpointing_interval_in_steps,
        .evaluation_interval_in_steps = s->intervals.evaluation_interval_in_steps,
        .gradient_accumulation_steps = s->step_profile.gradient_accumulation_steps,
        .local_train_micro_batch_size = s->step_profile.local_train_micro_batch_size,
        .sequence_length = s->step_profile.sequence_length,
        .dp_degree = s->step_profile.dp_degree,
        .local_rank = s->cuda_env.local_rank,
        .world_size = s->cuda_env.world_size,
        .global_rank = s->cuda_env.global_rank,
        .enforce_tokens_per_step_consistency = c->enforce_tokens_per_step_consistency,
        .enforce_last_step_logged = c->enforce_last_step_logged,
        .enforce_last_step_evaluated = c->enforce_last_step_evaluated,
        .enforce_last_step_checkpointed = c->enforce_last_step_checkpointed,
        .enforce_enough_tokens_in_dataset = c->enforce_enough_tokens_in_dataset,
        .global_num_seen_tokens = s->training_progress.global_num_seen_tokens,
        .num_seen_steps = s->training_progress.num_seen_steps,
        .num_seen_samples = s->training_progress.num_seen_samples,
        .last_step = s->training_progress.last_step,
        .n_samples = n_samples,
    };
}

static void print_report(const TrainingPlan *p)
{
    Text t = { 0 };
    training_report(p, &t);
    printf("%s\n", t.ptr);
    text_free(&t);
}

/* Of the resolved configuration, so that a checkpoint tells what made it. */
static const char *digest(Run *r)
{
    Text t = { 0 };
    yaml_emit(r->root, &t);
    char hex[65];
    sha256_hex(t.ptr, t.len, hex);
    text_free(&t);
    return arena_string(r->arena, hex);
}

static TrainingJob job_of(Run *r, Events *events)
{
    const TrainingConfig *c = &r->config;
    const TrainingSettings *s = &c->settings;
    return (TrainingJob){
        .state = c->app_state,
        .loss = c->loss_fn,
        .clipper = c->gradient_clipper,
        .train = c->train_dataloader,
        .evaluation = { (Loader **)c->eval_dataloaders.item, c->eval_dataloaders.n },
        .saving = c->checkpoint_saving,
        .mfu = c->mfu_calculator,
        .events = events,
        .accumulation = s->step_profile.gradient_accumulation_steps,
        .microbatch_size = s->step_profile.local_train_micro_batch_size,
        .sequence_length = s->step_profile.sequence_length,
        .dp_degree = s->step_profile.dp_degree,
        .target_steps = s->training_target.num_target_steps,
        .target_tokens = s->training_target.num_target_tokens,
        .seen_steps = s->training_progress.num_seen_steps,
        .seen_tokens = s->training_progress.global_num_seen_tokens,
        .log_every = s->intervals.training_log_interval_in_steps,
        .evaluate_every = s->intervals.evaluation_interval_in_steps,
        .checkpoint_every = s->intervals.checkpointing_interval_in_steps,
        .on_nonfinite = (OnNonfinite)s->on_nonfinite,
        .initial_weights = r->s->initial_weights_path,
        .config_digest = digest(r),
        .trace = { .print = r->s->print_graph, .to = stdout },
        .n_threads = r->s->n_threads,
        .observe = r->s->observe,
        .observer = r->s->observer,
    };
}

/* One word for a shell. */
static void put_word(Text *out, const char *option, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=,:+@%";
    text_printf(out, " %s ", option);
    if (*word && !word[strspn(word, plain)]) {
        text_puts(out, word);
        return;
    }
    text_putc(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            text_puts(out, "'\\''");
        else
            text_putc(out, *word);
    text_putc(out, '\'');
}

/* What to type to go on. Only a warm start's own YAML is known to fit. */
static void put_how_to_go_on(Run *r, Text *out)
{
    const RunSettings *s = r->s;
    text_puts(out, "To go on:\n  modalities warmstart");
    put_word(out, "--config_file_path",
             s->last_checkpoint_info_path ? s->config_file_path : "WARMSTART.yaml");
    put_word(out, "--experiments_root_path", s->experiments_root_path);
    put_word(out, "--last_checkpoint_info_file_path",
             path_join(r->arena, r->config.checkpoint_saving->execution.checkpoint_path,
                       LAST_CHECKPOINT_INFO));
    for (int64_t i = 0; i < s->overrides.n; i++) put_word(out, "--set", s->overrides.item[i]);
}

static void put_all_done(const Run *r, const TrainingEnd *end, Text *out)
{
    text_printf(out, end->steps == 1 ? "The step is done" : "All %" PRId64 " steps are done",
                end->steps);
    if (end->saved_steps == end->steps)
        text_puts(out, " and saved.");
    else if (r->config.checkpoint_saving->strategy.keep == 0)
        text_puts(out, ".");
    else if (end->saved_steps >= 0)
        text_printf(out, "; the last checkpoint is that of step %" PRId64 ".", end->saved_steps);
    else
        text_printf(out,
                    "; no checkpoint was written: checkpointing_interval_in_steps is %" PRId64 ".",
                    r->config.settings.intervals.checkpointing_interval_in_steps);
}

static void put_early_end(Run *r, const TrainingEnd *end, Text *out)
{
    const TrainingSettings *s = &r->config.settings;
    if (end->reason == END_SIGNAL)
        text_printf(out, "Stopped by signal %d", signal_number());
    else
        text_puts(out, "warning: the training data ended");
    text_printf(out, " after step %" PRId64 " of %" PRId64 "; ", end->steps,
                s->training_target.num_target_steps);
    if (end->saved_steps == end->steps) {
        text_puts(out, "the state is saved. ");
        put_how_to_go_on(r, out);
    } else if (end->steps == s->training_progress.num_seen_steps) {
        text_puts(out, "nothing new was learnt.");
    } else {
        text_puts(out, "nothing is saved, as checkpoint_saving_strategy says.");
    }
}

static const char *how_it_ended(Run *r, const TrainingEnd *end)
{
    Text t = { 0 };
    if (end->reason == END_NOTHING_LEFT)
        text_printf(&t, "The target of %" PRId64 " steps is reached already: nothing left to do.",
                    r->config.settings.training_target.num_target_steps);
    else if (end->reason == END_TARGET)
        put_all_done(r, end, &t);
    else
        put_early_end(r, end, &t);
    const char *text = arena_string(r->arena, t.ptr);
    text_free(&t);
    return text;
}

/* A warm start with the YAML of a fresh run would begin anew without a word. */
static Error *check_goes_on(const Run *r)
{
    const AppState *state = r->config.app_state;
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
    TrainingConfig *c = &r->config;
    TRY(check_goes_on(r));
    int64_t n_samples = c->train_dataset->count(c->train_dataset);
    TRY(training_dataset_check(&c->settings, n_samples));
    TRY(checkpoint_saving_prepare(c->checkpoint_saving));
    TrainingPlan plan = plan_of(&c->settings, n_samples);
    print_report(&plan);
    Events events = { 0 };
    events_subscribe(&events, console_subscriber(r->arena));
    events_subscribe(&events, c->progress_subscriber);
    events_subscribe(&events, c->evaluation_subscriber);
    TrainingJob job = job_of(r, &events);
    char now[64];
    clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
    printf("Start model training at %s.\n", now);
    fflush(stdout);
    TrainingEnd end;
    Error *e = trainer_run(&job, &end);
    r->has_begun = end.steps > 0;
    if (!e)
        e = events_publish(&events, (Event){ .kind = EVENT_DONE, .text = how_it_ended(r, &end) });
    e = error_join(e, events_close(&events));
    if (e) return e;
    clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
    bool is_done = end.reason == END_TARGET || end.reason == END_NOTHING_LEFT;
    printf("Training %s at %s.\n", is_done ? "done" : "stopped", now);
    return NULL;
}

static Error *build_and_train(Run *r, Builder *b)
{
    TRY(make_folder(r));
    TRY(builder_build(b, training_config_fields, &r->config));
    TRY(training_agreement_check(b, &r->config));
    notice_device(r, b);
    signal_catch_in_steps();
    return train(r);
}

/* The configuration as experiment r->experiment_id. */
static Error *read_config(Run *r, const Registry *registry, Builder **out)
{
    TRY(experiment_id_check(r->experiment_id));
    TRY(load_config(r));
    *out = builder_new(r->arena, registry, r->root, NULL);
    return training_config_validate(*out, &r->config);
}

/* The same with an id of its own, which the configuration may name; a folder is made only if there
 * is no mistake. */
static Error *read_config_for_new_id(Run *r, const Registry *registry, Builder **out)
{
    for (bool is_ours = false; !is_ours;) {
        r->experiment_id = experiment_id_new(r->arena, r->s->config_file_path);
        TRY(read_config(r, registry, out));
        TRY(experiment_claim(r->arena, r->s->experiments_root_path, r->experiment_id, &is_ours));
    }
    return NULL;
}

static Error *run(Run *r, const Registry *registry)
{
    Builder *b;
    TRY(session_check_device(r->s->device));
    TRY(check_world());
    TRY(check_print_graph(r->s->print_graph));
    r->experiment_id = r->s->experiment_id;
    TRY(r->experiment_id ? read_config(r, registry, &b) : read_config_for_new_id(r, registry, &b));
    const char *folder = path_join(r->arena, r->s->experiments_root_path, r->experiment_id);
    bool is_new = !r->s->experiment_id || !file_exists(folder);
    Error *e = build_and_train(r, b);
    /* a folder without a step would only be in the way of the next attempt */
    if (e && is_new && !r->has_begun) e = error_join(e, remove_tree(folder));
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
