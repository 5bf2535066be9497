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
        for (int d = 0; same && d < to->n_dims; d++) same = to->size[d] == from->size[d];
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

static Error *evaluate_loader(Session *s, const TrainingJob *job, Loader *l, int64_t step)
{
    if (!loader_count(l)) {
        log_warning("'%s' has no whole batch of %lld samples: nothing is evaluated", loader_tag(l),
                    (long long)loader_batch_size(l));
        return NULL;
    }
    loader_check_ids(l, job->state->model->vocab_size);
    TRY(loader_seek(l, 0));
    double sum = 0, start = clock_seconds();
    int64_t n = 0, n_losses = 0, n_samples = 0;
    Progress progress = { .tag = loader_tag(l),
                          .is_evaluation = true,
                          .total = batches_of(job, l),
                          .loss = NAN,
                          .lr = NAN,
                          .grad_norm = NAN };
    TRY(events_publish(job->events, (Event){ .kind = EVENT_PROGRESS, .progress = progress }));
    while (n < progress.total) {
        Batch *b = NULL;
        Program *p = NULL;
        TRY(loader_next(l, &b));
        if (!b) break;
        TRY(program_for(s, job, l, b, &p));
        TRY(program_feed(p, 0, b));
        TRY(program_run_phases(p, RUN_FORWARD, &(RunTime){ .step = step }));
        sum += program_scalar(p, "loss_mean", 0);
        n_losses += batch_count_targets(job, b) > 0;
        n_samples += b->n_samples;
        progress.done = ++n;
        TRY(events_publish(job->events, (Event){ .kind = EVENT_PROGRESS, .progress = progress }));
        if (signal_stop_requested()) return NULL; /* an unfinished pass has no result */
    }
    if (n_losses < n)
        log_warning("'%s': no token of %lld of its %lld batches has a target; the mean is that of "
                    "the others",
                    loader_tag(l), (long long)(n - n_losses), (long long)n);
    if (!n_losses) return NULL;
    double rate = (double)(n_samples * job->dp_degree) / (clock_seconds() - start);
    Results r =
        evaluation_results(loader_tag(l), step, job->loss->tag, sum / (double)n_losses, rate);
    if (n < loader_count(l)) measures_add_count(&r.metrics, "evaluation batches", n);
    return events_publish(job->events, (Event){ .kind = EVENT_RESULTS, .results = &r });
}

Error *evaluate(Session *s, const TrainingJob *job, int64_t step)
{
    for (int64_t i = 0; i < job->evaluation.n && !signal_stop_requested(); i++)
        TRY(error_wrap(evaluate_loader(s, job, job->evaluation.item[i], step), "evaluation on %s",
                       loader_tag(job->evaluation.item[i])));
    return NULL;
}
