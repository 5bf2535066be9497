/* test_shipped_on_gpus.c - the shipped trainings find a kernel for every op on a GPU. */
#include "base/arena.h"
#include "end_to_end/training.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* A training, on so many ranks, and what the YAML leaves open; ends with NULL. */
typedef struct Shipped {
    const char *path, *ranks;
    const char *set[6];
} Shipped;

static const Shipped shipped[] = {
    { "configs/training/small.yaml", "1", { NULL } },
    { "configs/training/gpt2_124m.yaml", "1", { NULL } },
    { "configs/training/hybrid.yaml", "1", { NULL } },
    { "configs/training/muon.yaml", "1", { NULL } },
    { "configs/recipes/llama3_8b.yaml", "1", { NULL } },
    { "configs/recipes/llama3_8b_one_gpu.yaml", "1", { NULL } },
    { "configs/recipes/llama3_70b.yaml", "8", { NULL } },
    { "configs/recipes/llama3_405b.yaml", "64", { NULL } },
    { "configs/recipes/llama3_405b_262144.yaml", "512", { NULL } },
    { "configs/layouts/common.yaml", "1", { NULL } },
    { "configs/layouts/context.yaml", "2", { NULL } },
    { "configs/layouts/ddp.yaml", "2", { NULL } },
    { "configs/layouts/experts.yaml", "2", { NULL } },
    { "configs/layouts/fsdp.yaml", "2", { NULL } },
    { "configs/layouts/hsdp.yaml", "4", { NULL } },
    { "configs/layouts/pipeline.yaml", "2", { NULL } },
    { "configs/layouts/product.yaml", "8", { NULL } },
    { "configs/layouts/tensor.yaml", "2", { NULL } },
    { "configs/layouts/zero1.yaml", "2", { NULL } },
    { "configs/ablation/activation.yaml",
      "1",
      { "--set", "sweep.activation=swiglu", "--set", "sweep.lr=1e-3", "--set", "sweep.seed=1" } },
};
enum { N_SHIPPED = sizeof shipped / sizeof *shipped };

/* They begin from a checkpoint or a model of others, and have the ops of the others. */
static const char *const need_files[] = { "configs/training/from_huggingface.yaml",
                                          "configs/training/lora.yaml",
                                          "configs/training/small_warmstart.yaml" };

static bool is_known(const char *path)
{
    for (size_t i = 0; i < N_SHIPPED; i++)
        if (!strcmp(shipped[i].path, path)) return true;
    for (size_t i = 0; i < sizeof need_files / sizeof *need_files; i++)
        if (!strcmp(need_files[i], path)) return true;
    return false;
}

TEST(every_shipped_training_is_planned_for_gpus)
{
    glob_t found = { 0 };
    assert_int_equal(glob("configs/[tr]*/*.yaml", 0, NULL, &found), 0);
    assert_int_equal(glob("configs/layouts/*.yaml", GLOB_APPEND, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        if (!strncmp(path, "configs/tutorial/", 17))
            continue; /* of other commands, or a warm start */
        if (!is_known(path)) fail_msg("%s is not planned for GPUs here", path);
    }
    globfree(&found);
}

/* The rank whose graph is looked at: stages of a pipeline have ops of their own. */
static bool is_missing(Arena *a, const Shipped *s, int rank)
{
    const char *words[12] = { "plan", "--config_file_path", s->path };
    const char *variables[] = { arena_printf(a, "RANK=%d", rank), "LOCAL_RANK=0",
                                arena_printf(a, "WORLD_SIZE=%s", s->ranks),
                                "MODALITIES_DEVICE=cuda", NULL };
    for (int k = 0; k < 6 && s->set[k]; k++) words[3 + k] = s->set[k];
    const Outcome o = command_output(a, words, variables);
    if (o.status) print_message("%s, rank %d: %s\n", s->path, rank, o.text);
    return o.status != 0;
}

/* Programs are planned, which chooses a kernel for every node, and refuses where there is none. */
TEST(no_op_of_the_shipped_trainings_is_missing_on_a_gpu)
{
    Arena *a = arena_new();
    int n = 0, n_graphs = 0;
    for (size_t i = 0; i < N_SHIPPED; i++) {
        const int n_ranks = atoi(shipped[i].ranks);
        n += is_missing(a, &shipped[i], 0);
        n_graphs++;
        if (n_ranks == 1 || n_ranks > 8) continue; /* large ones take seconds */
        n += is_missing(a, &shipped[i], n_ranks - 1);
        n_graphs++;
    }
    test_note("%d graphs, %d missing", n_graphs, n);
    assert_int_equal(n, 0);
    arena_free(a);
}
