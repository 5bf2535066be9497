/* evaluator.c - loss over evaluation loaders, without dropout. */
#include "train/evaluator.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signal.h"
#include "exec/schedule.h"
#include "monitor/results.h"
#include <math.h>
#include <string.h>

/* What a program reads must be in the batch; else it would read the numbers of another one. */
static Error *check_inputs(Program *p, const Batch *b)
{
    const Graph *g = program_graph(p);
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        if (v->kind == VALUE_INPUT && !batch_find(b, v->name))
            return error_new("the batch has no '%s', which the model or the loss needs; it is the "
                             "collate_fn that makes it",
                             v->name);
    }
    return NULL;
}

Error *program_feed(Program *p, int64_t microbatch, const Batch *b)
{
    TRY(check_inputs(p, b));
    for (int i = 0; i < b->n; i++) {
        const Tensor *to = program_input(p, b->item[i].name, microbatch);
        const Tensor *from = &b->item[i].tensor;
        if (!to) continue;
        bool same = to->dtype == from->dtype && to->n_dims == from->n_dims;
        for (int d = 0; same && d < to->n_dims; d++) same = global_size(to, d) == from->size[d];
        if (!same)
            return error_new("the batch item %s has another shape or dtype than the program",
                             b->item[i].name);
        TRY(program_write(p, b->item[i].name, microbatch, from->data));
    }
    return NULL;
}

static Error *lacks(const Loader *l, const Batch *b, const char *what, const char *name,
                    const char *whose, const char *setting)
{
    Text there = { 0 };
    for (int k = 0; k < b->n; k++) text_printf(&there, "%s%s", k ? ", " : "", b->item[k].name);
    Error *e =
        error_new("the batches of '%s' hold %s, but no %s named %s, which is the %s's %s",
                  loader_tag(l), there.ptr ? there.ptr : "nothing", what, name, whose, setting);
    text_free(&there);
    return e;
}

Error *batch_shape(const TrainingJob *job, const Loader *l, const Batch *b, int64_t *n_samples,
                   int64_t *sequence)
{
    *n_samples = b->n_samples;
    *sequence = 1;
    for (const ModelInput *in = job->state->model->inputs; in->name; in++) {
        if (in->of_documents) continue;
        const Tensor *x = batch_find(b, in->name);
        const char *what = in->n_ids ? "ids" : "numbers";
        if (!x || x->n_dims != in->n_dims) return lacks(l, b, what, in->name, "model", in->setting);
        for (int d = 0; d < in->n_dims; d++)
            if (!in->dim[d].size)
                *(strcmp(in->dim[d].axis, "batch") ? sequence : n_samples) = x->size[d];
    }
    const Tensor *x = batch_find(b, job->loss->target_key);
    return x && (x->n_dims == 1 || x->n_dims == 2)
               ? NULL
               : lacks(l, b, "ids", job->loss->target_key, "loss", "target_key");
}

int64_t batch_count_targets(const TrainingJob *job, const Batch *b)
{
    const Tensor *x = batch_find(b, job->loss->target_key);
    int64_t n = 0;
    for (int64_t i = 0; x && i < tensor_count(x); i++)
        n += ((const int32_t *)x->data)[i] != IGNORED_TARGET;
    return n;
}

static Error *program_for(Session *s, const TrainingJob *job, const Loader *l, const Batch *b,
                          Program **out)
{
    int64_t n_samples, sequence;
    TRY(batch_shape(job, l, b, &n_samples, &sequence));
    return session_evaluation_program(s, job->loss, n_samples, sequence, out);
}

/* Of a pass: all, or as many as the job takes. */
static int64_t batches_of(const TrainingJob *job, const Loader *l)
{
    int64_t all = loader_count(l), most = job->evaluation_batches;
    return most && most < all ? most : all;
}

/* A pass over one loader. */
typedef struct Pass {
    const TrainingJob *job;
    Loader *loader;
    Progress progress;
    int64_t n_samples;       /* of this rank */
    double sum, n, n_losses; /* of the batches: losses, batches, those that have a loss */
    Program *program;        /* of the next batch */
    bool is_over, is_cut;    /* nothing is left; a signal asks for the end */
} Pass;

