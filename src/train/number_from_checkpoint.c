/* number_from_checkpoint.c - number_conversion.*_from_checkpoint_path: what the name of a
 * checkpoint says. */
#include "checkpoint/checkpoint_name.h"
#include "config/builder.h"

typedef struct Settings {
    const char *checkpoint_path;
} Settings;

static const Field fields[] = {
    FIELD_PATH(Settings, checkpoint_path, NULL,
               "path with seen_steps_N, seen_tokens_N and target_tokens_N, each once"),
    { 0 },
};

static Error *give_number(Builder *b, const void *settings, const char *key, int64_t add,
                          void **out)
{
    const Settings *s = settings;
    int64_t number;
    TRY(checkpoint_path_number(s->checkpoint_path, key, &number));
    return give_int(b, number + add, out);
}

static Error *last_step(Builder *b, const void *settings, void **out)
{
    return give_number(b, settings, "seen_steps_", -1, out);
}

static Error *seen_steps(Builder *b, const void *settings, void **out)
{
    return give_number(b, settings, "seen_steps_", 0, out);
}

static Error *seen_tokens(Builder *b, const void *settings, void **out)
{
    return give_number(b, settings, "seen_tokens_", 0, out);
}

static Error *target_tokens(Builder *b, const void *settings, void **out)
{
    return give_number(b, settings, "target_tokens_", 0, out);
}

/* a // b as Python's floats do it: the quotient of what fmod leaves, rounded to the nearest whole
 * number. */
static double floor_divide(double a, double b)
{
    double quotient = (a - fmod(a, b)) / b, whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

/* target_tokens // (seen_tokens / seen_steps), as the original: the target_steps in the name is not
 * looked at. */
static Error *target_steps(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t target, tokens, steps;
    TRY(checkpoint_path_number(s->checkpoint_path, "target_tokens_", &target));
    TRY(checkpoint_path_number(s->checkpoint_path, "seen_tokens_", &tokens));
    TRY(checkpoint_path_number(s->checkpoint_path, "seen_steps_", &steps));
    if (!steps || !tokens)
        return error_new(
            "\"%s\" has seen %lld steps and %lld tokens: the tokens of a step are unknown",
            s->checkpoint_path, (long long)steps, (long long)tokens);
    double result = floor_divide((double)target, (double)tokens / (double)steps);
    if (!(result < 9e18)) return error_new("the number of steps is beyond 64 bits");
    return give_int(b, (int64_t)result, out);
}

/* clang-format off */
#define OF_ALL .kind = "number_conversion", .fields = fields, .settings_size = sizeof(Settings), .gives = GIVES_INT, .is_light = true
const ComponentDef number_conversion_last_step_from_checkpoint_path = {
    OF_ALL, .variant = "last_step_from_checkpoint_path", .build = last_step, .doc = "steps seen, less one" };
const ComponentDef number_conversion_num_seen_steps_from_checkpoint_path = {
    OF_ALL, .variant = "num_seen_steps_from_checkpoint_path", .build = seen_steps, .doc = "steps seen" };
const ComponentDef number_conversion_global_num_seen_tokens_from_checkpoint_path = {
    OF_ALL, .variant = "global_num_seen_tokens_from_checkpoint_path", .build = seen_tokens, .doc = "tokens seen" };
const ComponentDef number_conversion_global_num_target_tokens_from_checkpoint_path = {
    OF_ALL, .variant = "global_num_target_tokens_from_checkpoint_path", .build = target_tokens, .doc = "tokens aimed at" };
const ComponentDef number_conversion_num_target_steps_from_checkpoint_path = {
    OF_ALL, .variant = "num_target_steps_from_checkpoint_path", .build = target_steps,
    .doc = "tokens aimed at // tokens of a step so far" };
/* clang-format on */
