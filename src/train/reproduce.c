/* reproduce.c - runs the first steps of an experiment again, and says what is to blame where they
 * part from those that were kept. */
#include "train/reproduce.h"
#include "base/log.h"
#include "monitor/experiment.h"
#include "train/bare_training.h"
#include "train/keep_steps.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Reproduction {
    Arena *arena;
    const ReproduceSettings *s;
    const char *folder; /* absolute */
    RunRecord record;
    Provenance then, now;
    StepRecord *kept;
    int64_t n_kept;
    RunSettings settings;
    BareTraining training;
} Reproduction;

static Error *read_kept(Reproduction *r)
{
    Arena *a = r->arena;
    r->folder = path_absolute(a, r->s->folder);
    if (!file_exists(path_join(a, r->folder, PROVENANCE)) ||
        !file_exists(path_join(a, r->folder, FIRST_STEPS)))
        return error_new(
            "%s: there is nothing to reproduce: FOLDER is an experiment's folder with " PROVENANCE
            " and " FIRST_STEPS ", which a training writes with its first "
            "step",
            r->folder);
    TRY(run_record_read(a, r->folder, &r->record));
    TRY(provenance_read(a, r->folder, &r->then));
    TRY(first_steps_read(a, r->folder, &r->kept, &r->n_kept));
    if (!r->n_kept) return error_new("%s has no step in " FIRST_STEPS, r->folder);
    if (r->s->n_steps > 0 && r->s->n_steps < r->n_kept) r->n_kept = r->s->n_steps;
    return NULL;
}

/* The configuration as it was kept; relative paths lead from where the run was started. */
static Error *load(Reproduction *r, Yaml **root)
{
    Arena *a = r->arena;
    const ResolverContext context = { .rank = r->s->crew->rank,
                                      .config_file_path = r->record.config_file_path,
                                      .experiments_root_path = path_folder(a, r->folder),
                                      .experiment_id = path_name(r->folder) };
    r->settings = (RunSettings){ .rank = r->s->crew->rank,
                                 .crew = r->s->crew,
                                 .config_file_path = path_join(a, r->folder, RUN_YAML),
                                 .experiments_root_path = context.experiments_root_path,
                                 .experiment_id = context.experiment_id };
    if (*r->record.initial_weights) r->settings.initial_weights_path = r->record.initial_weights;
    TRY(config_load(a, r->settings.config_file_path, (StringList){ 0 }, &context, root));
    return training_config_complete(a, *root, r->s->crew->rank, context.experiments_root_path);
}

static Error *open_training(Reproduction *r, const Registry *registry)
{
    Consensus *together = crew_consensus(r->s->crew);
    Yaml *root = NULL;
    Error *e = read_kept(r);
    TRY(consensus_error(together, e));
    if (chdir(r->record.start_folder) != 0)
        log_warning("%s, where the run was started, cannot be entered (%s)", r->record.start_folder,
                    strerror(errno));
    TRY(consensus_error(together, load(r, &root)));
    return bare_training_open(r->arena, registry, root, &r->settings, &r->training);
}

static const char *show(Arena *a, const StepRecord *s)
{
    Text t = { 0 };
    text_puts(&t, "loss");
    for (int64_t i = 0; i < s->n; i++) text_printf(&t, " %.17g", s->loss[i]);
    text_printf(&t, ", gradient norm %.17g", s->grad_norm);
    const char *text = arena_string(a, t.ptr);
    text_free(&t);
    return text;
}

static const char *step_text(Reproduction *r, const StepRecord *then, const StepRecord *now)
{
    return arena_printf(r->arena, "step %" PRId64 " parts:\n  then %s\n  now  %s", then->step,
                        show(r->arena, then), show(r->arena, now));
}

static Error *compare(Reproduction *r)
{
    Consensus *together = crew_consensus(r->s->crew);
    const OptimizerStep *s = &r->training.step;
    for (int64_t i = 0; i < r->n_kept; i++) {
        bool ended;
        Error *e = NULL;
        TRY(bare_training_step(&r->training, &ended));
        const StepRecord now = { r->training.steps, s->grad_norm, s->sum, s->plan.n };
        if (ended)
            e = error_new("the training ends after %" PRId64 " steps, then it had %" PRId64,
                          r->training.steps, r->n_kept);
        else if (consensus_leads(together) && !step_records_equal(&r->kept[i], &now))
            e = error_new("%s", step_text(r, &r->kept[i], &now));
        TRY(consensus_error(together, e));
    }
    return NULL;
}

/* On rank 0; what differs may matter later, or not at all. */
static void tell(const Reproduction *r)
{
    Text t = { 0 };
    const int64_t n = provenance_differences(&r->then, &r->now, &t);
    printf("%" PRId64 " step%s: every loss and gradient norm has the same bits\n", r->n_kept,
           r->n_kept == 1 ? "" : "s");
    if (n) printf("although this is not as it was then:\n%s", t.ptr);
    text_free(&t);
}

static Error *look_around(Reproduction *r)
{
    Str kept;
    TRY(file_read(r->arena, r->settings.config_file_path, &kept));
    r->now = run_provenance(r->arena, &r->training.made, &r->settings);
    r->now.config = config_digest(r->arena, kept.ptr);
    r->now.device = session_store(r->training.session)->device->name;
    return NULL;
}

/* What differs, below what went wrong; on rank 0. */
static Error *blame(Reproduction *r, Error *e)
{
    Text t = { 0 };
    if (!r->training.made.builder) return e;
    if (!r->now.version) e = error_join(e, look_around(r));
    const int64_t n = provenance_differences(&r->then, &r->now, &t);
    if (n) t.ptr[--t.len] = 0; /* the last line's end */
    if (n)
        e = error_join(e, error_new("What is not as it was then:\n%s", t.ptr));
    else
        e = error_join(e, error_new("Program, machine, ranks, configuration and files are as they "
                                    "were then. Run it again: if it ends otherwise, memory or "
                                    "processor are at fault, else this is a fault of the program"));
    text_free(&t);
    return e;
}

static Error *reproduce(Reproduction *r, const Registry *registry)
{
    Consensus *together = crew_consensus(r->s->crew);
    TRY(open_training(r, registry));
    TRY(consensus_error(together, consensus_leads(together) ? look_around(r) : NULL));
    TRY(compare(r));
    if (consensus_leads(together)) tell(r);
    return NULL;
}

Error *training_reproduce(const Registry *registry, const ReproduceSettings *s)
{
    Arena *a = arena_new();
    Reproduction *r = NEW(a, Reproduction);
    r->arena = a;
    r->s = s;
    Error *e = reproduce(r, registry);
    if (e && consensus_leads(crew_consensus(s->crew))) e = blame(r, e);
    bare_training_close(&r->training);
    arena_free(a);
    return e;
}
