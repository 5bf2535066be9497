/* run.c - `modalities run`, `warmstart` and `resume`: train a model as a YAML file says. */
#include "base/file.h"
#include "base/log.h"
#include "base/terminal.h"
#include "command.h"
#include "components.h"
#include "config/config.h"
#include "config/extend.h"
#include "monitor/experiment.h"
#include "sweep/sweep_configs.h"
#include "train/crew.h"
#include "train/elastic.h"
#include "train/job_plan.h"
#include "train/resume.h"
#include <string.h>
#include <unistd.h>

typedef struct Options {
    const char *config_file_path, *experiments_root_path, *experiment_id, *error_log_folder;
    const char *last_checkpoint_info_file_path, *initial_weights_path, *print_graph, *device;
    const char *folder; /* of resume */
    bool test_comm, resume_if_started, dry_run, print_schedule;
    const char *hostfile;
    int64_t threads, ranks, elastic, profile_ops, check;
    int changed_step, changed_data;
    StringList set;
} Options;

/* The experiment's folder, if a run was begun in it; else NULL. */
static Error *find_started(Arena *a, const Options *o, RunSettings *s, const char **out)
{
    *out = NULL;
    if (!o->resume_if_started) return NULL;
    if (!s->experiment_id) {
        Yaml *root;
        TRY(config_extend(a, o->config_file_path, &root));
        const Yaml *id = yaml_find(root, "settings.experiment_id");
        if (!id || id->type != YAML_STRING || strstr(id->text, "${"))
            return error_usage("--resume_if_started needs --experiment_id, or a "
                               "settings.experiment_id without ${...} in %s: else each start has "
                               "a folder of its own",
                               o->config_file_path);
        s->experiment_id = id->text;
    }
    const char *folder = experiment_folder(a, s->experiments_root_path, s->experiment_id);
    if (training_is_started(a, folder)) *out = folder;
    return NULL;
}

/* Where experiments get their folders: as the option says, else the configuration, unless it asks
 * for what the option says. */
static Error *find_root(Arena *a, const Options *o, const char **out)
{
    Yaml *config;
    *out = o->experiments_root_path ? o->experiments_root_path : "experiments";
    if (o->experiments_root_path || o->folder) return NULL;
    TRY(config_read(a, o->config_file_path, o->set, &config));
    const Yaml *root = yaml_find(config, "settings.paths.experiments_root_path");
    if (root && root->type == YAML_STRING && *root->text && !strstr(root->text, "${"))
        *out = root->text;
    return NULL;
}

static Error *tell_root(const Options *o, const char *root)
{
    const bool is_given = o->experiments_root_path || o->folder;
    if (o->experiments_root_path && file_exists(root) && !is_directory(root))
        return error_usage("--experiments_root_path %s: a file is in the way", root);
    if (!is_given && strcmp(root, "experiments") != 0)
        log_info("experiments go to %s, as settings.paths.experiments_root_path says", root);
    else if (!is_given)
        log_info("experiments go to %s/ in the present folder (--experiments_root_path)", root);
    return NULL;
}

/* The original's: each rank gets what all have. */
static Error *test_communication(Arena *a, const Crew *crew)
{
    int64_t n = crew->rank->world_size;
    double sum = (double)crew->rank->rank + 1, expected = (double)(n * (n + 1) / 2);
    TRY(consensus_sum(crew->consensus, &sum, 1));
    if (sum != expected)
        return error_new("the communication test failed: the ranks add up to %g instead of %g", sum,
                         expected);
    if (consensus_leads(crew->consensus))
        printf("[Rank 0] communication test with %s: PASSED\n",
               n == 1 ? "one rank" : arena_printf(a, "%d ranks", (int)n));
    return NULL;
}

/* A sweep file has alternatives where a training has values: its mistakes are of another kind. */
static Error *hint_at_sweep(Arena *a, const char *config, Error *e)
{
    Yaml **combination;
    const int64_t n = e && error_exit_status(e) == 1 && config
                          ? sweep_alternatives_of(a, config, &combination)
                          : 0;
    return n > 1
               ? error_join(e, error_new("%s is a sweep of %lld configurations: `modalities sweep "
                                         "run %s` runs them",
                                         config, (long long)n, config))
               : e;
}

