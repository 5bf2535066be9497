/* test_combined.c - several optimizers in one run: who updates what, with which rate, and whether a
 * run goes on as if it had not been stopped. */
#include "checkpoint/checkpoint.h"
#include "end_to_end/training.h"
#include "train/kept_params.h"
#include <stdlib.h>
#include <string.h>

#define ADAM(name, rest)                                                                           \
    name "={component_key: optimizer, variant_key: adam_w, config: {betas: [0.9, 0.95], eps: "     \
         "1e-8, weight_decay: 1e-1, wrapped_model: {instance_key: initialized_model, pass_type: "  \
         "BY_REFERENCE}, " rest "}}"
#define COMBINED(first, second)                                                                    \
    "optimizer={component_key: optimizer, variant_key: combined, config: {wrapped_model: "         \
    "{instance_key: initialized_model, pass_type: BY_REFERENCE}, parts: [{name: first, "           \
    "optimizer: {instance_key: first, pass_type: BY_REFERENCE}, parameters: " first                \
    "}, {name: second, optimizer: {instance_key: second, pass_type: BY_REFERENCE}, "               \
    "parameters: " second "}]}}"
#define ALL_DECAY "weight_decay_groups_excluded: []"
#define SCHEDULER(name, optimizer, gamma)                                                          \
    name "={component_key: scheduler, variant_key: step_lr, config: {optimizer: "                  \
         "{instance_key: " optimizer ", pass_type: BY_REFERENCE}, step_size: 2, gamma: " gamma     \
         "}}"
#define TWO_SCHEDULERS                                                                             \
    "lr_scheduler={component_key: scheduler, variant_key: combined, config: {optimizer: "          \
    "{instance_key: optimizer, pass_type: BY_REFERENCE}, schedulers: [{instance_key: schedule_1, " \
    "pass_type: BY_REFERENCE}, {instance_key: schedule_2, pass_type: BY_REFERENCE}]}}"

/* Two of AdamW with the same rate: the bits of one. */
static const char *const alike[] = {
    ADAM("first", "lr: 1e-3, weight_decay_groups_excluded: []"),
    ADAM("second", "lr: 1e-3, weight_decay_groups_excluded: [embedding, layernorm]"),
    COMBINED("[\"*.mlp.*\", \"*.attn.*\"]", "[\"*\"]"), NULL
};

TEST(two_optimizers_that_are_alike_give_the_bits_of_one)
{
    Arena *a = arena_new();
    const KeptParams one = kept_params(a, NULL), two = kept_params(a, alike);
    assert_true(one.n > 10 && one.n == two.n);
    for (int64_t i = 0; i < one.n; i++) assert_true(kept_is_same(&one, &two, i));
    arena_free(a);
}

#define RATES(first, second)                                                                       \
    ADAM("first", "lr: " first ", " ALL_DECAY), ADAM("second", "lr: " second ", " ALL_DECAY)
#define MLP_AND_REST COMBINED("[\"*.mlp.*\"]", "[\"*\"]")
#define CONSTANT                                                                                   \
    "lr_scheduler={component_key: scheduler, variant_key: dummy_lr, config: {optimizer: "          \
    "{instance_key: optimizer, pass_type: BY_REFERENCE}}}"

TEST(each_optimizer_updates_its_parameters_with_its_rate)
{
    static const char *const none[] = { RATES("0", "0"), MLP_AND_REST, CONSTANT, NULL };
    static const char *const some[] = { RATES("1e-3", "0"), MLP_AND_REST, CONSTANT, NULL };
    Arena *a = arena_new();
    const KeptParams start = kept_params(a, none), end = kept_params(a, some);
    int n_mlp = 0;
    for (int64_t i = 0; i < start.n; i++) {
        const bool is_mlp = strstr(start.name[i], ".mlp.");
        n_mlp += is_mlp;
        assert_int_equal(kept_is_same(&start, &end, i), !is_mlp);
    }
    assert_true(n_mlp > 0 && n_mlp < start.n);
    arena_free(a);
}

#define SET "--set"
static const char *const scheduled[] = { SET,
                                         ADAM("first", "lr: 1e-3, " ALL_DECAY),
                                         SET,
                                         ADAM("second", "lr: 4e-3, weight_decay_groups_excluded: "
                                                        "[embedding, layernorm]"),
                                         SET,
                                         COMBINED("[\"@matrices\"]", "[\"*\"]"),
                                         SET,
                                         SCHEDULER("schedule_1", "first", "0.5"),
                                         SET,
                                         SCHEDULER("schedule_2", "second", "0.25"),
                                         SET,
                                         TWO_SCHEDULERS,
                                         NULL };

TEST(optimizers_with_schedules_of_their_own_go_on_as_if_never_stopped)
{
    assert_resumes(scheduled);
}

static const char *const with_muon[] = {
    SET,
    "first={component_key: optimizer, variant_key: muon, config: {lr: 5e-3, wrapped_model: "
    "{instance_key: initialized_model, pass_type: BY_REFERENCE}}}",
    SET,
    ADAM("second", "lr: 4e-3, weight_decay_groups_excluded: [embedding, layernorm]"),
    SET,
    COMBINED("[\"@matrices\"]", "[\"*\"]"),
    SET,
    SCHEDULER("lr_scheduler", "optimizer", "0.5"),
    NULL
};

TEST(muon_beside_adam_w_goes_on_as_if_never_stopped)
{
    assert_resumes(with_muon);
}
FENCED(muon_beside_adam_w_goes_on_as_if_never_stopped)

