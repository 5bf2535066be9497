/* resume.c - finds the checkpoint, configuration and place of a training that was begun. */
#include "train/resume.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "checkpoint/manifest.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

bool training_is_started(Arena *a, const char *folder)
{
    return file_exists(path_join(a, folder, RUN_RECORD));
}

static Error *read_record(Arena *a, const char *folder, RunRecord *out)
{
    if (training_is_started(a, folder)) return run_record_read(a, folder, out);
    return error_new("%s: there is nothing to go on with: FOLDER is an experiment's folder or one "
                     "of its checkpoints, with a " RUN_RECORD,
                     folder);
}

/* Relative paths of the configuration lead from there. */
static void change_folder(const char *start)
{
    if (chdir(start) != 0)
        log_warning("the run was started in %s, which cannot be entered (%s): relative paths lead "
                    "from the present folder",
                    start, strerror(errno));
}

/* Checkpoints inside of an experiment that was moved have moved with it. */
static const char *checkpoints_of(Arena *a, const RunRecord *r, const char *experiment)
{
    size_t n = strlen(r->experiment);
    bool is_inside = !strncmp(r->checkpoints, r->experiment, n) && r->checkpoints[n] == '/';
    return is_inside ? path_join(a, experiment, r->checkpoints + n + 1) : r->checkpoints;
}

static Error *find_checkpoint(Arena *a, const RunRecord *r, const char *experiment,
                              const char **out)
{
    *out = NULL;
    if (!*r->checkpoints) return NULL;
    return checkpoint_newest(a, checkpoints_of(a, r, experiment), r->checkpoint_id, out);
}

/* `here` is the experiment's folder or a checkpoint; the experiment is this process's alone. */
static Error *go_on(Arena *a, const Registry *registry, const char *here, const RunRecord *record,
                    const char *experiment, const RunSettings *s)
{
    ResumePoint point = { .record = record,
                          .config_file_path = record->config_file_path,
                          .checkpoint = here };
    if (here == experiment) TRY(find_checkpoint(a, record, experiment, &point.checkpoint));
    if (point.checkpoint)
        TRY(progress_read(a, point.checkpoint, &point.position));
    else
        log_info("%s has no checkpoint yet: the training begins anew", experiment);
    RunSettings all = *s;
    all.config_file_path = path_join(a, here, RUN_YAML);
    all.experiments_root_path = path_folder(a, experiment);
    all.experiment_id = path_name(experiment);
    all.initial_weights_path =
        *record->initial_weights && !point.checkpoint ? record->initial_weights : NULL;
    all.resume = &point;
    change_folder(record->start_folder);
    if (point.checkpoint)
        log_info("going on after step %" PRId64 ", from %s", point.position.steps,
                 point.checkpoint);
    return training_run(registry, &all);
}

static Error *resume(Arena *a, const Registry *registry, const char *folder, const RunSettings *s)
{
    RunRecord record = { .experiment = "",
                         .checkpoints = "",
                         .start_folder = "",
                         .checkpoint_id = "",
                         .config_file_path = "",
                         .initial_weights = "" };
    int lock;
    const char *here = path_absolute(a, folder);
    TRY(read_record(a, here, &record));
    bool is_checkpoint = file_exists(path_join(a, here, MANIFEST_NAME));
    const char *experiment = is_checkpoint ? record.experiment : here;
    TRY(make_directories(experiment));
    TRY(run_lock_take(a, experiment, &lock));
    Error *e = go_on(a, registry, here, &record, experiment, s);
    if (lock >= 0) close(lock);
    return e;
}

Error *training_resume(const Registry *r, const char *folder, const RunSettings *s)
{
    Arena *a = arena_new();
    Error *e = resume(a, r, folder, s);
    arena_free(a);
    return e;
}
