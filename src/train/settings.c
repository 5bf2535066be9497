/* settings.c - tables of a training configuration, and the rules over its numbers. */
#include "train/settings.h"
#include "base/log.h"
#include "passes/data_parallel.h"
#include <string.h>

/* clang-format off */
#define STRICT .flags = FIELD_STRICT
#define OPEN   .flags = FIELD_IGNORE_OTHERS
#define REFERRED .no_effect = "app_state says what is loaded; to be referred to"
static const Field rank_fields[] = {
    FIELD_INT(RankSettings, local_rank, NULL, 0, INFINITY, "rank on this machine", STRICT, .no_effect = "the training report tells it; to be referred to"),
    FIELD_INT(RankSettings, world_size, NULL, 1, INFINITY, "number of ranks", STRICT),
    FIELD_INT(RankSettings, global_rank, NULL, 0, INFINITY, "rank among all", STRICT),
    { 0 },
};
static const Field interval_fields[] = {
    FIELD_INT(Intervals, training_log_interval_in_steps, NULL, 1, INFINITY, "steps between two log lines", STRICT),
    FIELD_INT(Intervals, checkpointing_interval_in_steps, NULL, 1, INFINITY, "steps between two checkpoints", STRICT),
    FIELD_INT(Intervals, evaluation_interval_in_steps, NULL, 1, INFINITY, "steps between two evaluations", STRICT),
    FIELD_INT(Intervals, evaluation_batches, "null", 1, INFINITY, "an evaluation takes at most this many batches of each loader, always the first; null: all", STRICT),
    { 0 },
};
static const Field consistency_fields[] = {
    FIELD_BOOL(ConsistencyEnforcement, enforce_tokens_per_step_consistency, "true", "target tokens and steps must agree with the step profile"),
    FIELD_BOOL(ConsistencyEnforcement, enforce_last_step_logged, "true", "the last step must be one that is logged"),
    FIELD_BOOL(ConsistencyEnforcement, enforce_last_step_evaluated, "true", "the last step must be one with an evaluation"),
    FIELD_BOOL(ConsistencyEnforcement, enforce_last_step_checkpointed, "true", "the last step must be one with a checkpoint"),
    FIELD_BOOL(ConsistencyEnforcement, enforce_enough_tokens_in_dataset, "true", "the dataset must hold the target's tokens"),
    { 0 },
};
static const Field profile_fields[] = {
    FIELD_INT(StepProfile, gradient_accumulation_steps, NULL, 1, INFINITY, "forward passes of a step", STRICT),
    FIELD_INT(StepProfile, local_train_micro_batch_size, NULL, 1, INFINITY, "samples of one rank in a forward pass", STRICT),
    FIELD_INT(StepProfile, sequence_length, NULL, 1, INFINITY, "tokens of a sample", STRICT),
    FIELD_INT(StepProfile, dp_degree, NULL, 1, INFINITY, "ranks that share the data", STRICT),
    { 0 },
};
static const Field target_fields[] = {
    FIELD_INT(TrainingTarget, num_target_tokens, NULL, 1, INFINITY, "tokens of the whole training", STRICT),
    FIELD_INT(TrainingTarget, num_target_steps, NULL, 1, INFINITY, "steps of the whole training", STRICT),
    { 0 },
};
static const Field progress_fields[] = {
    FIELD_INT(TrainingProgress, global_num_seen_tokens, NULL, 0, INFINITY, "tokens of earlier runs, on all ranks", STRICT),
    FIELD_INT(TrainingProgress, num_seen_steps, NULL, 0, INFINITY, "steps of earlier runs", STRICT),
    FIELD_INT(TrainingProgress, num_seen_samples, NULL, 0, INFINITY, "samples of earlier runs", STRICT),
    FIELD_INT(TrainingProgress, last_step, NULL, -1, INFINITY, "steps of earlier runs, less one", STRICT),
    { 0 },
};
static const Field file_fields[] = {
    FIELD_PATH(struct WarmstartFiles, model_checkpoint_path, NULL, "weights", REFERRED),
    FIELD_PATH(struct WarmstartFiles, optimizer_checkpoint_path, "null", "optimizer state", REFERRED),
    FIELD_PATH(struct WarmstartFiles, checkpoint_folder_path, "null", "where both are", REFERRED),
    { 0 },
};
static const Field folder_fields[] = {
    FIELD_PATH(struct WarmstartFolder, checkpoint_folder_path, NULL, "folder of the checkpoint", REFERRED),
    { 0 },
};
static const Field warmstart_fields[] = {
    FIELD_STRUCT(WarmstartPaths, files, struct WarmstartFiles, file_fields, NULL, "files of FSDP1", OPEN),
    FIELD_STRUCT(WarmstartPaths, folder, struct WarmstartFolder, folder_fields, NULL, "a checkpoint folder", OPEN),
    { 0 },
};
static const char *const determinism[] = { "on|true", "off|false", NULL };
static const char *const on_nonfinite[] = { "stop", "skip", "ignore", NULL };
static const Field settings_fields[] = {
    FIELD_STRING(TrainingSettings, experiment_id, NULL, "name of the experiment's folder"),
    FIELD_PATH(TrainingSettings, config_file_path, NULL, "this file", .flags = FIELD_EXISTS),
    FIELD_MAP(TrainingSettings, referencing_keys, StringMap, &field_string_entry, NULL, "names to refer to with ${...}"),
    FIELD_STRUCT(TrainingSettings, cuda_env, RankSettings, rank_fields, NULL, "ranks", OPEN),
    FIELD_MAP(TrainingSettings, paths, StringMap, &field_string_entry, NULL, "paths to refer to; experiments_root_path is where experiments go"),
    FIELD_STRUCT(TrainingSettings, intervals, Intervals, interval_fields, NULL, "how often", OPEN),
    FIELD_STRUCT(TrainingSettings, consistency_enforcement, ConsistencyEnforcement, consistency_fields, NULL, "which contradictions are errors; the others are warnings", OPEN),
    FIELD_STRUCT(TrainingSettings, step_profile, StepProfile, profile_fields, NULL, "what one step is", OPEN),
    FIELD_STRUCT(TrainingSettings, training_target, TrainingTarget, target_fields, NULL, "where training ends", OPEN),
    FIELD_STRUCT(TrainingSettings, training_progress, TrainingProgress, progress_fields, NULL, "where training starts", OPEN),
    FIELD_UNION(TrainingSettings, warmstart_checkpoint_paths, WarmstartPaths, warmstart_fields, "null", "where training starts from", REFERRED),
    FIELD_COMPONENT(TrainingSettings, debugging, void, "debugging", "null", "hooks and determinism"),
    FIELD_CHOICE(TrainingSettings, on_nonfinite, "stop", on_nonfinite, "what a NaN or infinite loss or gradient norm does"),
    FIELD_CHOICE(TrainingSettings, determinism, "on", determinism, "whether every run gives the same bits; off: on GPUs gradients of attention are added up in any order, and products made by the quickest algorithm", .no_effect = "the CPU always gives the same bits"),
    FIELD_BOOL(TrainingSettings, tf32, "false", "products of f32 on GPUs from factors rounded to 11 bits, which is quicker", .no_effect = "the CPU multiplies f32 as it is"),
    FIELD_FLOAT(TrainingSettings, comm_timeout, "null", 0, 1e6, "seconds for which a rank waits for another one in a call before both are reported as hanging; null: MODALITIES_COMM_TIMEOUT, or 600", .flags = FIELD_OPEN_MIN, .no_effect_alone = "one rank waits for its GPU alone"),
    { 0 },
};
const Field training_config_fields[] = {
    FIELD_STRUCT(TrainingConfig, settings, TrainingSettings, settings_fields, NULL, "numbers and names of the run", OPEN),
    FIELD_COMPONENT(TrainingConfig, app_state, AppState, "app_state", NULL, "model, optimizer and scheduler"),
    FIELD_COMPONENT(TrainingConfig, loss_fn, Loss, "loss", NULL, "what training lowers"),
    FIELD_COMPONENT(TrainingConfig, train_dataset, Dataset, "dataset", NULL, "samples to train on"),
    FIELD_COMPONENT(TrainingConfig, train_dataloader, Loader, "data_loader", NULL, "their batches"),
    FIELD_COMPONENTS(TrainingConfig, eval_dataloaders, "data_loader", NULL, 0, 0, "batches to evaluate on"),
    FIELD_COMPONENT(TrainingConfig, progress_subscriber, Subscriber, "progress_subscriber", NULL, "shows progress"),
    FIELD_COMPONENT(TrainingConfig, evaluation_subscriber, Subscriber, "results_subscriber", NULL, "keeps results"),
    FIELD_COMPONENT(TrainingConfig, checkpoint_saving, CheckpointSaving, "checkpoint_saving", NULL, "when and where to save"),
    FIELD_COMPONENT(TrainingConfig, gradient_clipper, GradientClipper, "gradient_clipper", NULL, "bounds the gradient"),
    FIELD_COMPONENT(TrainingConfig, profiler, struct Profiler, "steppable_profiler", "null", "measures some steps"),
    FIELD_COMPONENT(TrainingConfig, mfu_calculator, Mfu, "mfu_calculator", "null", "share of the hardware's limit"),
    FIELD_COMPONENT(TrainingConfig, scheduled_pipeline, Pipeline, "pipeline", "null", "schedule over pipeline stages"),
    FIELD_COMPONENT(TrainingConfig, device_mesh, struct Mesh, "device_mesh", "null", "the ranks"),
    FIELD_COMPONENT(TrainingConfig, checkpoint_samples, struct CheckpointSamples, "checkpoint_samples", "null", "texts that the model makes at each checkpoint"),
    FIELD_COMPONENT(TrainingConfig, model_raw, Model, "model", NULL, "the model before it was wrapped", .no_effect = "app_state says what is trained; to be referred to"),
    { 0 },
};
/* clang-format on */