/* The next batch is where its program reads it, or there is none. */
static Error *read_batch(Session *s, Pass *p)
{
    const TrainingJob *job = p->job;
    Batch *b = NULL;
    p->is_over = p->progress.done == p->progress.total;
    TRY(events_publish(job->events, (Event){ .kind = EVENT_PROGRESS, .progress = p->progress }));
    if (p->is_over) return NULL;
    TRY(loader_next(p->loader, &b));
    p->is_over = !b;
    if (!b) return NULL;
    TRY(program_for(s, job, p->loader, b, &p->program));
    TRY(program_feed(p->program, 0, b));
    p->n_losses += batch_count_targets(job, b) > 0 && program_has_scalar(p->program, "loss_mean");
    p->n_samples += b->n_samples;
    return NULL;
}

/* A batch runs when all ranks have one, and none is to stop. */
static Error *agree_on_batch(Session *s, Pass *p)
{
    Error *e = read_batch(s, p);
    double want[] = { p->is_over, !p->is_over && signal_stop_requested() };
    TRY(consensus_reach(p->job->consensus, e, want, 2));
    p->is_over = want[0] > 0;
    p->is_cut = want[1] > 0;
    return NULL;
}

static Error *run_pass(Session *s, Pass *p, int64_t step)
{
    for (;;) {
        TRY(agree_on_batch(s, p));
        if (p->is_over || p->is_cut) return NULL;
        Error *e = program_run_phases(p->program, RUN_FORWARD, &(RunTime){ .step = step });
        TRY(consensus_break(p->job->consensus, e));
        if (program_has_scalar(p->program, "loss_mean")) { /* not every stage has */
            p->sum += program_scalar(p->program, "loss_mean", 0);
            p->n++;
        }
        p->progress.done++;
    }
}

static Error *publish_pass(const Pass *p, int64_t step, double seconds)
{
    const TrainingJob *job = p->job;
    Loader *l = p->loader;
    if (p->n_losses < p->n)
        log_warning("'%s': no token of %lld of its %lld batches has a target; the mean is that of "
                    "the others",
                    loader_tag(l), (long long)(p->n - p->n_losses), (long long)p->n);
    if (p->n_losses == 0) return NULL;
    double rate = (double)(p->n_samples * job->dp_degree) / seconds;
    Results r = evaluation_results(loader_tag(l), step, job->loss->tag, p->sum / p->n_losses, rate);
    if (p->progress.done < loader_count(l))
        measures_add_count(&r.metrics, "evaluation batches", p->progress.done);
    return events_publish(job->events, (Event){ .kind = EVENT_RESULTS, .results = &r });
}

static Error *evaluate_loader(Session *s, const TrainingJob *job, Loader *l, int64_t step,
                              bool *is_whole)
{
    double is_empty = loader_count(l) == 0;
    TRY(consensus_reach(job->consensus, loader_seek(l, 0), &is_empty, 1));
    if (is_empty > 0) {
        log_warning("'%s' has no whole batch of %lld samples: nothing is evaluated", loader_tag(l),
                    (long long)loader_batch_size(l));
        return NULL;
    }
    loader_check_ids(l, job->state->model->vocab_size);
    Pass p = { .job = job,
               .loader = l,
               .progress = { .tag = loader_tag(l),
                             .is_evaluation = true,
                             .total = batches_of(job, l),
                             .loss = NAN,
                             .lr = NAN,
                             .grad_norm = NAN } };
    double start = clock_seconds();
    TRY(run_pass(s, &p, step));
    *is_whole = !p.is_cut;
    if (p.is_cut) return NULL; /* an unfinished pass has no result */
    double sums[] = { p.sum, p.n, p.n_losses };
    TRY(consensus_sum(job->consensus, sums, 3));
    p.sum = sums[0], p.n = sums[1], p.n_losses = sums[2];
    return consensus_error(job->consensus, publish_pass(&p, step, clock_seconds() - start));
}

Error *evaluate(Session *s, const TrainingJob *job, int64_t step, bool *is_whole)
{
    *is_whole = true;
    for (int64_t i = 0; i < job->evaluation.n && *is_whole; i++)
        TRY(error_wrap(evaluate_loader(s, job, job->evaluation.item[i], step, is_whole),
                       "evaluation on %s", loader_tag(job->evaluation.item[i])));
    return NULL;
}
