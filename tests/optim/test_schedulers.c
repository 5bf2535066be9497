/* test_schedulers.c - every scheduler against goldens/models/schedulers and where it differs from
 * torch. */
#include "config/builder.h"
#include "config/yaml.h"
#include "golden.h"
#include "models/model.h"
#include "optim/optim.h"
#include "optim/scheduler.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a scheduler asks of an optimizer: its rate and its parameter groups. */
typedef struct TestOptimizer {
    Optimizer base;
    double lr;
    bool two_groups;
} TestOptimizer;

static const Field optimizer_fields[] = {
    FIELD_FLOAT(TestOptimizer, lr, NULL, 0, 0, "rate"),
    FIELD_BOOL(TestOptimizer, two_groups, "false", "one group does not decay"),
    { 0 },
};

static Error *build_optimizer(Builder *b, const void *settings, void **out)
{
    TestOptimizer *o = arena_copy(builder_arena(b), settings, sizeof(TestOptimizer));
    static const DecayGroup groups[] = { { .name = "linear" }, { .name = "norm" }, { 0 } };
    static const Model model = { .groups = groups };
    static const char *const excluded[] = { "norm", NULL };
    o->base.name = "test";
    o->base.lr = o->lr;
    if (o->two_groups) o->base.weight_decay = 0.1;
    o->base.excluded = excluded;
    o->base.model = &model;
    *out = &o->base;
    return NULL;
}

static const ComponentDef optimizer_test = {
    .kind = "optimizer",
    .variant = "test",
    .doc = "a rate",
    .fields = optimizer_fields,
    .settings_size = sizeof(TestOptimizer),
    .build = build_optimizer,
};

extern const ComponentDef scheduler_dummy_lr, scheduler_step_lr, scheduler_constant_lr,
    scheduler_linear_lr, scheduler_onecycle_lr, scheduler_cosine_annealing_lr,
    scheduler_linear_warmup_cosine_annealing_lr, scheduler_warmup_stable_decay_lr;
static const ComponentDef *const defs[] = { &optimizer_test,
                                            &scheduler_dummy_lr,
                                            &scheduler_step_lr,
                                            &scheduler_constant_lr,
                                            &scheduler_linear_lr,
                                            &scheduler_onecycle_lr,
                                            &scheduler_cosine_annealing_lr,
                                            &scheduler_linear_warmup_cosine_annealing_lr,
                                            &scheduler_warmup_stable_decay_lr };

/* Builds `variant` with an optimizer of rate `lr`; `settings` is the inside of a flow mapping. */
static Error *make(Arena *a, const char *variant, const char *lr, const char *settings,
                   Scheduler **out)
{
    Registry *r = registry_new(a);
    for (size_t i = 0; i < sizeof defs / sizeof *defs; i++)
        assert_no_error(registry_add(r, defs[i]));
    const char *text =
        arena_printf(a,
                     "scheduler: {component_key: scheduler, variant_key: %s, config: {optimizer: "
                     "{component_key: optimizer, variant_key: test, config: {lr: %s}}%s%s}}\n",
                     variant, lr, *settings ? ", " : "", settings);
    Yaml *root;
    assert_no_error(yaml_parse(a, str_of(text), "test.yaml", &root));
    void *made = NULL;
    Error *e = builder_get(builder_new(a, r, root, NULL), "scheduler", "scheduler", &made);
    *out = made;
    return e;
}

static double rate(const Scheduler *s, int64_t step)
{
    Rate all[MAX_RATES];
    assert_no_error(scheduler_rates(s, s->optimizer, step, all));
    return all[0].lr;
}

/* ---- goldens ---- */

/* Past total_steps torch's warmup and cosine rises again; here final_lr is held (section 0.2). */
static double expected_rate(const Yaml *config, const char *variant, int64_t step, double golden)
{
    if (strcmp(variant, "linear_warmup_cosine_annealing_lr") != 0) return golden;
    bool is_over = step > yaml_get(config, "total_steps")->integer;
    return is_over ? yaml_get(config, "final_lr")->number : golden;
}