const Field *training_fields_named(Arena *a, const char *const *name, int n)
{
    Field *fields = NEW_N(a, Field, n + 1);
    for (int i = 0; i < n; i++)
        for (const Field *f = training_config_fields; f->name; f++)
            if (!strcmp(f->name, name[i])) fields[i] = *f;
    return fields;
}

int64_t samples_per_step(const StepProfile *p)
{
    return p->local_train_micro_batch_size * p->gradient_accumulation_steps * p->dp_degree;
}

int64_t tokens_per_step(const StepProfile *p)
{
    return samples_per_step(p) * p->sequence_length;
}

/* An error when it is enforced; else a warning and no error. */
static Error *judge(bool is_enforced, const char *flag, Error *e)
{
    if (is_enforced)
        return error_join(
            e, error_new("(consistency_enforcement.%s: false makes this a warning)", flag));
    log_warning("%s", error_text(e));
    error_free(e);
    return NULL;
}

static Error *check_tokens(const TrainingSettings *s)
{
    const TrainingTarget *target = &s->training_target;
    const TrainingProgress *seen = &s->training_progress;
    double steps = (double)(target->num_target_steps - seen->num_seen_steps);
    double required = (double)(target->num_target_tokens - seen->global_num_seen_tokens) / steps;
    int64_t profile = tokens_per_step(&s->step_profile);
    if (required == (double)profile) return NULL;
    char text[32];
    format_double(required, text);
    return judge(
        s->consistency_enforcement.enforce_tokens_per_step_consistency,
        "enforce_tokens_per_step_consistency",
        error_new("target and progress ask for %s tokens per step (%lld tokens in %lld steps), but "
                  "the step "
                  "profile gives %lld = micro batch %lld x sequence %lld x accumulation %lld x "
                  "dp_degree %lld",
                  text, (long long)(target->num_target_tokens - seen->global_num_seen_tokens),
                  (long long)(target->num_target_steps - seen->num_seen_steps), (long long)profile,
                  (long long)s->step_profile.local_train_micro_batch_size,
                  (long long)s->step_profile.sequence_length,
                  (long long)s->step_profile.gradient_accumulation_steps,
                  (long long)s->step_profile.dp_degree));
}

