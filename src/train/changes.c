/* changes.c - a training that goes on with other samples per step, or other data, than before. */
#include "train/changes.h"
#include "base/file.h"
#include "base/log.h"
#include "checkpoint/checkpoint_name.h"

/* What the rest of the training would be. */
typedef struct Rest {
    int64_t steps, tokens; /* at its end */
    bool is_whole;         /* a whole number of steps */
} Rest;

static Rest rest_by_steps(const TrainingPosition *was, int64_t target_steps, int64_t per_step)
{
    return (Rest){ target_steps, was->tokens + (target_steps - was->steps) * per_step, true };
}

static Rest rest_by_tokens(const TrainingPosition *was, int64_t target_tokens, int64_t per_step)
{
    const int64_t left = target_tokens - was->tokens;
    return (Rest){ was->steps + left / per_step, target_tokens, left % per_step == 0 };
}

/* Samples of a step before; checkpoints of earlier versions tell only tokens. */
static int64_t samples_before(const TrainingPosition *was, const TrainingSettings *s)
{
    if (was->samples_per_step) return was->samples_per_step;
    return was->steps ? was->tokens / was->steps / s->step_profile.sequence_length : 0;
}

static Error *refuse(const TrainingPosition *was, int64_t before, int64_t now, Rest steps,
                     Rest tokens)
{
    Text t = { 0 };
    text_printf(
        &t,
        "a step would take %lld samples (micro batch x accumulation x data-parallel ranks), "
        "but the %lld steps so far took %lld each. Allowed: settings that give %lld; or "
        "--changed_step keep_steps: training ends after step %lld as planned, then with "
        "%lld tokens",
        (long long)now, (long long)was->steps, (long long)before, (long long)before,
        (long long)steps.steps, (long long)steps.tokens);
    if (tokens.is_whole)
        text_printf(&t,
                    "; or --changed_step keep_tokens: training ends with %lld tokens as planned, "
                    "then after step %lld",
                    (long long)tokens.tokens, (long long)tokens.steps);
    text_puts(&t, ". Learning rates follow the steps");
    Error *e = error_usage("%s", t.ptr);
    text_free(&t);
    return e;
}

static Error *not_whole(const TrainingPosition *was, Rest tokens, int64_t per_step)
{
    return error_usage("--changed_step keep_tokens: the %lld tokens to go are no whole number of "
                       "steps of %lld tokens",
                       (long long)(tokens.tokens - was->tokens), (long long)per_step);
}

Error *changes_of_step(const TrainingPosition *was, const char *checkpoint, ChangedStep allowed,
                       TrainingSettings *s)
{
    const int64_t before = samples_before(was, s), now = samples_per_step(&s->step_profile),
                  per_step = tokens_per_step(&s->step_profile);
    int64_t planned = s->training_target.num_target_tokens;
    if (before == now || !before) return NULL;
    TRY(checkpoint_path_number(path_name(checkpoint), "target_tokens_", &planned));
    const Rest steps = rest_by_steps(was, s->training_target.num_target_steps, per_step),
               tokens = rest_by_tokens(was, planned, per_step);
    if (allowed == STEP_REFUSED) return refuse(was, before, now, steps, tokens);
    if (allowed == STEP_KEEPS_TOKENS && !tokens.is_whole) return not_whole(was, tokens, per_step);
    const Rest rest = allowed == STEP_KEEPS_STEPS ? steps : tokens;
    s->training_target =
        (TrainingTarget){ .num_target_steps = rest.steps, .num_target_tokens = rest.tokens };
    log_info("a step takes %lld samples now, after %lld before: training ends after step %lld with "
             "%lld tokens",
             (long long)now, (long long)before, (long long)rest.steps, (long long)rest.tokens);
    return NULL;
}

Error *changes_of_data(const TrainingPosition *was, ChangedData allowed, int64_t n_samples,
                       int64_t *place)
{
    if (!was->n_samples || was->n_samples == n_samples) return NULL;
    if (allowed == DATA_REFUSED)
        return error_usage(
            "the training data have %lld samples, but had %lld: other data, another mix, or other "
            "lengths. Allowed: --changed_data from_place, which goes on at sample %lld of the new "
            "order, or --changed_data from_start, which begins at its first sample",
            (long long)n_samples, (long long)was->n_samples, (long long)*place);
    if (allowed == DATA_FROM_START) *place = 0;
    log_info("the training data have %lld samples now, after %lld before: they are read from "
             "sample %lld on",
             (long long)n_samples, (long long)was->n_samples, (long long)*place);
    return NULL;
}
