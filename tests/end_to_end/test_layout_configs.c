/* test_layout_configs.c - the files of configs/layouts: each shares the model in its way, and all
 * learn what one rank learns. */
#include "end_to_end/training.h"
#include <string.h>

enum { MAX_WORDS = 48 };

typedef struct LayoutRun {
    const char *name, *ranks;
    const char *accumulation; /* of the rank that sees the same samples in a step */
} LayoutRun;

static const LayoutRun layouts[] = {
    { "ddp", "2", "4" },      { "zero1", "2", "4" },    { "fsdp", "2", "4" },
    { "hsdp", "4", "8" },     { "tensor", "2", "2" },   { "context", "2", "2" },
    { "pipeline", "2", "2" }, { "experts", "2", NULL }, { "product", "8", "4" },
};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static void set(const char **words, int *n, const char *assignment)
{
    words[(*n)++] = "--set";
    words[(*n)++] = assignment;
}

static void run(const Bench *b, const char *id, const char *file, const char *ranks,
                const char *more)
{
    static const char *const small[] = {
        "model_raw.config.vocab_size=64",
        "model_raw.config.n_embd=32",
        "model_raw.config.ffn_hidden=64",
        "settings.step_profile.sequence_length=16",
        "settings.training_target.num_target_steps=3",
        "settings.intervals.training_log_interval_in_steps=1",
        "settings.intervals.evaluation_interval_in_steps=3",
        "settings.intervals.checkpointing_interval_in_steps=3",
        "settings.intervals.evaluation_batches=null",
        "lr_scheduler.config.warmup_steps=1",
    };
    Arena *a = b->arena;
    const char *words[MAX_WORDS] = { "run",
                                     "--config_file_path",
                                     arena_printf(a, "configs/layouts/%s.yaml", file),
                                     "--experiments_root_path",
                                     b->root,
                                     "--experiment_id",
                                     id,
                                     "--ranks",
                                     ranks };
    int n = 9;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) set(words, &n, small[i]);
    set(words, &n, arena_printf(a, "settings.paths.train_dataset_path=%s", b->pbin));
    set(words, &n, arena_printf(a, "settings.paths.validation_dataset_path=%s", b->pbin));
    if (more) set(words, &n, more);
    assert_ended_well(command_output(a, words, NULL));
}

/* Ranks with all experts stand beside those that share them: each balances its own microbatches. */
static const char *beside(const Bench *b, const LayoutRun *l)
{
    Arena *a = b->arena;
    const char *id = arena_printf(a, "one-%s", l->accumulation ? l->accumulation : "experts");
    if (file_exists(path_join(a, b->root, id))) return id;
    if (!l->accumulation)
        run(b, id, "experts", "2", "device_mesh.config.expert_parallel_degree=1");
    else
        run(b, id, "common", "1",
            arena_printf(a, "settings.step_profile.gradient_accumulation_steps=%s",
                         l->accumulation));
    return id;
}

TEST(every_layout_of_the_configurations_learns_what_one_rank_learns)
{
    Bench b = bench_new();
    for (int i = 0; i < N_LAYOUTS; i++) {
        const LayoutRun *l = &layouts[i];
        const char *one = beside(&b, l);
        run(&b, l->name, l->name, l->ranks, NULL);
        assert_results_near(&b, l->name, one, "train loss avg", 1e-5);
        assert_results_near(&b, l->name, one, "grad norm last", 1e-4);
        /* four ranks leave out more samples at the end, so that all have whole batches */
        if (strcmp(l->name, "hsdp") != 0)
            assert_results_near(&b, l->name, one, "CLMCrossEntropyLoss", 1e-5);
    }
    arena_free(b.arena);
}
