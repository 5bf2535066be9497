/* saving.c - when a run saves, where, and which of its checkpoints it keeps. */
#include "checkpoint/saving.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "checkpoint/new_folder.h"
#include <string.h>

CheckpointSaving *checkpoint_saving_new(Arena *a, const CheckpointStrategy *strategy,
                                        const CheckpointExecution *execution)
{
    CheckpointSaving *s = NEW(a, CheckpointSaving);
    *s = (CheckpointSaving){ .strategy = *strategy, .execution = *execution, .arena = a };
    return s;
}

Error *checkpoint_saving_prepare(const CheckpointSaving *s)
{
    if (s->strategy.keep == 0 || s->execution.global_rank != 0) return NULL;
    const char *folder = s->execution.checkpoint_path;
    Arena *a = arena_new();
    FILE *f;
    Error *e = make_directories(folder);
    if (!e) e = file_temporary(path_join(a, folder, "checkpoint"), &f);
    if (!e) fclose(f);
    arena_free(a);
    return error_wrap(e, "checkpoint_path %s", folder);
}

bool checkpoint_is_due(const CheckpointSaving *s, int64_t seen_steps)
{
    return s->strategy.keep != 0 && seen_steps % s->strategy.every == 0;
}

/* Absolute, but with links as the user gave them: where they lead may differ between machines. */
static char *absolute(Arena *a, const char *path)
{
    return path[0] == '/' ? arena_string(a, path) : path_join(a, path_absolute(a, "."), path);
}

/* As the original writes it, without a line end. */
static Error *write_info(Arena *a, const CheckpointExecution *x, const char *folder)
{
    static const char *const key[] = { "model_checkpoint_path", "optimizer_checkpoint_path",
                                       "checkpoint_folder_path" };
    Text text = { 0 };
    for (int i = x->is_fsdp1 ? 0 : 2; i < 3; i++) {
        text_printf(&text, "%s\"%s\": ", text.len ? ", " : "{", key[i]);
        text_json_path(&text, folder);
    }
    text_putc(&text, '}');
    Error *e =
        file_write(path_join(a, x->checkpoint_path, LAST_CHECKPOINT_INFO), text.ptr, text.len);
    text_free(&text);
    return error_wrap(e, "checkpoint %s is complete, but %s still names the one before", folder,
                      LAST_CHECKPOINT_INFO);
}

/* Saving a name again makes it the newest. */
static void remember(CheckpointSaving *s, const char *folder)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n_kept; i++)
        if (strcmp(s->kept[i], folder) != 0) s->kept[n++] = s->kept[i];
    s->n_kept = n;
    s->kept = arena_grow(s->arena, s->kept, s->n_kept, &s->kept_cap, sizeof *s->kept);
    s->kept[s->n_kept++] = arena_string(s->arena, folder);
}

static void delete_oldest(CheckpointSaving *s, Arena *a)
{
    while (s->strategy.keep > 0 && s->n_kept > s->strategy.keep) {
        const char *folder = s->kept[0];
        memmove(s->kept, s->kept + 1, sizeof *s->kept * (size_t)--s->n_kept);
        Error *e = folder_retire(a, folder);
        if (e) log_warning("the old checkpoint %s is not deleted: %s", folder, error_text(e));
        error_free(e);
    }
}

static Error *save(CheckpointSaving *s, Arena *a, const CheckpointTotals *totals,
                   const StateTensor *state, int64_t n, const char *progress)
{
    const CheckpointExecution *x = &s->execution;
    const char *name = checkpoint_name(a, x->experiment_id, totals);
    const char *folder = path_join(a, absolute(a, x->checkpoint_path), name);
    folder_sweep(a, x->checkpoint_path, "eid_");
    folder_sweep(a, x->checkpoint_path, LAST_CHECKPOINT_INFO);
    TRY(checkpoint_save(folder, state, n, progress));
    remember(s, folder);
    TRY(write_info(a, x, folder));
    delete_oldest(s, a);
    return NULL;
}

Error *checkpoint_saving_save(CheckpointSaving *s, const CheckpointTotals *totals,
                              const StateTensor *state, int64_t n, const char *progress)
{
    if (s->execution.global_rank != 0) return NULL;
    Arena *a = arena_new();
    Error *e = save(s, a, totals, state, n, progress);
    arena_free(a);
    return e;
}