static double last_number(const char *text, const char *name)
{
    const char *at = NULL;
    for (const char *x = text; (x = strstr(x, name)); x += strlen(name)) at = x + strlen(name);
    if (!at) fail_msg("no %s in %s", name, text);
    return strtod(at, NULL);
}

/* "lr/first" and the like, as the last line of an experiment's results has it. */
static double last_result(const Bench *b, const char *id, const char *name)
{
    Str results;
    assert_no_error(file_read(
        b->arena, arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id), &results));
    return last_number(results.ptr, arena_printf(b->arena, "\"%s\": ", name));
}

/* After 4 steps two drops have been made; second has two groups, and the mean is over three. */
TEST(results_and_checkpoints_have_a_rate_for_each_optimizer)
{
    static const char *const to_4[] = { SET, "settings.training_target.num_target_steps=4", NULL };
    Bench b = bench_new();
    const char *words[32];
    int n = 0;
    for (int i = 0; scheduled[i]; i++) words[n++] = scheduled[i];
    for (int i = 0; to_4[i]; i++) words[n++] = to_4[i];
    words[n] = NULL;
    assert_ended_well(bench_run(&b, "x", NULL, words, NULL));
    assert_close(last_result(&b, "x", "lr/first"), 1e-3 / 4, 1e-10);
    assert_close(last_result(&b, "x", "lr/second"), 4e-3 / 16, 1e-10);
    assert_close(last_result(&b, "x", "lr mean"), (1e-3 / 4 + 2 * 4e-3 / 16) / 3, 1e-10);
    CheckpointReader *r;
    assert_no_error(checkpoint_open(b.arena, bench_last_checkpoint(&b, "x", NULL), &r));
    const CheckpointObject *object;
    int64_t n_objects;
    int n_found = 0;
    assert_no_error(r->objects(r, &object, &n_objects));
    for (int64_t i = 0; i < n_objects; i++) {
        const CheckpointObject *o = &object[i];
        Text json = { 0 };
        assert_no_error(pickle_json(o->value, &json));
        if (!strcmp(o->name, "app.optimizer.param_groups.transformer.wte.weight.initial_lr"))
            n_found += strtod(json.ptr, NULL) == 4e-3;
        if (!strcmp(o->name, "app.optimizer.param_groups.transformer.h.0.mlp.c_fc.weight.lr"))
            n_found += strtod(json.ptr, NULL) == 1e-3 / 4;
        text_free(&json);
    }
    assert_int_equal(n_found, 2);
    arena_free(b.arena);
}

/* Two optimizers, and this schedule of theirs. */
static Outcome run_scheduled(const Bench *b, const char *schedule, const char *combined)
{
    const char *words[32];
    int n = 0;
    for (; n < 6; n++) words[n] = scheduled[n];
    words[n++] = SET;
    words[n++] = schedule;
    words[n++] = SET;
    words[n++] = combined;
    words[n++] = SET;
    words[n++] = "settings.training_target.num_target_steps=4";
    words[n] = NULL;
    return bench_run(b, "x", NULL, words, NULL);
}

static const char one_scheduler[] =
    "lr_scheduler={component_key: scheduler, variant_key: combined, config: {optimizer: "
    "{instance_key: optimizer, pass_type: BY_REFERENCE}, schedulers: [{instance_key: schedule_1, "
    "pass_type: BY_REFERENCE}]}}";

TEST(an_optimizer_without_a_schedule_keeps_its_rate)
{
    Bench b = bench_new();
    assert_ended_well(run_scheduled(&b, SCHEDULER("schedule_1", "first", "0.5"), one_scheduler));
    assert_close(last_result(&b, "x", "lr/first"), 1e-3 / 4, 1e-10);
    assert_close(last_result(&b, "x", "lr/second"), 4e-3, 1e-9);
    arena_free(b.arena);
}

TEST(schedules_of_parts_begin_where_the_training_does)
{
    Bench b = bench_new();
    assert_refused(
        run_scheduled(&b, SCHEDULER("schedule_1", "first", "0.5, last_epoch: 2"), one_scheduler), 1,
        "the schedule would begin at step 3, but training_progress.num_seen_steps is 0");
    arena_free(b.arena);
}

TEST(combined_optimizers_that_do_not_fit_are_refused_by_name)
{
    static const char *const bad[][4] = {
        { COMBINED("[\"*.mpl.*\"]", "[\"*\"]"), CONSTANT, NULL,
          "parts.0.parameters: \"*.mpl.*\" is the name of no parameter" },
        { COMBINED("[\"*.mlp.*\"]", "[\"@norms\"]"), CONSTANT, NULL,
          "no part of optimizer.combined takes the parameter transformer.wte.weight" },
        { COMBINED("[\"*\"]", "[\"@norms\"]"), CONSTANT, NULL,
          "parts.1 (second): the parts before it take all" },
        { COMBINED("[\"@norm\"]", "[\"*\"]"), CONSTANT, NULL,
          "parts.0.parameters.0: \"@norm\"; allowed are" },
        { MLP_AND_REST, SCHEDULER("lr_scheduler", "first", "0.5"), NULL,
          "this is one part of the optimizer of app_state; scheduler.combined" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Bench b = bench_new();
        const char *const words[] = { SET, ADAM("first", "lr: 1e-3, " ALL_DECAY),
                                      SET, ADAM("second", "lr: 1e-3, " ALL_DECAY),
                                      SET, bad[i][0],
                                      SET, bad[i][1],
                                      NULL };
        const Outcome o = bench_run(&b, "x", NULL, words, NULL);
        assert_true(o.status == 1 || o.status == 2);
        assert_contains(o.text, bad[i][3]);
        arena_free(b.arena);
    }
}