static void check_golden(Arena *a, const char *path)
{
    Yaml *golden;
    Scheduler *s;
    Str csv;
    assert_no_error(yaml_read(a, path, &golden));
    const char *variant = yaml_get(golden, "variant_key")->text;
    const Yaml *config = yaml_get(golden, "config");
    Text settings = { 0 };
    text_puts(&settings, "");
    for (int64_t i = 0; i < config->n; i++)
        text_printf(&settings, "%s%s: %s", i ? ", " : "", config->key[i]->text,
                    config->item[i]->text);
    assert_no_error(make(a, variant, yaml_get(golden, "optimizer_lr")->text, settings.ptr, &s));
    text_free(&settings);
    assert_no_error(file_read(a, path_with_suffix(a, path, ".csv"), &csv));
    double largest = 0;
    for (int pass = 0; pass < 2; pass++) { /* the tolerance depends on the largest */
        int n = 0;
        for (const char *line = strchr(csv.ptr, '\n'); line && line[1];
             line = strchr(line + 1, '\n'), n++) {
            char *end;
            int64_t step = strtoll(line + 1, &end, 10);
            double lr = strtod(end + 1, NULL);
            assert_int_equal(step, n);
            largest = fmax(largest, lr);
            if (pass && !(fabs(rate(s, step) - expected_rate(config, variant, step, lr)) <=
                          1e-12 * largest))
                fail_msg("%s: step %d: %.17g, golden %.17g", path, n, rate(s, step), lr);
        }
        assert_int_equal(n, 121);
    }
}

GOLDEN_CASES(schedules)
{
    golden_add_files(to, "models/schedulers/", "models/schedulers", "*.json", ".json");
}

TEST(golden_schedules)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    schedules(&cases);
    assert_true(cases.n >= 21);
    for (int64_t i = 0; i < cases.n; i++)
        check_golden(a, shared_path(a, arena_printf(a, "data/goldens/%s.json", cases.name[i])));
    arena_free(a);
}

/* ---- beyond the goldens ---- */

TEST(constant_lr_with_factor_zero_starts_after_total_iters)
{
    Arena *a = arena_new();
    Scheduler *s;
    assert_no_error(make(a, "constant_lr", "0.1", "factor: 0.0, total_iters: 3", &s));
    assert_true(rate(s, 0) == 0 && rate(s, 2) == 0 && rate(s, 3) == 0.1 && rate(s, 100) == 0.1);
    arena_free(a);
}

TEST(onecycle_ends_at_total_steps)
{
    Arena *a = arena_new();
    Scheduler *s;
    const char *settings =
        "max_lr: 0.1, total_steps: 10, pct_start: 0.3, anneal_strategy: cos, div_factor: 25, "
        "final_div_factor: 1e4";
    assert_no_error(make(a, "onecycle_lr", "1", settings, &s));
    assert_no_error(scheduler_check_steps(s, 10));
    assert_error_has(scheduler_check_steps(s, 11),
                     "total_steps 10, but training goes on to step 11");
    Rate all[MAX_RATES];
    assert_no_error(scheduler_rates(s, s->optimizer, 10, all));
    assert_error_has(scheduler_rates(s, s->optimizer, 11, all), "total_steps 10, but step 11");
    arena_free(a);
}

TEST(onecycle_phases_without_length_have_their_ends_rate)
{
    Arena *a = arena_new();
    Scheduler *s;
    const char *rest = "max_lr: 0.5, anneal_strategy: linear, div_factor: 5, final_div_factor: 10";
    assert_no_error(make(a, "onecycle_lr", "1",
                         arena_printf(a, "%s, total_steps: 10, pct_start: 0.1", rest), &s));
    assert_close(rate(s, 0), 0.5, 1e-15);
    assert_no_error(make(a, "onecycle_lr", "1",
                         arena_printf(a, "%s, total_steps: 4, pct_start: 1.0", rest), &s));
    assert_close(rate(s, 3), 0.5, 1e-15);
    assert_close(rate(s, 4), 0.01, 1e-15);
    arena_free(a);
}

