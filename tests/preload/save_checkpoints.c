/* save_checkpoints.c - saves sample states one after the other, to be killed while it does.
 *
 * usage: save_checkpoints FOLDER KEEP STEP...     the state of a step has the step as its seed */
#include "../checkpoint/sample_state.h"
#include "checkpoint/saving.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    Arena *a = arena_new();
    const CheckpointStrategy strategy = { .every = 1, .keep = atoi(argv[2]) };
    const CheckpointExecution execution = { .checkpoint_path = argv[1], .experiment_id = "x" };
    CheckpointSaving *saving = checkpoint_saving_new(a, &strategy, &execution);
    Error *e = NULL;
    for (int i = 3; i < argc && !e; i++) {
        int step = atoi(argv[i]);
        const CheckpointContent content = sample_content(a, step);
        const CheckpointTotals totals = { step, 10 * step, 100, 1000 };
        e = checkpoint_saving_save(saving, &totals, &content);
    }
    if (e) fprintf(stderr, "%s\n", error_text(e));
    int status = e ? 3 : 0;
    error_free(e);
    arena_free(a);
    return status;
}
