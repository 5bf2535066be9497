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

Error *batch_ids(const TrainingJob *job, const Loader *l, const Batch *b, const Tensor **out)
{
    const struct {
        const char *key, *whose;
    } wanted[] = { { job->state->model->sample_key, "the model's sample_key" },
                   { job->loss->target_key, "the loss's target_key" } };
    for (int i = 0; i < 2; i++) {
        const Tensor *x = batch_find(b, wanted[i].key);
        if (i == 0) *out = x;
        if (x && x->n_dims == 2) continue;
        Text there = { 0 };
        for (int k = 0; k < b->n; k++) text_printf(&there, "%s%s", k ? ", " : "", b->item[k].name);
        Error *e = error_new("the batches of '%s' hold %s, but no ids named %s, which is %s",
                             loader_tag(l), there.ptr ? there.ptr : "nothing", wanted[i].key,
                             wanted[i].whose);
        text_free(&there);
        return e;
    }
    return NULL;
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
    const Tensor *ids;
    TRY(batch_ids(job, l, b, &ids));
    return session_evaluation_program(s, job->loss, ids->size[0], ids->size[1], out);
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
