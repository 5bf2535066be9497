/* test_evaluation.c - an evaluation takes as many batches as it is told, and says so. */
#include "monitor/results.h"
#include "train/small_job.h"
#include <math.h>

/* The last evaluation. */
typedef struct Heard {
    Subscriber base;
    double loss;
    int64_t n_batches, n_progress, total; /* n_batches 0: the results name none */
} Heard;

static Error *hear(Subscriber *self, const Event *e)
{
    Heard *h = (Heard *)self;
    if (e->kind == EVENT_PROGRESS && e->progress.is_evaluation) {
        h->n_progress = e->progress.done;
        h->total = e->progress.total;
    } else if (e->kind == EVENT_RESULTS && e->results->is_evaluation) {
        const Measure *m = results_find(e->results, "evaluation batches");
        h->loss = e->results->losses.item[0].value;
        h->n_batches = m ? m->count : 0;
    }
    return NULL;
}

static Heard evaluate_at_most(const char *setting)
{
    SmallJob *s = small_job_new("x", (const char *const[]){ setting, NULL });
    Heard h = { .base.on_event = hear, .loss = NAN };
    events_subscribe(&s->events, &h.base);
    TrainingEnd end;
    assert_no_error(trainer_run(&s->job, &end));
    arena_free(s->bench.arena);
    return h;
}

TEST(an_evaluation_of_some_batches_has_its_end_and_its_number)
{
    Heard all = evaluate_at_most("settings.intervals.evaluation_batches=null");
    assert_true(all.total > 2);
    assert_int_equal(all.n_progress, all.total);
    assert_int_equal(all.n_batches, 0);
    Heard two = evaluate_at_most("settings.intervals.evaluation_batches=2");
    assert_int_equal(two.total, 2);
    assert_int_equal(two.n_progress, 2);
    assert_int_equal(two.n_batches, 2);
    assert_true(isfinite(two.loss) && two.loss != all.loss);
    Heard more = evaluate_at_most("settings.intervals.evaluation_batches=100000");
    assert_int_equal(more.total, all.total);
    assert_int_equal(more.n_batches, 0);
    assert_close(more.loss, all.loss, 0);
}
