/* test_sweep_table.c - a sweep's statistics against SciPy's numbers, from a table of losses. */
#include "base/map.h"
#include "end_to_end/training.h"
#include "monitor/run_record.h"
#include "sweep/sweep_loss.h"
#include "sweep/sweep_store.h"
#include "sweep/sweep_table.h"
#include "test.h"
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { N_LRS = 2, N_WIDTHS = 2, N_SEEDS = 3 };

static const char *const lr_of[] = { "1e-3", "1e-2" };
static const int width_of[] = { 32, 64 };
static const double loss_of[N_LRS][N_WIDTHS][N_SEEDS] = {
    { { 3.10, 3.25, 3.18 }, { 2.95, 3.02, 3.08 } },
    { { 3.31, 3.52, 3.36 }, { 2.71, 2.93, 2.84 } },
};

static void assert_near(double x, double expected)
{
    if (!(fabs(x - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%.17g, expected %.17g", x, expected);
}

static const char *sweep_folder(Arena *a)
{
    return path_join(a, test_folder(), "sweep");
}

/* What a run of ten steps leaves: results of training, and of two evaluations. */
static void write_results(Arena *a, const char *folder, double loss)
{
    const char *rows = arena_printf(
        a,
        "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": 10, \"losses\": {\"train loss "
        "avg\": 9.5}, \"metrics\": {}, \"throughput_metrics\": {}}\n"
        "{\"dataloader_tag\": \"val\", \"num_train_steps_done\": 5, \"losses\": {\"CLM\": 8.0}, "
        "\"metrics\": {}, \"throughput_metrics\": {}}\n"
        "{\"dataloader_tag\": \"val\", \"num_train_steps_done\": 10, \"losses\": {\"CLM\": %.4f}, "
        "\"metrics\": {}, \"throughput_metrics\": {}}\n",
        loss);
    assert_no_error(
        file_write(path_join(a, folder, "evaluation_results.jsonl"), rows, strlen(rows)));
}

static void put_run(Arena *a, int world_size, const char *settings, double loss, RunState state,
                    const char *why)
{
    const char *folder = arena_printf(a, "%s/%d/%08x_2026-01-01__00-00-00", sweep_folder(a),
                                      world_size, (unsigned)hash_bytes(settings, strlen(settings)));
    const char *config = arena_printf(a, "sweep: {%s}\n", settings);
    const RunRecord record = { .state = state,
                               .why = why,
                               .steps = state == RUN_DONE ? 10 : 4,
                               .target_steps = 10,
                               .experiment = folder,
                               .start_folder = "/" };
    assert_no_error(make_directories(folder));
    assert_no_error(file_write(path_join(a, folder, "s.yaml"), config, strlen(config)));
    assert_no_error(run_record_write(folder, &record));
    if (state == RUN_DONE) write_results(a, folder, loss);
}

static void put_table(Arena *a)
{
    for (int l = 0; l < N_LRS; l++)
        for (int w = 0; w < N_WIDTHS; w++)
            for (int s = 0; s < N_SEEDS; s++)
                put_run(a, 1,
                        arena_printf(a, "lr: %s, model: {width: %d}, seed: %d", lr_of[l],
                                     width_of[w], s + 1),
                        loss_of[l][w][s], RUN_DONE, "");
}

static SweepTable table_of(Arena *a, const char *baseline, double confidence)
{
    SweepRuns runs;
    SweepStore *store;
    SweepTable t;
    const TableQuestion q = { .baseline = baseline, .confidence = confidence };
    assert_no_error(sweep_runs_find(a, sweep_folder(a), 0, &runs));
    assert_no_error(sweep_store_open(a, sweep_folder(a), &store));
    assert_no_error(sweep_table_make(a, store, &runs, &q, &t));
    return t;
}

static Outcome report(Arena *a, const char *option, const char *value)
{
    const char *const words[] = { "sweep", "report", sweep_folder(a), option, value, NULL };
    return command_output(a, words, NULL);
}

/* scipy.stats.t.interval(0.95, 2, mean, std / sqrt(3)), ttest_rel(x, best) and its interval. */
TEST(groups_and_differences_of_a_table_are_those_of_scipy)
{
    static const struct {
        const char *label;
        double mean, std, low, high, difference, from, to, p;
    } expected[] = {
        { "lr=1e-2 model.width=64", 2.8266666666666667, 0.11060440015358047, 2.5519101051596333,
          3.1014232281737, 0, 0, 0, 1 },
        { "lr=1e-3 model.width=64", 3.016666666666667, 0.06506407098647705, 2.855038554249159,
          3.178294779084175, 0.19, -0.02513263648747352, 0.40513263648747366, 0.06279911503271904 },
        { "lr=1e-3 model.width=32", 3.1766666666666663, 0.07505553499465131, 2.9902183817108563,
          3.3631149516224763, 0.35, 0.2604331410497039, 0.4395668589502963, 0.0035187549901859435 },
        { "lr=1e-2 model.width=32", 3.3966666666666665, 0.1096965511460289, 3.1241653271158674,
          3.6691680062174656, 0.57, 0.4617189475264194, 0.6782810524735805, 0.001943636434109532 },
    };
    Arena *a = arena_new();
    put_table(a);
    const SweepTable t = table_of(a, NULL, 0.95);
    assert_int_equal(t.n_counted, 12);
    assert_int_equal(t.n_groups, 4);
    assert_int_equal(t.baseline, 0);
    assert_string_equal(t.loss_name, "val CLM");
    for (int g = 0; g < 4; g++) {
        const TableGroup *x = &t.group[g];
        assert_string_equal(x->label, expected[g].label); /* the best first */
        assert_int_equal(x->loss.n, 3);
        assert_near(x->loss.mean, expected[g].mean);
        assert_near(x->loss.std, expected[g].std);
        assert_near(x->loss.low, expected[g].low);
        assert_near(x->loss.high, expected[g].high);
        assert_int_equal(x->difference.n, 3);
        assert_near(x->difference.mean, expected[g].difference);
        assert_near(x->difference.low, expected[g].from);
        assert_near(x->difference.high, expected[g].to);
        assert_near(x->difference.p, expected[g].p);
    }
    for (int64_t i = 1; i < t.n_runs; i++)
        assert_true(strcmp(t.run[i - 1].label, t.run[i].label) < 0);
    arena_free(a);
}

/* Sums of squares between the values, as parts of the whole. */
TEST(shares_of_settings_are_parts_of_the_sum_of_squares)
{
    Arena *a = arena_new();
    put_table(a);
    const SweepTable t = table_of(a, NULL, 0.95);
    static const double share[] = { 0.0011350419685271264, 0.6720709611423278,
                                    0.08999061138124757 };
    assert_int_equal(t.n_settings, 3);
    assert_string_equal(t.setting[1].name, "model.width");
    assert_true(t.setting[2].is_seed && !t.setting[0].is_seed);
    double rest = 1;
    for (int k = 0; k < 3; k++) {
        assert_near(t.setting[k].share, share[k]);
        assert_null(t.setting[k].only);
        rest -= share[k];
    }
    assert_near(t.rest, rest);
    arena_free(a);
}

/* What repeats can be named; then seeds are a setting like others. */
TEST(another_setting_may_be_what_repeats)
{
    Arena *a = arena_new();
    put_table(a);
    const Outcome o = report(a, "--seed", "model.width");
    assert_ended_well(o);
    assert_contains(o.text, "lr=1e-2 seed=1     2       3.01 ");
    assert_contains(o.text, "paired by model.width");
    assert_refused(report(a, "--seed", "depth"), 2, "the sweep has no such setting");
    arena_free(a);
}

/* An arm without a run that is done: no share is made up for it, and why it failed is told once. */
TEST(an_arm_that_failed_is_left_out_and_its_reason_told_once)
{
    Arena *a = arena_new();
    const char *why = "a very long reason: optimizer.muon updates matrices, but a weight of the "
                      "model has one dimension alone, which it cannot update";
    for (int s = 0; s < N_SEEDS; s++) {
        for (int w = 0; w < N_WIDTHS; w++)
            put_run(a, 1, arena_printf(a, "optimizer: adam, width: %d, seed: %d", width_of[w], s),
                    loss_of[0][w][s], RUN_DONE, "");
        put_run(a, 1, arena_printf(a, "optimizer: muon, width: 32, seed: %d", s), 0, RUN_FAILED,
                why);
    }
    put_run(a, 1, "optimizer: muon, width: 64, seed: 0", 0, RUN_STOPPED, "");
    put_run(a, 1, "optimizer: muon, width: 64, seed: 1", 0, RUN_FAILED, "the disk is full");
    const SweepTable t = table_of(a, NULL, 0.95);
    assert_int_equal(t.n_counted, 6);
    assert_string_equal(t.setting[0].only, "adam");
    assert_null(t.setting[1].only);
    const Outcome o = report(a, "--plot_height", "5");
    assert_ended_well(o);
    assert_contains(o.text, " only adam is done\n");
    assert_contains(o.text, "optimizer=muon width=64 seed=0  stopped   4/10\n");
    const char *told =
        arena_printf(a, "optimizer=muon width=32 seed=0 and 2 more failed: %s\n", why);
    assert_contains(o.text, told);
    assert_contains(o.text, "optimizer=muon width=64 seed=1 failed: the disk is full\n");
    assert_null(strstr(strstr(o.text, why) + 1, why));
    arena_free(a);
}

/* The same combination on other ranks is no repetition. */
TEST(runs_on_other_numbers_of_ranks_are_groups_of_their_own)
{
    Arena *a = arena_new();
    for (int s = 0; s < N_SEEDS; s++)
        for (int ranks = 1; ranks <= 2; ranks++)
            put_run(a, ranks, arena_printf(a, "lr: 1e-3, seed: %d", s), loss_of[0][ranks - 1][s],
                    RUN_DONE, "");
    const SweepTable t = table_of(a, "world_size=1", 0.95);
    assert_int_equal(t.n_groups, 2);
    assert_string_equal(t.group[0].label, "world_size=2");
    assert_int_equal(t.group[0].difference.n, 3);
    assert_near(t.group[0].difference.mean, (2.95 + 3.02 + 3.08 - 3.10 - 3.25 - 3.18) / 3);
    arena_free(a);
}

/* A row per run: settings, state, last step, loss to its last bit, folder. */
TEST(rows_of_a_csv_hold_settings_state_loss_and_folder)
{
    Arena *a = arena_new();
    Str text;
    const char *csv = path_join(a, test_folder(), "r.csv");
    put_run(a, 1, "name: 'a, \"b\"', seed: 1", 3.1, RUN_DONE, "");
    put_run(a, 1, "name: c, seed: 1", 0, RUN_FAILED, "no, because");
    assert_ended_well(report(a, "--csv", csv));
    assert_no_error(file_read(a, csv, &text));
    const SweepTable t = table_of(a, NULL, 0.95);
    const char *rows = arena_printf(a,
                                    "name,seed,state,steps,loss,folder\n"
                                    "\"a, \"\"b\"\"\",1,done,10,3.1,%s\n"
                                    "c,1,failed,0,,%s\n",
                                    t.run[0].run->folder, t.run[1].run->folder);
    assert_string_equal(text.ptr, rows);
    arena_free(a);
}

/* Only a run that was stopped is hopeless: one that came to its end all the same is done. */
TEST(a_hopeless_run_is_one_that_was_stopped)
{
    static const RunState left[] = { RUN_STOPPED, RUN_DONE, RUN_FAILED };
    static const SweepState is[] = { SWEEP_HOPELESS, SWEEP_DONE, SWEEP_FAILED };
    Arena *a = arena_new();
    SweepRuns runs;
    SweepStore *store;
    SweepStatus s;
    put_run(a, 1, "seed: 1", 3.1, RUN_STOPPED, "");
    assert_no_error(sweep_runs_find(a, sweep_folder(a), 1, &runs));
    assert_no_error(sweep_store_open(a, sweep_folder(a), &store));
    assert_no_error(sweep_store_status(store, a, &runs.item[0], &s));
    assert_int_equal(s.state, SWEEP_STOPPED);
    assert_int_equal(s.steps, 4);
    assert_no_error(sweep_store_set_hopeless(store, &runs.item[0]));
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        put_run(a, 1, "seed: 1", 3.1, left[i], "");
        assert_no_error(sweep_store_status(store, a, &runs.item[0], &s));
        assert_int_equal(s.state, is[i]);
    }
    arena_free(a);
}

/* They are kept, but not longer than the file is the same: not of the same moment only. */
TEST(results_that_changed_are_read_again)
{
    Arena *a = arena_new();
    SweepRuns runs;
    SweepStore *store;
    History h;
    struct stat file;
    put_run(a, 1, "seed: 1", 3.1, RUN_DONE, "");
    assert_no_error(sweep_runs_find(a, sweep_folder(a), 1, &runs));
    assert_no_error(sweep_store_open(a, sweep_folder(a), &store));
    const SweepRun *r = &runs.item[0];
    const char *path = path_join(a, r->folder, "evaluation_results.jsonl");
    assert_no_error(sweep_store_history(store, a, r, &h));
    assert_true(sweep_loss(&h)->value[1] == 3.1);
    assert_int_equal(stat(path, &file), 0);
    write_results(a, r->folder, 2.7);
    struct timespec same[2] = { file.st_mtim, file.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, path, same, 0), 0);
    assert_no_error(sweep_store_history(store, a, r, &h));
    assert_true(sweep_loss(&h)->value[1] == 3.1); /* as far as it can tell, the same file */
    same[1].tv_nsec = (same[1].tv_nsec + 1000000) % 1000000000;
    assert_int_equal(utimensat(AT_FDCWD, path, same, 0), 0);
    assert_no_error(sweep_store_history(store, a, r, &h));
    assert_true(sweep_loss(&h)->value[1] == 2.7);
    arena_free(a);
}

/* Of evaluation before training; a loss that is no number is worse than any. */
TEST(the_loss_at_a_step_is_that_of_the_next_result)
{
    double step[] = { 5, 10, 15 }, value[] = { 4, NAN, 3 }, train[] = { 9, 8, 7 };
    Track track[] = {
        { .tag = "train", .key = "train loss avg", .is_loss = true, .step = step, .value = train },
        { .tag = "val", .key = "CLM", .is_loss = true, .step = step, .value = value },
    };
    track[0].n = track[1].n = 3;
    const History both = { .track = track, .n = 2 }, training = { .track = track, .n = 1 };
    assert_ptr_equal(sweep_loss(&both), &track[1]);
    assert_ptr_equal(sweep_loss(&training), &track[0]);
    assert_true(sweep_loss_at(&both, 2) == 4 && sweep_loss_at(&both, 5) == 4);
    assert_true(isinf(sweep_loss_at(&both, 6)) && sweep_loss_at(&both, 11) == 3);
    assert_true(isnan(sweep_loss_at(&both, 16)));
    assert_true(sweep_loss_at(&training, 6) == 8);
}

TEST(settings_of_any_kind_are_a_line_of_a_label)
{
    Arena *a = arena_new();
    Yaml *chosen;
    assert_no_error(
        yaml_parse(a,
                   str_of("lr: 1e-3\nname: x y\nmodel: {width: 8, tied: true}\n"
                          "betas: [0.9, 0.95]\nnone: {}\nnothing: null\nlast: \"a line\\n\\n\"\n"),
                   "chosen", &chosen));
    assert_string_equal(sweep_combination_label(a, chosen),
                        "lr=1e-3 name=x y model.width=8 model.tied=true betas=[0.9, 0.95] none={} "
                        "nothing=null last=a line");
    arena_free(a);
}
