/* ranks.c - GPT-2 124M on two MPI ranks of one thread, beside one process of two threads.
 *
 * usage: ranks [steps]      The program itself, as a user starts it: 8 x 256 tokens a step,
 * whatever the layout; the fastest step of a run counts. Needs mpirun and modalities-mpi.so. */
#include "base/error.h"
#include "base/file.h"
#include "data/pbin.h"
#include "measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_TOKENS = 100000, N_FORMATS = 2 };

/* A layout of two ranks, and the shares of one process's speed that it should reach. */
typedef struct LayoutRow {
    const char *name, *mesh, *config;
    int batch; /* of a rank */
    double aim[N_FORMATS];
} LayoutRow;

#define ONE_PIPELINE (0.85 * 8 / 9) /* two stages, eight microbatches */
static const LayoutRow layouts[] = {
    { "one process", "data_parallel_shard_degree: 1", "zero_stage: 3", 8, { 0 } },
    { "DDP",
      "data_parallel_replicate_degree: 2, data_parallel_shard_degree: 1",
      "zero_stage: 0",
      4,
      { 0.95, 0.90 } },
    { "FSDP", "data_parallel_shard_degree: 2", "zero_stage: 3", 4, { 0.95, 0.90 } },
    { "TP",
      "tensor_parallel_degree: 2, data_parallel_shard_degree: 1",
      "zero_stage: 3",
      8,
      { 0.85, 0.80 } },
    { "PP 1F1B",
      "pipeline_parallel_degree: 2, data_parallel_shard_degree: 1",
      "microbatches: 8",
      8,
      { ONE_PIPELINE, ONE_PIPELINE } },
};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static void write_tokens(const char *path)
{
    static uint32_t token[N_TOKENS];
    for (int64_t i = 0; i < N_TOKENS; i++) token[i] = (uint32_t)(i * 7919 % 50257);
    Text bytes = { 0 };
    PbinWriter w;
    die(pbin_encode(token, N_TOKENS, 2, &bytes));
    die(pbin_create(path, 2, &w));
    die(pbin_add(&w, bytes.ptr, bytes.len));
    die(pbin_commit(&w));
    text_free(&bytes);
}

#define SAMPLER "dataloader.config.batch_sampler.config.sampler.config."
/* Ranks of tp and pp read the same samples. */
#define SAME_SAMPLES                                                                               \
    " --set train_" SAMPLER "num_replicas=1 --set train_" SAMPLER "rank=0"                         \
    " --set eval_dataloaders.0.config.batch_sampler.config.sampler.config.num_replicas=1"          \
    " --set eval_dataloaders.0.config.batch_sampler.config.sampler.config.rank=0"

static const char *command_of(Arena *a, const char *folder, const char *program, const LayoutRow *l,
                              const char *dtype, const char *id, int n_steps)
{
    const bool alone = l == layouts;
    return arena_printf(
        a,
        "MODALITIES_DATA=%s OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 %s %s run "
        "--config_file_path configs/training/gpt2_124m.yaml --experiments_root_path %s "
        "--experiment_id %s --set settings.step_profile.sequence_length=256 --set "
        "settings.step_profile.gradient_accumulation_steps=1 --set "
        "settings.step_profile.local_train_micro_batch_size=%d --set "
        "settings.training_target.num_target_steps=%d --set "
        "settings.intervals.training_log_interval_in_steps=1 --set "
        "settings.intervals.evaluation_interval_in_steps=%d --set "
        "settings.intervals.evaluation_batches=1 --set "
        "settings.intervals.checkpointing_interval_in_steps=%d --set "
        "checkpoint_saving.config.checkpoint_saving_strategy.config.k=0 --set "
        "lr_scheduler.config.warmup_steps=1%s --set 'device_mesh.config={device_type: cpu, "
        "world_size: \"${settings.cuda_env.world_size}\", %s}' --set "
        "'sharded_model={component_key: model, variant_key: parallelized, config: {model: "
        "{instance_key: model_raw, pass_type: BY_REFERENCE}, device_mesh: {instance_key: "
        "device_mesh, pass_type: BY_REFERENCE}, param_dtype: %s, %s}}' >%s/said 2>&1",
        folder,
        alone ? "MODALITIES_THREADS=2" : "mpirun --bind-to none -n 2 env MODALITIES_THREADS=1",
        program, folder, id, l->batch, n_steps, n_steps, n_steps,
        l->batch == 8 && !alone ? SAME_SAMPLES : "", l->mesh, dtype, l->config, folder);
}

/* Samples per second of the fastest step. */
static double best_step(Arena *a, const char *folder, const char *id)
{
    static const char key[] = "\"train samples/s\": ";
    Str text;
    double best = 0;
    die(file_read(a, arena_printf(a, "%s/%s/evaluation_results.jsonl", folder, id), &text));
    for (const char *at = text.ptr; (at = strstr(at, key));) {
        at += strlen(key);
        const double rate = atof(at);
        if (rate > best) best = rate;
    }
    return best;
}

static double measure(const char *folder, const char *program, const LayoutRow *l,
                      const char *dtype, int n_steps)
{
    static int number;
    Arena *a = arena_new();
    const char *id = arena_printf(a, "run%d", number++);
    if (system(command_of(a, folder, program, l, dtype, id, n_steps)) != 0)
        die(error_new("%s did not run; see %s/said", l->name, folder));
    const double best = best_step(a, folder, id);
    arena_free(a);
    return best;
}

int main(int argc, char **argv)
{
    static const char *const dtypes[N_FORMATS] = { "FP_32", "BF_16" };
    Arena *a = arena_new();
    char folder[] = "/tmp/modalities-ranks-XXXXXX";
    const int n_steps = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 5;
    const char *program = path_join(a, path_folder(a, path_folder(a, argv[0])), "modalities");
    if (!mkdtemp(folder)) die(error_new("cannot make %s", folder));
    if (system("mpirun --version >/dev/null 2>&1") != 0) {
        printf("skipped: there is no mpirun here (make dependencies DEPS=mpi)\n");
        return 0;
    }
    write_tokens(path_join(a, folder, "train.pbin"));
    write_tokens(path_join(a, folder, "validation.pbin"));
    Watch w = watch_start();
    for (int d = 0; d < N_FORMATS; d++) {
        double one = 0;
        for (int i = 0; i < N_LAYOUTS; i++) {
            const double rate = measure(folder, program, &layouts[i], dtypes[d], n_steps);
            if (i == 0) one = rate;
            printf("%s  %-12s %6.0f tokens/s", dtypes[d], layouts[i].name, 256 * rate);
            if (i)
                printf("  %.3f of one process (aim %.3f): %s", rate / one, layouts[i].aim[d],
                       rate >= layouts[i].aim[d] * one ? "met" : "not met");
            printf("\n");
            fflush(stdout);
        }
    }
    watch_report(&w);
    die(remove_tree(folder));
    arena_free(a);
    return 0;
}
