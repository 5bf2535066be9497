/* run.c - `modalities run` and `modalities warmstart`: train a model as a YAML file says. */
#include "train/run.h"
#include "base/file.h"
#include "command.h"
#include "components.h"
#include "monitor/error_log.h"

typedef struct Options {
    const char *config_file_path, *experiments_root_path, *experiment_id, *error_log_folder;
    const char *last_checkpoint_info_file_path, *initial_weights_path, *print_graph, *device;
    bool test_comm;
    int64_t threads;
    StringList set;
} Options;

static Error *train(Arena *a, const Options *o, const Rank *rank)
{
    Registry *r;
    TRY(components_registry(a, &r));
    if (!is_directory(o->experiments_root_path))
        return error_usage("--experiments_root_path %s: there is no such folder",
                           o->experiments_root_path);
    RunSettings s = { .rank = rank,
                      .config_file_path = o->config_file_path,
                      .experiments_root_path = o->experiments_root_path,
                      .experiment_id = o->experiment_id,
                      .last_checkpoint_info_path = o->last_checkpoint_info_file_path,
                      .overrides = o->set,
                      .initial_weights_path = o->initial_weights_path,
                      .print_graph = o->print_graph,
                      .device = o->device,
                      .n_threads = (int)o->threads };
    return training_run(r, &s);
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    Rank rank;
    TRY(rank_of_process(&rank));
    if (o->test_comm) printf("[Rank 0] communication test with one rank: PASSED\n");
    Error *e = train(a, o, &rank);
    if (e && o->error_log_folder && error_exit_status(e) != EXIT_STOPPED)
        e = error_join(e, error_log_save(o->error_log_folder, &rank, e));
    return e;
}

#define STOPPING                                                                                   \
    "Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 finish the step, write a checkpoint and say how to go "   \
    "on; Ctrl-C or SIGTERM once more, a second later, ends the program at once. Exit status 0: "   \
    "done; 75: stopped before the target, to be gone on with; 1 and 2: failed."

/* clang-format off */
#define CONFIG      FIELD_PATH(Options, config_file_path, NULL, "the training YAML", .flags = FIELD_EXISTS)
#define ROOT        FIELD_PATH(Options, experiments_root_path, NULL, "folder in which the experiment gets its own", .flags = FIELD_EXISTS_ANY, .role = PATH_BEGINNING)
#define ERROR_LOG   FIELD_PATH(Options, error_log_folder, "null", "a failing rank leaves a JSON file here", .role = PATH_BEGINNING)
#define WEIGHTS     FIELD_PATH(Options, initial_weights_path, "null", "start from these parameters (.safetensors or checkpoint)", .flags = FIELD_EXISTS_ANY)
#define PRINT_GRAPH FIELD_STRING(Options, print_graph, "null", "print the graph around a pass: before:fuse, after:autodiff, after:all")
#define DEVICE      FIELD_STRING(Options, device, "null", "cpu, or cuda to fail where there is none; by default whatever there is")
#define THREADS     FIELD_INT(Options, threads, "0", 0, 512, "0: one per core, or MODALITIES_THREADS; results do not depend on it")
#define SET         FIELD_STRINGS(Options, set, "[]", 0, 0, "override a setting: --set settings.training_target.num_target_steps=10")
static const Field run_options[] = {
    CONFIG, ROOT,
    FIELD_STRING(Options, experiment_id, "null", "name of the experiment's folder; by default time and hash"),
    ERROR_LOG,
    FIELD_BOOL(Options, test_comm, "false", "test the communication between ranks first"),
    WEIGHTS, PRINT_GRAPH, DEVICE, THREADS, SET, { 0 },
};
static const Field warmstart_options[] = {
    CONFIG, ROOT,
    FIELD_PATH(Options, last_checkpoint_info_file_path, NULL, "last_checkpoint_info.json of the run to go on with", .flags = FIELD_EXISTS),
    FIELD_STRING(Options, experiment_id, "null", "name of the experiment's folder; by default time and hash"),
    ERROR_LOG, PRINT_GRAPH, DEVICE, THREADS, SET, { 0 },
};
/* clang-format on */

const Command command_top_run = {
    .name = "run",
    .doc = "Trains a model.",
    .details = STOPPING,
    .examples = "modalities run --config_file_path train.yaml --experiments_root_path experiments\n"
                "modalities run --config_file_path train.yaml --experiments_root_path experiments "
                "--set settings.step_profile.local_train_micro_batch_size=4",
    .options = run_options,
    .options_size = sizeof(Options),
    .run = run,
};

const Command command_top_warmstart = {
    .name = "warmstart",
    .doc = "Goes on with a training from its last checkpoint.",
    .details = "The YAML refers to the checkpoint by ${warmstart_env:checkpoint_paths}. " STOPPING,
    .examples =
        "modalities warmstart --config_file_path warmstart.yaml --experiments_root_path "
        "experiments "
        "--last_checkpoint_info_file_path experiments/ID/checkpoints/last_checkpoint_info.json",
    .options = warmstart_options,
    .options_size = sizeof(Options),
    .run = run,
};
