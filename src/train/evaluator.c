/* evaluator.c - loss over evaluation loaders, without dropout. */
#include "train/evaluator.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signal.h"
#include "exec/schedule.h"
#include "monitor/results.h"
#include <math.h>
#include <string.h>

Error *program_feed(Program *p, const Batch *b)
{
    for (int i = 0; i < b->n; i++) {
        Tensor *to = program_input(p, b->item[i].name);
        const Tensor *from = &b->item[i].tensor;
        if (!to) continue;
        bool same = to->dtype == from->dtype && to->n_dims == from->n_dims;
        for (int d = 0; same && d < to->n_dims; d++) same = to->size[d] == from->size[d];
        if (!same)
            return error_new("the batch item %s has another shape or dtype than the program",
                             b->item[i].name);
        memcpy(to->data, from->data, tensor_bytes(from));
    }
    return NULL;
}

static Error *program_for(Session *s, const TrainingJob *job, const Batch *b, Program **out)
{
    const Tensor *ids = batch_find(b, job->state->model->sample_key);
    if (!ids || ids->n_dims != 2)
        return error_new("the batch has no token ids named %s", job->state->model->sample_key);
    return session_evaluation_program(s, job->loss, ids->size[0], ids->size[1], out);
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
    int64_t n = 0, n_samples = 0;
    Progress progress = { .tag = loader_tag(l),
                          .is_evaluation = true,
                          .total = loader_count(l),
                          .loss = NAN,
                          .lr = NAN,
                          .grad_norm = NAN };
    TRY(events_publish(job->events, (Event){ .kind = EVENT_PROGRESS, .progress = progress }));
    for (;;) {
        Batch *b = NULL;
        Program *p = NULL;
        TRY(loader_next(l, &b));
        if (!b) break;
        TRY(program_for(s, job, b, &p));
        TRY(program_feed(p, b));
        TRY(program_run(p, RUN_FORWARD, &(RunTime){ .step = step }));
        sum += program_scalar(p, "loss_mean");
        n_samples += b->n_samples;
        progress.done = ++n;
        TRY(events_publish(job->events, (Event){ .kind = EVENT_PROGRESS, .progress = progress }));
        if (signal_stop_requested()) return NULL; /* an unfinished pass has no result */
    }
    double rate = (double)(n_samples * job->dp_degree) / (clock_seconds() - start);
    Results r = evaluation_results(loader_tag(l), step, job->loss->tag, sum / (double)n, rate);
    return events_publish(job->events, (Event){ .kind = EVENT_RESULTS, .results = &r });
}

Error *evaluate(Session *s, const TrainingJob *job, int64_t step)
{
    for (int64_t i = 0; i < job->evaluation.n && !signal_stop_requested(); i++)
        TRY(error_wrap(evaluate_loader(s, job, job->evaluation.item[i], step), "evaluation on %s",
                       loader_tag(job->evaluation.item[i])));
    return NULL;
}
