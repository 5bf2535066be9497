/* settings.h - what `settings` and the other top-level keys of a training configuration say. */
#ifndef TRAIN_SETTINGS_H
#define TRAIN_SETTINGS_H
#include "comm/mesh.h"
#include "config/builder.h"
#include "passes/pipeline.h"
#include "train/job.h"

typedef struct RankSettings {
    int64_t local_rank, world_size, global_rank;
} RankSettings;

typedef struct Intervals {
    int64_t training_log_interval_in_steps, checkpointing_interval_in_steps,
        evaluation_interval_in_steps;
    const int64_t *evaluation_batches; /* of each loader; NULL: all */
} Intervals;

/* True: what does not fit together is an error; false: a warning. */
typedef struct ConsistencyEnforcement {
    bool enforce_tokens_per_step_consistency, enforce_last_step_logged, enforce_last_step_evaluated,
        enforce_last_step_checkpointed, enforce_enough_tokens_in_dataset;
} ConsistencyEnforcement;

typedef struct StepProfile {
    int64_t gradient_accumulation_steps, local_train_micro_batch_size, sequence_length, dp_degree;
} StepProfile;

typedef struct TrainingTarget {
    int64_t num_target_tokens, num_target_steps;
} TrainingTarget;

typedef struct TrainingProgress {
    int64_t global_num_seen_tokens, num_seen_steps, num_seen_samples, last_step;
} TrainingProgress;

/* Either the folder of a checkpoint, or the files of FSDP1; only informative. */
typedef struct WarmstartPaths {
    int which;
    struct WarmstartFiles {
        const char *model_checkpoint_path, *optimizer_checkpoint_path, *checkpoint_folder_path;
    } files;
    struct WarmstartFolder {
        const char *checkpoint_folder_path;
    } folder;
} WarmstartPaths;

typedef struct TrainingSettings {
    const char *experiment_id, *config_file_path;
    StringMap referencing_keys, paths;
    RankSettings cuda_env;
    Intervals intervals;
    ConsistencyEnforcement consistency_enforcement;
    StepProfile step_profile;
    TrainingTarget training_target;
    TrainingProgress training_progress;
    const WarmstartPaths *warmstart_checkpoint_paths;
    void *debugging;
    int on_nonfinite; /* OnNonfinite */
    int determinism;  /* 1: off */
    bool tf32;
    const double *comm_timeout; /* seconds; NULL: what waiting.h says */
} TrainingSettings;

/* The top-level keys of `run` and `warmstart`. */
typedef struct TrainingConfig {
    TrainingSettings settings;
    AppState *app_state;
    Loss *loss_fn;
    Dataset *train_dataset;
    Loader *train_dataloader;
    ComponentList eval_dataloaders; /* of Loader */
    Subscriber *progress_subscriber, *evaluation_subscriber;
    CheckpointSaving *checkpoint_saving;
    GradientClipper *gradient_clipper;
    Model *model_raw;
    struct Profiler *profiler;
    Mfu *mfu_calculator;
    Pipeline *scheduled_pipeline;
    struct CheckpointSamples *checkpoint_samples;
    Mesh *device_mesh;
} TrainingConfig;

/* For builder_build and builder_validate; required keys in the order in which the original builds
 * them. */
extern const Field training_config_fields[];
/* Those of its rows that have these names. */
const Field *training_fields_named(Arena *a, const char *const *name, int n);

/* Adds what has one sensible meaning when it is missing: app_state from the model, the optimizer
 * and the scheduler; settings.paths.experiments_root_path; settings.step_profile.dp_degree from the
 * mesh, or from the number of ranks. `root` is resolved; `rank` NULL: the only one. */
Error *training_config_complete(Arena *a, Yaml *root, const Rank *rank,
                                const char *experiments_root_path);
/* builder_validate with the table, and the rules over the settings. */
Error *training_config_validate(Builder *b, TrainingConfig *out);
/* The mesh of the configuration; without one, all ranks share the data, and where parameters are
 * sharded over machines each (HYBRID_SHARD), machines have copies. `rank` NULL: the only one. */
Mesh training_mesh(const TrainingConfig *c, const Rank *rank);
/* Tokens per step, and the intervals, against the target, counted from the first step of the
 * experiment: an error where its enforcement is on, else a warning. A finished run passes. */
Error *training_settings_check(const TrainingSettings *s);
/* Whether each number is there by which they divide: a component that failed leaves zero. */
bool training_settings_are_whole(const TrainingSettings *s);
/* Whether the dataset's samples are enough for the target. */
Error *training_dataset_check(const TrainingSettings *s, int64_t n_samples);
/* The samples and tokens of one optimizer step on all ranks. */
int64_t samples_per_step(const StepProfile *p);
int64_t tokens_per_step(const StepProfile *p);
#endif