/* What each rank does. */
static Error *train(Arena *a, const void *options, const Crew *crew)
{
    const Options *o = options;
    const char *root;
    Registry *r;
    if (o->test_comm) TRY(test_communication(a, crew));
    TRY(components_registry(a, &r));
    Error *e = find_root(a, o, &root);
    TRY(consensus_error(crew->consensus, e ? e : tell_root(o, root)));
    RunSettings s = { .rank = crew->rank,
                      .crew = crew,
                      .config_file_path = o->config_file_path,
                      .experiments_root_path = root,
                      .experiment_id = o->experiment_id,
                      .last_checkpoint_info_path = o->last_checkpoint_info_file_path,
                      .overrides = o->set,
                      .initial_weights_path = o->initial_weights_path,
                      .print_graph = o->print_graph,
                      .device = o->device,
                      .changes = { (ChangedStep)o->changed_step, (ChangedData)o->changed_data },
                      .profile_ops = o->profile_ops,
                      .check = o->check };
    if (o->folder) return training_resume(r, o->folder, &s);
    const char *started;
    TRY(consensus_error(crew->consensus, find_started(a, o, &s, &started)));
    if (started) return training_resume(r, started, &s);
    return hint_at_sweep(a, o->config_file_path, training_run(r, &s));
}

/* What `plan` prints; nothing is run or written. */
static Error *run_dry(Arena *a, const Options *o, const Rank *rank)
{
    const char *root;
    TRY(find_root(a, o, &root));
    const PlanSettings s = { .config_file_path = o->config_file_path,
                             .experiments_root_path = root,
                             .overrides = o->set,
                             .n_ranks = o->ranks,
                             .schedule_width = o->print_schedule ? terminal_picture_width() : 0,
                             .process = rank };
    Registry *registry;
    JobPlan plan;
    if (rank->rank) return NULL;
    TRY(components_registry(a, &registry));
    TRY(job_plan(a, registry, &s, &plan));
    job_plan_print(&plan, stdout);
    return NULL;
}

static const char *const step_choices[] = { "refuse", "keep_steps", "keep_tokens", NULL },
                         *const data_choices[] = { "refuse", "from_place", "from_start", NULL };

static void add_word(Arena *a, StringList *to, const char *option, const char *value)
{
    const char **word = NEW_N(a, const char *, to->n + 2);
    for (int64_t i = 0; i < to->n; i++) word[i] = to->item[i];
    word[to->n] = option;
    word[to->n + 1] = value;
    *to = (StringList){ .item = word, .n = to->n + 2 };
}

/* What each rank is told besides. */
static StringList words_of_ranks(Arena *a, const Options *o)
{
    StringList words = { 0 };
    if (o->error_log_folder) add_word(a, &words, "--error_log_folder", o->error_log_folder);
    if (o->initial_weights_path)
        add_word(a, &words, "--initial_weights_path", o->initial_weights_path);
    if (o->print_graph) add_word(a, &words, "--print_graph", o->print_graph);
    if (o->device) add_word(a, &words, "--device", o->device);
    if (o->test_comm) add_word(a, &words, "--test_comm", "true");
    if (o->threads)
        add_word(a, &words, "--threads", arena_printf(a, "%lld", (long long)o->threads));
    if (o->changed_step) add_word(a, &words, "--changed_step", step_choices[o->changed_step]);
    if (o->changed_data) add_word(a, &words, "--changed_data", data_choices[o->changed_data]);
    return words;
}

