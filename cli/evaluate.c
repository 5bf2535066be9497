/* evaluate.c - `modalities evaluate`: the losses of a checkpoint, and the likelihood of documents.
 */
#include "base/file.h"
#include "command.h"
#include "components.h"
#include "train/checkpoint_evaluation.h"

typedef struct Options {
    const char *config_file_path, *checkpoint, *experiments_root_path;
    const char *results_path, *log_likelihoods_path, *device;
    int file_existence_policy;
    int64_t ranks, threads;
    StringList documents, set;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "YAML of the training: its model, loss and eval_dataloaders count", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, checkpoint, NULL, "a checkpoint in any format, or last_checkpoint_info.json, which stands for the one that it names", .flags = FIELD_EXISTS_ANY),
    FIELD_STRINGS(Options, documents, "[]", 0, 0, "a .pbin file whose documents are scored one by one; may be repeated"),
    FIELD_PATH(Options, log_likelihoods_path, "null", "JSONL with a line per document of --documents", .role = PATH_WRITTEN),
    FIELD_PATH(Options, results_path, "null", "JSONL with what is printed", .role = PATH_WRITTEN),
    FIELD_EXISTENCE(Options),
    FIELD_PATH(Options, experiments_root_path, "experiments", "for a YAML that refers to it; nothing is written there"),
    FIELD_STRING(Options, device, "null", "cpu, or cuda to fail where there is none; by default whatever there is"),
    FIELD_INT(Options, ranks, "0", 0, 256, "run so many ranks, as threads of this process, for the device_mesh of the YAML; 0: one, or what a launcher has started"),
    FIELD_INT(Options, threads, "0", 0, 512, "of each rank; 0: MODALITIES_THREADS, or the cores shared by the ranks"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override a setting: --set settings.step_profile.sequence_length=512"),
    { 0 },
};
/* clang-format on */

static Error *evaluate_on_rank(Arena *a, const void *from, const Crew *crew)
{
    const Options *o = from;
    Registry *r;
    TRY(components_registry(a, &r));
    return checkpoint_evaluation(
        r, &(CheckpointEvaluation){ .crew = crew,
                                    .config_file_path = o->config_file_path,
                                    .checkpoint = o->checkpoint,
                                    .experiments_root_path = o->experiments_root_path,
                                    .overrides = o->set,
                                    .documents = o->documents,
                                    .results = o->results_path,
                                    .log_likelihoods = o->log_likelihoods_path,
                                    .device = o->device });
}

/* What is already there and stays is not written; the losses are printed all the same. */
static Error *check_outputs(Options *o)
{
    const char **const path[] = { &o->results_path, &o->log_likelihoods_path };
    for (int i = 0; i < 2; i++) {
        bool write;
        TRY(existing_file(*path[i], (ExistingPolicy)o->file_existence_policy, &write));
        if (!write) *path[i] = NULL;
    }
    return NULL;
}

static Error *run(Arena *a, const void *from)
{
    Options *o = arena_copy(a, from, sizeof *o);
    Rank rank;
    if (o->log_likelihoods_path && !o->documents.n)
        return error_usage(
            "--log_likelihoods_path needs --documents FILE.pbin, whose documents are "
            "scored");
    for (int64_t i = 0; i < o->documents.n; i++)
        if (!file_exists(o->documents.item[i]))
            return error_usage("--documents %s: no such file", o->documents.item[i]);
    TRY(check_outputs(o));
    TRY(rank_of_process(&rank));
    const CrewSettings crew = { .process = &rank,
                                .n_ranks = o->ranks,
                                .n_threads = o->threads,
                                .work = evaluate_on_rank,
                                .context = o };
    return crew_run(a, &crew);
}

static Error *paths(Arena *a, const void *from, PathRoles *to)
{
    const Options *o = from;
    (void)a;
    for (int64_t i = 0; i < o->documents.n; i++)
        path_roles_add(to, PATH_READ, "--documents", o->documents.item[i]);
    return NULL;
}

const Command command_top_evaluate = {
    .name = "evaluate",
    .doc = "Tells loss and perplexity of a checkpoint, and how likely it finds documents.",
    .details =
        "Prints a JSON line for each of the eval_dataloaders: the loss as the training reports it, "
        "and its exponential. With --documents also for each of these files, and a line per "
        "document in --log_likelihoods_path: the sum of the natural logarithms of the "
        "probabilities of its tokens after the first one, and whether each of them is the model's "
        "first choice. Documents longer than sequence_length are scored in windows of that "
        "length.",
    .examples = "modalities evaluate --config_file_path train.yaml --checkpoint "
                "experiments/ID/checkpoints/last_checkpoint_info.json\n"
                "modalities evaluate --config_file_path train.yaml --checkpoint "
                "experiments/ID/checkpoints/last_checkpoint_info.json --documents data/test.pbin "
                "--log_likelihoods_path scores.jsonl",
    .options = options,
    .options_size = sizeof(Options),
    .paths = paths,
    .run = run,
};