TEST(onecycle_takes_a_rate_per_group_and_refuses_what_it_cannot_do)
{
    Arena *a = arena_new();
    Scheduler *s, *t;
    const char *rest =
        "pct_start: 0.3, anneal_strategy: cos, div_factor: 25.0, final_div_factor: 10.0";
    assert_no_error(make(a, "onecycle_lr", "1, two_groups: true",
                         arena_printf(a, "max_lr: [0.1, 0.1], total_steps: 9, %s", rest), &s));
    assert_error_has(make(a, "onecycle_lr", "1",
                          arena_printf(a, "max_lr: [0.1, 0.1], total_steps: 9, %s", rest), &t),
                     "max_lr has 2 numbers, but the optimizer has 1 parameter group");
    assert_error_has(make(a, "onecycle_lr", "1, two_groups: true",
                          arena_printf(a, "max_lr: [0.1], total_steps: 9, %s", rest), &t),
                     "max_lr has 1 numbers, but the optimizer has 2 parameter groups");
    assert_no_error(
        make(a, "onecycle_lr", "1", arena_printf(a, "max_lr: 0.1, total_steps: 9, %s", rest), &t));
    for (int i = 0; i <= 9; i++) assert_true(rate(s, i) == rate(t, i));
    assert_no_error(make(a, "onecycle_lr", "1, two_groups: true",
                         arena_printf(a, "max_lr: [0.1, 0.2], total_steps: 9, %s", rest), &s));
    for (int i = 0; i <= 9; i++) {
        assert_true(s->rate(s, 0, i) == rate(t, i));
        assert_close(s->rate(s, 1, i), 2 * rate(t, i), 1e-15);
    }
    static const char *const bad[][2] = {
        { "max_lr: [], total_steps: 9", "max_lr" },
        { "max_lr: [0.1, -0.1], total_steps: 9", "max_lr" },
        { "max_lr: 0.1", "total_steps" },
        { "max_lr: 0.1, epochs: 3", "steps_per_epoch" },
        { "max_lr: 0.1, total_steps: 9, cycle_momentum: true, max_momentum: 1.5", "max_momentum" },
        { "max_lr: 0.1, total_steps: 9, anneal_strategy: log", "anneal_strategy" },
        { "max_lr: 0.1, epochs: 4611686018427387904, steps_per_epoch: 4611686018427387904",
          "too many" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *strategy = strstr(bad[i][0], "anneal") ? "" : ", anneal_strategy: cos";
        const char *settings =
            arena_printf(a, "%s%s, pct_start: 0.3, div_factor: 25.0, final_div_factor: 10.0",
                         bad[i][0], strategy);
        assert_error_has(make(a, "onecycle_lr", "1", settings, &s), bad[i][1]);
    }
    arena_free(a);
}

/* betas[0] of each step by the formula of torch's OneCycleLR, which passes from max_momentum to
 * base_momentum and back in the phases of the rate; total_steps 10, pct_start 0.3. */
TEST(onecycle_moves_beta1_as_torch_does)
{
    static const double cosine[] = { 0.95,
                                     0.9,
                                     0.85,
                                     0.854951556604879,
                                     0.868825509907063,
                                     0.888873953302184,
                                     0.911126046697816,
                                     0.931174490092937,
                                     0.945048443395121,
                                     0.95 };
    static const double straight[] = { 0.95, 0.9, 0.85, 0.9, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95 };
    static const char rest[] = "max_lr: 0.1, total_steps: 10, pct_start: 0.3, div_factor: 25.0, "
                               "final_div_factor: 10.0, ";
    Arena *a = arena_new();
    Scheduler *s, *t, *none;
    assert_no_error(make(a, "onecycle_lr", "1",
                         arena_printf(a, "%sanneal_strategy: cos, cycle_momentum: true", rest),
                         &s));
    assert_no_error(make(a, "onecycle_lr", "1",
                         arena_printf(a,
                                      "%sanneal_strategy: linear, cycle_momentum: true, "
                                      "three_phase: true",
                                      rest),
                         &t));
    for (int i = 0; i < 10; i++) {
        assert_close(s->beta1(s, 0, i), cosine[i], 1e-14);
        assert_close(t->beta1(t, 0, i), straight[i], 1e-14);
    }
    assert_no_error(
        make(a, "onecycle_lr", "1", arena_printf(a, "%sanneal_strategy: cos", rest), &none));
    assert_null(none->beta1);
    Rate all[MAX_RATES];
    assert_no_error(scheduler_rates(s, s->optimizer, 3, all));
    assert_true(all[0].has_beta1 && all[0].beta1 == s->beta1(s, 0, 3));
    assert_no_error(scheduler_rates(none, none->optimizer, 3, all));
    assert_false(all[0].has_beta1);
    arena_free(a);
}

/* Phases that end between two steps; the numbers are those that torch 2.15 printed. */
TEST(onecycle_has_torch_s_beta1_between_phases)
{
    static const struct {
        const char *strategy;
        double beta1[9];
    } row[] = {
        { "cos",
          { 0.95, 0.8863168504963959, 0.8505584586887436, 0.8601433746388538, 0.8794356448434694,
            0.9037365046793212, 0.9271273131932879, 0.9439110786685114, 0.95 } },
        { "cos, three_phase: true",
          { 0.95, 0.8863168504963959, 0.8574891432135193, 0.9369504458610329, 0.95, 0.95, 0.95,
            0.95, 0.95 } },
        { "linear",
          { 0.95, 0.8911764705882352, 0.8547619047619047, 0.8706349206349207, 0.8865079365079365,
            0.9023809523809524, 0.9182539682539682, 0.9341269841269841, 0.95 } },
        { "linear, three_phase: true",
          { 0.95, 0.8911764705882352, 0.8676470588235294, 0.9264705882352942, 0.95, 0.95, 0.95,
            0.95, 0.95 } },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Scheduler *s;
        assert_no_error(make(a, "onecycle_lr", "1",
                             arena_printf(a,
                                          "max_lr: 0.1, total_steps: 9, pct_start: 0.3, "
                                          "div_factor: 25.0, final_div_factor: 10.0, "
                                          "base_momentum: 0.85, max_momentum: 0.95, "
                                          "cycle_momentum: true, anneal_strategy: %s",
                                          row[i].strategy),
                             &s));
        for (int k = 0; k < 9; k++) assert_close(s->beta1(s, 0, k), row[i].beta1[k], 1e-14);
    }
    arena_free(a);
}

TEST(warmup_and_cosine_holds_final_lr_and_checks_its_rates)
{
    Arena *a = arena_new();
    Scheduler *s;
    const char *settings =
        "warmup_steps: 2, total_steps: 6, initial_lr: 0.0, final_lr: 0.2, max_lr: 1.0";
    assert_no_error(make(a, "linear_warmup_cosine_annealing_lr", "1.0", settings, &s));
    assert_true(rate(s, 0) == 0 && rate(s, 1) == 0.5 && rate(s, 2) == 1);
    assert_true(rate(s, 6) == 0.2 && rate(s, 7) == 0.2 && rate(s, 1000) == 0.2);
    assert_no_error(scheduler_check_steps(s, 1000)); /* with a warning */
    assert_error_has(make(a, "linear_warmup_cosine_annealing_lr", "0.9", settings, &s),
                     "the optimizer's lr is 0.9");
    assert_error_has(
        make(a, "linear_warmup_cosine_annealing_lr", "1.0",
             "warmup_steps: 6, total_steps: 6, initial_lr: 0.1, final_lr: 0.2, max_lr: 1.0", &s),
        "greater than warmup_steps 6");
    assert_error_has(
        make(a, "linear_warmup_cosine_annealing_lr", "1.0",
             "warmup_steps: 2, total_steps: 6, initial_lr: 1.5, final_lr: 0.2, max_lr: 1.0", &s),
        "initial_lr 1.5");
    arena_free(a);
}

TEST(warmup_stable_decay_rises_stays_and_falls)
{
    static const struct {
        const char *decay;
        double halfway; /* of the decay from 8 to 0 */
    } way[] = { { "linear", 4 }, { "cosine", 4 }, { "sqrt", 8 - 8 * 0.70710678118654752 } };
    Arena *a = arena_new();
    Scheduler *s;
    for (int i = 0; i < 3; i++) {
        const char *settings = arena_printf(
            a, "warmup_steps: 3, total_steps: 20, decay_steps: 8, decay: %s", way[i].decay);
        assert_no_error(make(a, "warmup_stable_decay_lr", "8.0", settings, &s));
        assert_close(rate(s, 0), 2, 1e-12);
        assert_close(rate(s, 2), 6, 1e-12);
        assert_close(rate(s, 3), 8, 0);
        assert_close(rate(s, 12), 8, 1e-12);
        assert_close(rate(s, 16), way[i].halfway, 1e-12);
        assert_close(rate(s, 20), 0, 0);
        assert_close(rate(s, 500), 0, 0);
    }
    assert_error_has(make(a, "warmup_stable_decay_lr", "8.0",
                          "warmup_steps: 15, total_steps: 20, decay_steps: 8", &s),
                     "are more than total_steps 20");
    assert_error_has(make(a, "warmup_stable_decay_lr", "8.0",
                          "warmup_steps: 1, total_steps: 20, decay_steps: 8, final_lr: 9.0", &s),
                     "final_lr 9 must not be greater");
    arena_free(a);
}

TEST(cosine_annealing_takes_both_names_of_its_period)
{
    Arena *a = arena_new();
    Scheduler *s, *t;
    assert_no_error(make(a, "cosine_annealing_lr", "0.1", "t_max: 20, eta_min: 0.01", &s));
    assert_no_error(make(a, "cosine_annealing_lr", "0.1", "T_max: 20, eta_min: 0.01", &t));
    for (int i = 0; i < 50; i++) assert_true(rate(s, i) == rate(t, i));
    assert_close(rate(s, 20), 0.01, 1e-15);
    arena_free(a);
}

TEST(last_epoch_says_where_a_schedule_begins)
{
    Arena *a = arena_new();
    Scheduler *s;
    assert_no_error(make(a, "step_lr", "0.1", "step_size: 5, gamma: 0.5", &s));
    assert_int_equal(s->first_step, 0);
    assert_no_error(make(a, "step_lr", "0.1", "step_size: 5, gamma: 0.5, last_epoch: 49", &s));
    assert_int_equal(s->first_step, 50);
    assert_error_has(make(a, "step_lr", "0.1", "step_size: 5, gamma: 0.5, last_epoch: -2", &s),
                     "last_epoch");
    arena_free(a);
}

/* A registry of components that ignore a setting would pass everything above. */
TEST(every_setting_of_a_schedule_changes_its_rates)
{
    static const char *const row[][3] = {
        { "step_lr", "step_size: 5, gamma: 0.5", "step_size: 6, gamma: 0.5" },
        { "step_lr", "step_size: 5, gamma: 0.5", "step_size: 5, gamma: 0.4" },
        { "constant_lr", "factor: 0.5, total_iters: 7", "factor: 0.4, total_iters: 7" },
        { "constant_lr", "factor: 0.5, total_iters: 7", "factor: 0.5, total_iters: 8" },
        { "linear_lr", "start_factor: 0.5, end_factor: 1.0, total_iters: 7",
          "start_factor: 0.4, end_factor: 1.0, total_iters: 7" },
        { "linear_lr", "start_factor: 0.5, end_factor: 1.0, total_iters: 7",
          "start_factor: 0.5, end_factor: 0.9, total_iters: 7" },
        { "linear_lr", "start_factor: 0.5, end_factor: 1.0, total_iters: 7",
          "start_factor: 0.5, end_factor: 1.0, total_iters: 8" },
        { "cosine_annealing_lr", "t_max: 9, eta_min: 0.0", "t_max: 8, eta_min: 0.0" },
        { "cosine_annealing_lr", "t_max: 9, eta_min: 0.0", "t_max: 9, eta_min: 0.1" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Scheduler *s, *t;
        bool differ = false;
        assert_no_error(make(a, row[i][0], "1.0", row[i][1], &s));
        assert_no_error(make(a, row[i][0], "1.0", row[i][2], &t));
        for (int step = 0; step < 20; step++) differ |= rate(s, step) != rate(t, step);
        assert_true(differ);
    }
    arena_free(a);
}

/* ---- the state dicts of torch ---- */

/* As torch has them for a rate of 0.001. */
static const struct {
    const char *variant, *settings;
    int64_t step;
    const char *state;
} states[] = {
    { "step_lr", "step_size: 2, gamma: 0.5", 3,
      "{\"step_size\": 2, \"gamma\": 0.5, \"base_lrs\": [0.001], \"last_epoch\": 3, "
      "\"_step_count\": 4, \"_is_initial\": false, \"_get_lr_called_within_step\": false, "
      "\"_last_lr\": [0.0005]}" },
    { "constant_lr", "factor: 0.5, total_iters: 2", 3,
      "{\"factor\": 0.5, \"total_iters\": 2, \"base_lrs\": [0.001], \"last_epoch\": 3, "
      "\"_step_count\": 4, \"_is_initial\": false, \"_get_lr_called_within_step\": false, "
      "\"_last_lr\": [0.001]}" },
    { "linear_lr", "start_factor: 0.5, end_factor: 1.0, total_iters: 4", 3,
      "{\"start_factor\": 0.5, \"end_factor\": 1.0, \"total_iters\": 4, \"base_lrs\": [0.001], "
      "\"last_epoch\": 3, \"_step_count\": 4, \"_is_initial\": false, "
      "\"_get_lr_called_within_step\": false, \"_last_lr\": [0.0008750000000000001]}" },
    { "cosine_annealing_lr", "t_max: 10, eta_min: 1.0e-5", 3,
      "{\"T_max\": 10, \"eta_min\": 1e-05, \"base_lrs\": [0.001], \"last_epoch\": 3, "
      "\"_step_count\": 4, \"_is_initial\": false, \"_get_lr_called_within_step\": false, "
      "\"_last_lr\": [0.0007959536998847742]}" },
    { "dummy_lr", "", 3,
      "{\"base_lrs\": [0.001], \"last_epoch\": 3, \"_step_count\": 4, \"_is_initial\": false, "
      "\"_get_lr_called_within_step\": false, \"_last_lr\": [0.001]}" },
    { "onecycle_lr",
      "max_lr: 3.0e-3, total_steps: 10, div_factor: 10.0, final_div_factor: 100.0, pct_start: 0.3, "
      "anneal_strategy: linear, three_phase: true, cycle_momentum: true",
      3,
      "{\"total_steps\": 10, \"_schedule_phases\": [{\"end_step\": 2.0, \"start_lr\": "
      "\"initial_lr\", \"end_lr\": \"max_lr\", \"start_momentum\": \"max_momentum\", "
      "\"end_momentum\": \"base_momentum\"}, {\"end_step\": 4.0, \"start_lr\": \"max_lr\", "
      "\"end_lr\": \"initial_lr\", \"start_momentum\": \"base_momentum\", \"end_momentum\": "
      "\"max_momentum\"}, {\"end_step\": 9, \"start_lr\": \"initial_lr\", \"end_lr\": \"min_lr\", "
      "\"start_momentum\": \"max_momentum\", \"end_momentum\": \"max_momentum\"}], "
      "\"_anneal_func_type\": \"linear\", \"cycle_momentum\": true, \"use_beta1\": true, "
      "\"base_lrs\": [0.00030000000000000003], \"last_epoch\": 3, \"_step_count\": 4, "
      "\"_is_initial\": false, \"_get_lr_called_within_step\": false, \"_last_lr\": [0.00165]}" },
#define WARMUP                                                                                     \
    "warmup_steps: 2, total_steps: 6, initial_lr: 1.0e-4, final_lr: 1.0e-5, max_lr: 1.0e-3"
#define CHAIN(step, lr, first, second)                                                             \
    "{\"_milestones\": [2], \"last_epoch\": " step ", \"_last_lr\": [" lr                          \
    "], \"_schedulers\": [{\"start_factor\": 0.1, \"end_factor\": 1, \"total_iters\": 2, " first   \
    "}, {\"T_max\": 4, \"eta_min\": 1e-05, " second "}]}"
#define COUNTS(steps, count, lr)                                                                   \
    "\"base_lrs\": [0.001], \"last_epoch\": " steps ", \"_step_count\": " count                    \
    ", \"_is_initial\": false, \"_get_lr_called_within_step\": false, \"_last_lr\": [" lr "]"
    { "linear_warmup_cosine_annealing_lr", WARMUP, 1,
      CHAIN("1", "0.00055", COUNTS("1", "2", "0.00055"), COUNTS("-1", "1", "0.0001")) },
    { "linear_warmup_cosine_annealing_lr", WARMUP, 2,
      CHAIN("2", "0.001", COUNTS("1", "2", "0.00055"), COUNTS("0", "1", "0.001")) },
    { "linear_warmup_cosine_annealing_lr", WARMUP, 3,
      CHAIN("3", "0.000855017856687341", COUNTS("1", "2", "0.00055"),
            COUNTS("1", "2", "0.000855017856687341")) },
};

/* Equal text, but for the last bits of numbers. */
static void assert_same_state(const char *got, const char *want)
{
    while (*got && *want) {
        if (strchr("0123456789", *want) && strchr("0123456789", *got)) {
            char *got_end, *want_end;
            double x = strtod(got, &got_end), y = strtod(want, &want_end);
            assert_close(x, y, 1e-12 * fabs(y));
            got = got_end;
            want = want_end;
        } else {
            if (*got != *want) fail_msg("%s\ninstead of\n%s", got, want);
            got++, want++;
        }
    }
    assert_int_equal(*got, *want);
}

TEST(schedulers_tell_the_state_that_torch_would_have)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        Arena *a = arena_new();
        Scheduler *s;
        Text t = { 0 };
        assert_no_error(make(a, states[i].variant, "0.001", states[i].settings, &s));
        s->torch_state(s, states[i].step, &t);
        assert_same_state(t.ptr, states[i].state);
        text_free(&t);
        arena_free(a);
    }
}