static Error *run_elastic(Arena *a, const Options *o, const Rank *rank)
{
    char program[4096];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    Registry *r;
    if (rank->launcher != LAUNCHER_NONE || o->ranks)
        return error_usage(
            "--elastic starts the ranks itself: it needs no launcher and no --ranks");
    if (n <= 0) return error_new("cannot find this program under /proc/self/exe");
    program[n] = '\0';
    const char *root;
    TRY(components_registry(a, &r));
    TRY(find_root(a, o, &root));
    const ElasticJob job = { .registry = r,
                             .program = program,
                             .config_file_path = o->config_file_path,
                             .experiments_root_path = root,
                             .experiment_id = o->experiment_id
                                                  ? o->experiment_id
                                                  : experiment_id_new(a, o->config_file_path),
                             .hostfile = o->hostfile,
                             .overrides = o->set,
                             .more = words_of_ranks(a, o),
                             .n_ranks = o->elastic };
    return elastic_run(a, &job);
}

static Error *run(Arena *a, const void *options)
{
    const Options *o = options;
    Rank rank;
    TRY(rank_of_process(&rank));
    if (o->experiments_root_path && !*o->experiments_root_path)
        return error_usage("option --experiments_root_path: it is empty; . is the present folder");
    if (o->dry_run || o->print_schedule) return run_dry(a, o, &rank);
    if (o->elastic) return run_elastic(a, o, &rank);
    if (o->hostfile) return error_usage("--hostfile is for --elastic");
    /* without a launcher a training goes on with as many ranks as it had */
    int64_t n_ranks = o->ranks;
    if (!n_ranks && o->folder && rank.launcher == LAUNCHER_NONE)
        n_ranks = training_ranks(a, training_folder(a, o->folder));
    const CrewSettings crew = { .process = &rank,
                                .n_ranks = n_ranks,
                                .n_threads = o->threads,
                                .error_log_folder = o->error_log_folder,
                                .work = train,
                                .context = options };
    return crew_run(a, &crew);
}

#define STOPPING                                                                                   \
    "Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 finish the step, write a checkpoint and say how to go "   \
    "on; Ctrl-C or SIGTERM once more, a second later, ends the program at once. Exit status 0: "   \
    "done; 75: stopped before the target, to be gone on with; 1 and 2: failed."

