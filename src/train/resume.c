/* resume.c - finds the checkpoint, configuration and place of a training that was begun. */
#include "train/resume.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "checkpoint/manifest.h"
#include "checkpoint/saving.h"
#include "config/yaml.h"
#include "train/crew.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

bool training_is_started(Arena *a, const char *folder)
{
    return file_exists(path_join(a, folder, RUN_RECORD));
}

const char *training_folder(Arena *a, const char *given)
{
    const bool is_folder = is_directory(given);
    const char *of_file = is_folder ? NULL : checkpoint_folder_of(a, given);
    const char *info = is_folder ? path_join(a, given, LAST_CHECKPOINT_INFO) : given;
    if (is_folder && (training_is_started(a, given) || !file_exists(info))) return given;
    if (of_file && training_is_started(a, of_file)) return of_file;
    if (strcmp(path_name(info), LAST_CHECKPOINT_INFO) != 0) return given;
    Yaml *all;
    Error *e = yaml_read_json(a, info, &all);
    const char *named = e ? "" : yaml_text_at(all, "checkpoint_folder_path");
    error_free(e);
    if (!*named) return given;
    const char *beside = path_join(a, path_folder(a, info), path_name(named)); /* if it was moved */
    return file_exists(beside) ? beside : named;
}

int64_t training_ranks(Arena *a, const char *folder)
{
    RunRecord r = { .ranks = 0 };
    if (training_is_started(a, folder)) error_free(run_record_read(a, folder, &r));
    return r.ranks > 0 ? r.ranks : 1;
}

static Error *read_record(Arena *a, const char *folder, RunRecord *out)
{
    if (training_is_started(a, folder)) return run_record_read_as_written(a, folder, out);
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

/* The experiment that a checkpoint belongs to, which may have moved with it. */
static const char *experiment_of(Arena *a, const RunRecord *r, const char *checkpoint)
{
    const char *folder = path_folder(a, checkpoint);
    size_t n = strlen(r->experiment), length = strlen(folder);
    if (strncmp(r->checkpoints, r->experiment, n) != 0 || r->checkpoints[n] != '/')
        return r->experiment;
    const char *inside = r->checkpoints + n; /* "/checkpoints" */
    if (length <= strlen(inside) || strcmp(folder + length - strlen(inside), inside) != 0)
        return r->experiment;
    const char *around = arena_string_n(a, folder, length - strlen(inside));
    return training_is_started(a, around) ? around : r->experiment;
}

/* Rank 0 looks for it, since it also removes what was left of others. */
static Error *find_point(Arena *a, Consensus *together, const char *experiment, ResumePoint *point)
{
    if (!point->checkpoint) {
        Error *e = NULL;
        if (consensus_leads(together))
            e = find_checkpoint(a, point->record, experiment, &point->checkpoint);
        TRY(consensus_error(together, e));
        TRY(consensus_text(together, a, &point->checkpoint));
    }
    if (!point->checkpoint) {
        log_info("%s has no checkpoint yet: the training begins anew", experiment);
        return NULL;
    }
    Error *e = progress_read(a, point->checkpoint, &point->position);
    if (consensus_leads(together)) e = checkpoint_name_older(e, point->checkpoint);
    return consensus_error(together, e);
}

/* `here` is the experiment's folder or a checkpoint; the experiment is this job's alone. */
static Error *go_on(Arena *a, const Registry *registry, const char *here, const RunRecord *record,
                    const char *experiment, const RunSettings *s)
{
    ResumePoint point = { .record = record,
                          .config_file_path = record->config_file_path,
                          .checkpoint = here == experiment ? NULL : here };
    TRY(find_point(a, crew_consensus(s->crew), experiment, &point));
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

/* What was begun there; on rank 0 the experiment is this job's alone from then on. */
typedef struct Begun {
    const char *here, *experiment; /* the same where FOLDER is no checkpoint */
    RunRecord record;
    int lock; /* -1: none */
} Begun;

static Error *look(Arena *a, const char *folder, Begun *out)
{
    out->here = path_absolute(a, training_folder(a, folder));
    TRY(read_record(a, out->here, &out->record));
    bool is_checkpoint = file_exists(path_join(a, out->here, MANIFEST_NAME));
    out->experiment = is_checkpoint ? experiment_of(a, &out->record, out->here) : out->here;
    return NULL;
}

const char *training_experiment(Arena *a, const char *checkpoint)
{
    Begun b;
    Error *e = look(a, checkpoint, &b);
    const bool is_known = e == NULL;
    error_free(e);
    return is_known ? b.experiment : NULL;
}

/* A job that is just ending may write its record until it lets go of the experiment: what counts
 * is what stands there when rank 0 has it. */
static Error *take(Arena *a, const char *folder, Consensus *together, Begun *out)
{
    Error *e = NULL;
    if (consensus_leads(together)) {
        e = look(a, folder, out);
        if (!e) e = make_directories(out->experiment);
        if (!e) e = run_lock_take(a, out->experiment, &out->lock);
    }
    TRY(consensus_error(together, e));
    return consensus_error(together, look(a, folder, out));
}

/* No rank leaves the present folder before all have found theirs. */
static Error *resume(Arena *a, const Registry *registry, const char *folder, const RunSettings *s)
{
    Consensus *together = crew_consensus(s->crew);
    Begun b = { .record = { .experiment = "",
                            .checkpoints = "",
                            .start_folder = "",
                            .checkpoint_id = "",
                            .config_file_path = "",
                            .initial_weights = "" },
                .lock = -1 };
    Error *e = take(a, folder, together, &b);
    if (!e) e = go_on(a, registry, b.here, &b.record, b.experiment, s);
    if (b.lock >= 0) close(b.lock);
    return e;
}

Error *training_resume(const Registry *r, const char *folder, const RunSettings *s)
{
    Arena *a = arena_new();
    Error *e = resume(a, r, folder, s);
    arena_free(a);
    return e;
}
