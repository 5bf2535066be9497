/* test_no_targets.c - batches in which no token has a target add nothing: not to the weights, not
 * to the means that are reported. */
#include "data/collators.h"
#include "data/sampler.h"
#include "models/loss.h"
#include "monitor/results.h"
#include "tensor/target.h"
#include "train/small_job.h"
#include <math.h>
#include <string.h>

enum { N_STEPS = 8, SAMPLES = 2 };

/* Another collator's batches, without targets where `mask` says so of the microbatch's number. */
typedef struct Masking {
    Collator base;
    const Collator *inner;
    bool (*mask)(int64_t microbatch);
} Masking;

static Error *collate(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    const Masking *m = (const Masking *)self;
    TRY(m->inner->collate(m->inner, sample, n, out));
    const Tensor *t = batch_find(out, "target_ids");
    for (int64_t i = 0; m->mask(out->position / n) && i < tensor_count(t); i++)
        ((int32_t *)t->data)[i] = IGNORED_TARGET;
    return NULL;
}

static bool none(int64_t microbatch)
{
    (void)microbatch;
    return false;
}
static bool every(int64_t microbatch)
{
    (void)microbatch;
    return true;
}
static bool every_second(int64_t microbatch)
{
    return microbatch % 2 == 1;
}

static int64_t all_samples(const Sampler *self)
{
    (void)self;
    return 2 * N_STEPS * SAMPLES;
}
static int64_t in_order(const Sampler *self, int64_t position)
{
    (void)self;
    return position;
}
/* The samples of the first microbatch of each two. */
static int64_t in_first(const Sampler *self, int64_t position)
{
    (void)self;
    return position / SAMPLES * 2 * SAMPLES + position % SAMPLES;
}

/* What a run said of its steps. */
typedef struct Said {
    Subscriber base;
    double loss[N_STEPS + 1], grad_norm[N_STEPS + 1]; /* means by step */
    double evaluated;                                 /* NaN: never */
    double norm[N_STEPS + 1];                         /* of all weights, observed */
} Said;

static Error *hear(Subscriber *self, const Event *e)
{
    Said *s = (Said *)self;
    if (e->kind != EVENT_RESULTS) return NULL;
    const Results *r = e->results;
    if (r->is_evaluation) {
        s->evaluated = r->losses.item[0].value;
        return NULL;
    }
    s->loss[r->step] = results_find(r, "train loss avg")->value;
    s->grad_norm[r->step] = results_find(r, "grad norm avg")->value;
    return NULL;
}

static void observe(void *context, const StepReport *r)
{
    Said *s = context;
    double sum = 0;
    for (int64_t k = 0; k < store_count(r->store); k++) {
        const Stored *x = store_at(r->store, k);
        if (x->kind != VALUE_PARAM) continue;
        for (int64_t i = 0; i < tensor_count(&x->tensor); i++)
            sum += dtype_get(x->tensor.dtype, x->tensor.data, i) * (double)(1 + i % 7);
    }
    s->norm[r->step] = sum;
}

typedef struct Variant {
    bool (*mask)(int64_t microbatch);
    int64_t accumulation;
    int64_t (*index)(const Sampler *self, int64_t position);
    bool global_tokens;
} Variant;

static void train(const Variant *v, Said *said)
{
    SmallJob *s = small_job_new("x", (const char *[]){ "model_raw.config.dropout=0.0", NULL });
    Arena *a = s->bench.arena;
    Masking m = { .base = { collate },
                  .inner = gpt2_collator_new(a, "input_ids", "target_ids"),
                  .mask = v->mask };
    Sampler order = { .count = all_samples, .index = v->index };
    BatchSampler batches = { &order, SAMPLES };
    LoaderSettings settings = {
        .tag = "train", .dataset = s->config.train_dataset, .batches = &batches, .collator = &m.base
    };
    Loss loss = *s->job.loss;
    loss.global_tokens = v->global_tokens;
    *said = (Said){ .base = { .on_event = hear }, .evaluated = NAN };
    events_subscribe(&s->events, &said->base);
    s->job.train = loader_new(a, &settings);
    s->job.loss = &loss;
    s->job.accumulation = v->accumulation;
    s->job.observe = observe;
    s->job.observer = said;
    if (v->mask == every) { /* evaluation without targets, too */
        settings.tag = "val";
        s->job.evaluation.item[0] = loader_new(a, &settings);
        s->job.evaluation.n = 1;
    }
    TrainingEnd end;
    assert_no_error(trainer_run(&s->job, &end));
    assert_int_equal(end.reason, END_TARGET);
    arena_free(a);
}

TEST(a_microbatch_without_targets_adds_nothing_to_weights_and_means)
{
    Said masked, alone;
    train(&(Variant){ every_second, 2, in_order, true }, &masked);
    train(&(Variant){ none, 1, in_first, true }, &alone);
    for (int i = 1; i <= N_STEPS; i++) {
        assert_true(masked.norm[i] == alone.norm[i]);
        assert_true(masked.loss[i] == alone.loss[i] && masked.loss[i] > 1);
        assert_true(masked.grad_norm[i] == alone.grad_norm[i] && masked.grad_norm[i] > 0);
    }
}

/* Each microbatch has its share of the step, whatever it holds, as in the original. */
TEST(a_mean_of_microbatches_keeps_the_share_of_one_without_targets)
{
    Said masked, alone;
    train(&(Variant){ every_second, 2, in_order, false }, &masked);
    train(&(Variant){ none, 1, in_first, false }, &alone);
    assert_true(masked.loss[1] == alone.loss[1]);
    assert_close(masked.grad_norm[1], alone.grad_norm[1] / 2, 1e-6 * alone.grad_norm[1]);
}

TEST(a_step_without_any_target_has_loss_and_gradients_of_zero)
{
    for (int global_tokens = 0; global_tokens < 2; global_tokens++) {
        Said said;
        train(&(Variant){ every, 2, in_order, global_tokens }, &said);
        for (int i = 1; i <= N_STEPS; i++) {
            assert_true(said.loss[i] == 0 && said.grad_norm[i] == 0);
            assert_true(isfinite(said.norm[i]));
        }
        assert_true(isnan(said.evaluated));
    }
}