static Error *check_last_step(const TrainingProgress *p)
{
    if (p->last_step == p->num_seen_steps - 1) return NULL;
    return error_new("training_progress.last_step is %lld, but num_seen_steps is %lld; it must be "
                     "one less",
                     (long long)p->last_step, (long long)p->num_seen_steps);
}

typedef struct Interval {
    const char *name;
    int64_t steps;
    bool is_enforced;
    const char *flag;
} Interval;

enum { N_INTERVALS = 3 };

static void list_intervals(const TrainingSettings *s, Interval interval[N_INTERVALS])
{
    const ConsistencyEnforcement *c = &s->consistency_enforcement;
    const Intervals *i = &s->intervals;
    interval[0] = (Interval){ "training_log_interval_in_steps", i->training_log_interval_in_steps,
                              c->enforce_last_step_logged, "enforce_last_step_logged" };
    interval[1] = (Interval){ "evaluation_interval_in_steps", i->evaluation_interval_in_steps,
                              c->enforce_last_step_evaluated, "enforce_last_step_evaluated" };
    interval[2] = (Interval){ "checkpointing_interval_in_steps", i->checkpointing_interval_in_steps,
                              c->enforce_last_step_checkpointed, "enforce_last_step_checkpointed" };
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* The least number of steps that is a multiple of all that are enforced; 0: too large to name. */
static int64_t common_multiple(const Interval interval[N_INTERVALS])
{
    int64_t all = 1;
    for (int i = 0; i < N_INTERVALS; i++)
        if (interval[i].is_enforced &&
            __builtin_mul_overflow(all / common_divisor(all, interval[i].steps), interval[i].steps,
                                   &all))
            return 0;
    return all;
}

/* The targets next to the one asked for that all enforced intervals divide. */
static void put_fitting_targets(const TrainingSettings *s, int64_t multiple, Text *out)
{
    int64_t target = s->training_target.num_target_steps, above = 0,
            below = multiple ? target / multiple * multiple : 0;
    bool has_below = below > s->training_progress.num_seen_steps,
         has_above =
             multiple && !__builtin_add_overflow(target / multiple * multiple, multiple, &above);
    if (!has_below && !has_above) return;
    text_puts(out, "; the nearest targets that fit: ");
    if (has_below) text_printf(out, "%lld", (long long)below);
    if (has_above) text_printf(out, "%s%lld", has_below ? " and " : "", (long long)above);
}

/* Steps are counted from the first of the experiment, as they are when something is due. */
static Error *check_interval(const TrainingSettings *s, const Interval *i, int64_t multiple)
{
    int64_t target = s->training_target.num_target_steps;
    if (target % i->steps == 0) return NULL;
    Text fitting = { 0 };
    text_puts(&fitting, "");
    if (i->is_enforced) put_fitting_targets(s, multiple, &fitting);
    Error *e = judge(i->is_enforced, i->flag,
                     error_new("num_target_steps %lld is not a multiple of %s %lld%s",
                               (long long)target, i->name, (long long)i->steps, fitting.ptr));
    text_free(&fitting);
    return e;
}

Error *training_settings_check(const TrainingSettings *s)
{
    if (s->training_target.num_target_steps <= s->training_progress.num_seen_steps) return NULL;
    Error *e = error_join(check_tokens(s), check_last_step(&s->training_progress));
    Interval interval[N_INTERVALS];
    list_intervals(s, interval);
    int64_t multiple = common_multiple(interval);
    for (int i = 0; i < N_INTERVALS; i++)
        e = error_join(e, check_interval(s, &interval[i], multiple));
    return e;
}

Error *training_dataset_check(const TrainingSettings *s, int64_t n_samples)
{
    int64_t tokens = n_samples * s->step_profile.sequence_length;
    if (tokens >= s->training_target.num_target_tokens) return NULL;
    return judge(s->consistency_enforcement.enforce_enough_tokens_in_dataset,
                 "enforce_enough_tokens_in_dataset",
                 error_new("the training dataset has %lld samples x %lld tokens = %lld tokens, but "
                           "num_target_tokens is %lld",
                           (long long)n_samples, (long long)s->step_profile.sequence_length,
                           (long long)tokens, (long long)s->training_target.num_target_tokens));
}

static Yaml *reference_to(Arena *a, const char *key)
{
    Yaml *y = NEW(a, Yaml);
    y->type = YAML_MAP;
    yaml_set(a, y, "instance_key", yaml_string(a, key));
    yaml_set(a, y, "pass_type", yaml_string(a, "BY_REFERENCE"));
    return y;
}

static bool has_text(const Yaml *component, const char *key, const char *text)
{
    const Yaml *value = yaml_get(component, key);
    return value && value->type == YAML_STRING && !strcmp(value->text, text);
}

/* The top-level key of the only component of this kind, or of the only one that combines others;
 * NULL: there is none. `n` counts those that it could be. */
static const char *only_of_kind(const Yaml *root, const char *kind, int *n)
{
    const char *name = NULL;
    bool is_combined = false;
    *n = 0;
    for (int64_t i = 0; i < root->n; i++) {
        if (!has_text(root->item[i], "component_key", kind)) continue;
        const bool combines = has_text(root->item[i], "variant_key", "combined");
        if (is_combined && !combines) continue;
        *n = combines && !is_combined ? 1 : *n + 1;
        is_combined = combines;
        name = root->key[i]->text;
    }
    return name;
}

/* app_state.raw over the optimizer, the model that it updates, and the scheduler. */
static Error *complete_app_state(Arena *a, Yaml *root)
{
    int n_optimizers, n_schedulers;
    const char *optimizer = only_of_kind(root, "optimizer", &n_optimizers);
    const char *scheduler = only_of_kind(root, "scheduler", &n_schedulers);
    if (n_optimizers != 1 || n_schedulers > 1)
        return error_new("%s: app_state is missing; it could be made from one optimizer and at "
                         "most one scheduler, "
                         "but there are %d and %d at the top level",
                         root->file, n_optimizers, n_schedulers);
    const Yaml *optimizer_config = yaml_get(yaml_get(root, optimizer), "config");
    const Yaml *model = yaml_get(optimizer_config, "wrapped_model");
    if (!model) model = yaml_get(optimizer_config, "model_parts");
    if (!model)
        return error_new("%s: app_state is missing, and %s names no model", root->file, optimizer);
    Yaml *config = NEW(a, Yaml), *state = NEW(a, Yaml);
    config->type = state->type = YAML_MAP;
    yaml_set(a, config, "model", yaml_copy(a, model, NULL));
    yaml_set(a, config, "optimizer", reference_to(a, optimizer));
    if (scheduler) yaml_set(a, config, "lr_scheduler", reference_to(a, scheduler));
    yaml_set(a, state, "component_key", yaml_string(a, "app_state"));
    yaml_set(a, state, "variant_key", yaml_string(a, "raw"));
    yaml_set(a, state, "config", config);
    yaml_set(a, root, "app_state", state);
    log_info("%s: there is no app_state; it is made from %s%s%s", root->file, optimizer,
             scheduler ? " and " : "", scheduler ? scheduler : "");
    return NULL;
}

/* number_conversion.parallel_degree over the axes along which the data are split. */
static Yaml *data_parallel_degree(Arena *a)
{
    Yaml *axes = NEW(a, Yaml), *config = NEW(a, Yaml), *y = NEW(a, Yaml);
    axes->type = YAML_LIST;
    config->type = y->type = YAML_MAP;
    yaml_append(a, axes, yaml_string(a, mesh_axis_names[MESH_DP_REPLICATE - 1]));
    yaml_append(a, axes, yaml_string(a, mesh_axis_names[MESH_DP_SHARD - 1]));
    yaml_set(a, config, "device_mesh", reference_to(a, "device_mesh"));
    yaml_set(a, config, "parallelism_methods", axes);
    yaml_set(a, y, "component_key", yaml_string(a, "number_conversion"));
    yaml_set(a, y, "variant_key", yaml_string(a, "parallel_degree"));
    yaml_set(a, y, "config", config);
    return y;
}

static void complete_dp_degree(Arena *a, Yaml *root, const Rank *rank)
{
    Yaml *profile = yaml_find(root, "settings.step_profile");
    if (!profile || profile->type != YAML_MAP || yaml_get(profile, "dp_degree")) return;
    yaml_set(a, profile, "dp_degree",
             yaml_get(root, "device_mesh") ? data_parallel_degree(a)
                                           : yaml_int(a, rank ? rank->world_size : 1));
}

Error *training_config_complete(Arena *a, Yaml *root, const Rank *rank,
                                const char *experiments_root_path)
{
    complete_dp_degree(a, root, rank);
    Yaml *paths = yaml_find(root, "settings.paths");
    if (paths && paths->type == YAML_MAP && !yaml_get(paths, "experiments_root_path") &&
        experiments_root_path)
        yaml_set(a, paths, "experiments_root_path", yaml_string(a, experiments_root_path));
    return yaml_get(root, "app_state") ? NULL : complete_app_state(a, root);
}

Mesh training_mesh(const TrainingConfig *c, const Rank *rank)
{
    if (c->device_mesh) return *c->device_mesh;
    if (!rank) rank = &rank_alone;
    Mesh m = mesh_of_rank(rank);
    const Model *model = c->app_state ? c->app_state->model : NULL;
    if (model) data_parallel_place(model->data_parallel, rank, &m);
    return m;
}

bool training_settings_are_whole(const TrainingSettings *s)
{
    const Intervals *i = &s->intervals;
    return i->training_log_interval_in_steps && i->checkpointing_interval_in_steps &&
           i->evaluation_interval_in_steps && tokens_per_step(&s->step_profile) &&
           s->training_target.num_target_tokens && s->training_target.num_target_steps;
}

Error *training_config_validate(Builder *b, TrainingConfig *out)
{
    Error *e = builder_validate(b, training_config_fields, out);
    const Yaml *settings = yaml_get(builder_root(b), "settings");
    bool is_whole = settings && !builder_has_holes(b, "settings");
    if (!is_whole || !training_settings_are_whole(&out->settings)) return e;
    Error *rules = training_settings_check(&out->settings);
    return error_join(e, error_wrap(rules, "%s: settings", yaml_place(builder_arena(b), settings)));
}