/* clang-format off */
#define CONFIG      FIELD_PATH(Options, config_file_path, NULL, "the training YAML", .flags = FIELD_EXISTS)
#define ROOT        FIELD_PATH(Options, experiments_root_path, "null", "folder in which the experiment gets its own; made where it is missing; by default what settings.paths says, or experiments/ in the present folder", .role = PATH_BEGINNING)
#define ERROR_LOG   FIELD_PATH(Options, error_log_folder, "null", "a failing rank leaves a JSON file here", .role = PATH_BEGINNING)
#define WEIGHTS     FIELD_PATH(Options, initial_weights_path, "null", "start from these parameters (.safetensors or checkpoint)", .flags = FIELD_EXISTS_ANY)
#define PRINT_GRAPH FIELD_STRING(Options, print_graph, "null", "print the graph around a pass: before:fuse, after:autodiff, after:all")
#define DEVICE      FIELD_STRING(Options, device, "null", "cpu, cuda or cuda:N, to fail where there is none; by default whatever there is")
#define THREADS     FIELD_INT(Options, threads, "0", 0, 512, "of each rank; 0: MODALITIES_THREADS, or the cores shared by the ranks; results do not depend on it")
#define RANKS       FIELD_INT(Options, ranks, "0", 0, 256, "run so many ranks, as threads of this process, for the device_mesh of the YAML; 0: one, or what a launcher has started")
#define PROFILE_OPS FIELD_INT(Options, profile_ops, "0", 0, 1000000, "print time, share of the machine's limit and bytes per op and per module over so many microbatches")
#define CHECKED     FIELD_INT(Options, check, "0", 0, 1000000, "run the reference beside each tuned kernel for so many microbatches, and stop where they disagree")
#define ELASTIC     FIELD_INT(Options, elastic, "0", 0, 4096, "start up to so many ranks as processes under mpirun, and when one dies start them again from the last checkpoint on those that are left, with the same samples per step")
#define HOSTFILE    FIELD_PATH(Options, hostfile, "null", "for --elastic: lines HOST slots=N of the machines; by default this one", .flags = FIELD_EXISTS)
#define CHANGED_STEP FIELD_CHOICE(Options, changed_step, "refuse", step_choices, "where a training goes on with another micro batch, accumulation or number of ranks, so that a step takes another number of samples: keep the number of steps to the target, or of tokens")
#define CHANGED_DATA FIELD_CHOICE(Options, changed_data, "refuse", data_choices, "where it goes on with other data: at its place in their order, or at their start")
#define SET         FIELD_STRINGS(Options, set, "[]", 0, 0, "override a setting: --set settings.training_target.num_target_steps=10")
static const Field run_options[] = {
    CONFIG, ROOT,
    FIELD_STRING(Options, experiment_id, "null", "name of the experiment's folder; by default time and hash; empty: the folder of experiments itself"),
    FIELD_BOOL(Options, resume_if_started, "false", "go on, as resume does, if the experiment was begun before: for jobs that are started again"),
    ERROR_LOG,
    FIELD_BOOL(Options, test_comm, "false", "test the communication between ranks first"),
    FIELD_BOOL(Options, print_schedule, "false", "as dry_run, and what each rank of the pipeline holds and does in a step"),
    FIELD_BOOL(Options, dry_run, "false", "print what each rank would take and send, as plan does, and run nothing"),
    WEIGHTS, PRINT_GRAPH, PROFILE_OPS, CHECKED, DEVICE, RANKS, THREADS,
    ELASTIC, HOSTFILE, CHANGED_STEP, CHANGED_DATA, SET, { 0 },
};
static const Field warmstart_options[] = {
    CONFIG, ROOT,
    FIELD_PATH(Options, last_checkpoint_info_file_path, NULL, "last_checkpoint_info.json of the run to go on with", .flags = FIELD_EXISTS),
    FIELD_STRING(Options, experiment_id, "null", "name of the experiment's folder; by default time and hash; empty: the folder of experiments itself"),
    ERROR_LOG, PRINT_GRAPH, PROFILE_OPS, CHECKED, DEVICE, RANKS, THREADS, SET, { 0 },
};
static const Field resume_options[] = {
    FIELD_PATH(Options, folder, NULL, "the experiment's folder, or one of its checkpoints; last_checkpoint_info.json stands for the one that it names, and a file of FSDP1 for the one that it belongs to", .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    ERROR_LOG, PRINT_GRAPH, PROFILE_OPS, CHECKED, DEVICE, RANKS, THREADS, CHANGED_STEP, CHANGED_DATA, SET, { 0 },
};
/* clang-format on */

const Command command_top_run = {
    .name = "run",
    .doc = "Trains a model.",
    .details = STOPPING,
    .examples = "modalities run --config_file_path train.yaml\n"
                "modalities run --config_file_path train.yaml --experiments_root_path experiments "
                "--set settings.step_profile.local_train_micro_batch_size=4",
    .options = run_options,
    .options_size = sizeof(Options),
    .run = run,
};

const Command command_top_warmstart = {
    .name = "warmstart",
    .doc = "Begins a training with the state of a checkpoint, by a YAML of its own.",
    .details = "The YAML refers to the checkpoint by ${warmstart_env:checkpoint_paths}. " STOPPING,
    .examples =
        "modalities warmstart --config_file_path warmstart.yaml --experiments_root_path "
        "experiments "
        "--last_checkpoint_info_file_path experiments/ID/checkpoints/last_checkpoint_info.json",
    .options = warmstart_options,
    .options_size = sizeof(Options),
    .run = run,
};

const Command command_top_resume = {
    .name = "resume",
    .doc = "Goes on with a training that was stopped, in its own folder.",
    .details = "The configuration is the one that is kept there; --set is for what may change, "
               "such as the target. Results after the checkpoint's step are cut off, so that each "
               "step stands once. Relative paths lead from the folder in which the run was "
               "started. Without a checkpoint it begins anew; where the target is reached, nothing "
               "is done. " STOPPING,
    .examples =
        "modalities resume experiments/ID\n"
        "modalities resume experiments/ID --set settings.training_target.num_target_steps=900",
    .options = resume_options,
    .options_size = sizeof(Options),
    .run = run,
};
