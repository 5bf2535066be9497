/* test_shipped_on_gpus.c - the shipped trainings find a kernel for every op on a GPU. */
#include "end_to_end/training.h"
#include <stdlib.h>

/* What the YAML leaves open; ends with NULL. */
typedef struct Shipped {
    const char *path;
    const char *set[6];
} Shipped;

static const Shipped shipped[] = {
    { "configs/training/small.yaml", { NULL } },
    { "configs/training/gpt2_124m.yaml", { NULL } },
    { "configs/recipes/llama3_8b.yaml", { NULL } },
    { "configs/ablation/activation.yaml",
      { "--set", "sweep.activation=swiglu", "--set", "sweep.lr=1e-3", "--set" } },
};

/* Programs are planned, which chooses a kernel for every node, and refuses where there is none. */
TEST(no_op_of_the_shipped_trainings_is_missing_on_a_gpu)
{
    Arena *a = arena_new();
    int n = 0;
    setenv("MODALITIES_DEVICE", "cuda", 1);
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        const Shipped *s = &shipped[i];
        const char *words[12] = { "plan", "--config_file_path", s->path };
        int at = 3;
        for (int k = 0; k < 6 && s->set[k]; k++) words[at++] = s->set[k];
        if (s->set[0]) words[at] = "sweep.seed=1";
        const Outcome o = command_output(a, words, NULL);
        if (o.status) print_message("%s: %s\n", s->path, o.text);
        n += o.status != 0;
    }
    test_note("%d missing", n);
    assert_int_equal(n, 0);
    arena_free(a);
}
