/* bare_training.c - the same components and steps as run.c has, without what a run leaves behind.
 */
#include "train/bare_training.h"
#include "train/crew.h"
#include "train/make_job.h"
#include "train/training_check.h"

static Error *build(Arena *a, const Registry *r, const RunSettings *s, BareTraining *t)
{
    TrainingConfig *c = &t->made.config;
    Builder *b = t->made.builder = builder_new(a, r, t->made.root, s->rank);
    TRY(builder_try(b, training_config_fields, c));
    if (!c->app_state || !c->loss_fn || !c->gradient_clipper || !c->train_dataloader)
        return error_new("the configuration lacks what a training needs");
    TRY(training_check(b, c, NULL));
    t->job = training_job(a, s, &t->made, &t->events);
    t->steps = t->job.seen_steps;
    return NULL;
}

/* The same on all ranks. */
static Error *agree(BareTraining *t, Error *mine)
{
    double want = t->data_ended;
    TRY(consensus_reach(t->job.consensus, mine, &want, 1));
    t->data_ended = want > 0;
    return NULL;
}

Error *bare_training_open(Arena *a, const Registry *r, Yaml *root, const RunSettings *s,
                          BareTraining *out)
{
    Consensus *together = crew_consensus(s->crew);
    *out = (BareTraining){ .made.root = root };
    TRY(consensus_error(together, build(a, r, s, out)));
    TRY(agree(out, begin_reading(a, &out->job, &out->session, &out->step, &out->data_ended)));
    if (out->data_ended) return error_new("the data do not suffice for one step");
    TRY(consensus_error(together, begin_program(&out->job, out->session, &out->step)));
    return consensus_error(together, begin_state(&out->job, out->session, &out->step));
}

Error *bare_training_step(BareTraining *t, bool *ended)
{
    Error *e = NULL;
    *ended = t->data_ended || t->steps >= t->job.target_steps;
    if (*ended) return NULL;
    TRY(optimizer_step_run(&t->step, t->steps));
    t->steps++;
    if (t->steps < t->job.target_steps) e = optimizer_step_read(&t->step, &t->data_ended);
    return agree(t, e);
}

void bare_training_close(BareTraining *t)
{
    session_free(t->session);
    t->session = NULL;
}
