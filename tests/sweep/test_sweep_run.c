/* test_sweep_run.c - a sweep of twelve runs: killed twice, it is finished all the same; what it
 * shows. */
#include "base/file.h"
#include "end_to_end/training.h"
#include "sweep/sweep_configs.h"
#include "sweep/sweep_store.h"
#include "sweep/sweep_table.h"
#include "test.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Prepared {
    Bench bench;
    Arena *arena;
    const char *folder; /* of the sweep */
    SweepRuns runs;
} Prepared;

static Prepared prepare(void)
{
    Prepared p = { .bench = bench_new() };
    SweepTree tree;
    int64_t one = 1;
    p.arena = p.bench.arena;
    setenv("TRAIN_PBIN", path_absolute(p.arena, p.bench.pbin), 1);
    assert_no_error(sweep_configs_write(p.arena, "tests/sweep/sweep.yaml",
                                        path_join(p.arena, test_folder(), "sweeps"),
                                        &(IntList){ &one, 1 }, &tree));
    p.folder = tree.folder;
    assert_no_error(sweep_runs_find(p.arena, tree.folder, 1, &p.runs));
    assert_int_equal(p.runs.n, 12);
    return p;
}

static Outcome run_sweep(const Prepared *p, const char *const *more)
{
    const char *words[16] = { "sweep", "run", p->folder };
    int n = 3;
    for (; more && *more; more++) words[n++] = *more;
    return command_output(p->arena, words, NULL);
}

static int64_t count(const Prepared *p, SweepState state)
{
    int64_t n = 0;
    SweepStore *store;
    Arena *a = arena_new();
    assert_no_error(sweep_store_open(a, p->folder, &store));
    for (int64_t i = 0; i < p->runs.n; i++) {
        SweepStatus s;
        assert_no_error(sweep_store_status(store, a, &p->runs.item[i], &s));
        n += s.state == state;
    }
    arena_free(a);
    return n;
}

/* Kills the queue when so many runs are done. */
static void kill_at(const Prepared *p, int64_t n_done, int number)
{
    const char *const words[] = { "sweep", "run", p->folder, "--parallel", "2", NULL };
    pid_t child = command_start(p->arena, words, NULL, NULL);
    for (int i = 0; i < 2000 && count(p, SWEEP_DONE) < n_done; i++) usleep(10 * 1000);
    kill(child, number);
    command_wait(p->arena, child, NULL);
}

static void make_table(const Prepared *p, SweepTable *t)
{
    SweepStore *store;
    const TableQuestion q = { .confidence = 0.95 };
    assert_no_error(sweep_store_open(p->arena, p->folder, &store));
    assert_no_error(sweep_table_make(p->arena, store, &p->runs, &q, t));
}

static const TableGroup *group(const SweepTable *t, const char *label)
{
    for (int64_t g = 0; g < t->n_groups; g++)
        if (!strcmp(t->group[g].label, label)) return &t->group[g];
    fail_msg("no group %s", label);
    return NULL;
}

/* The interval of the differences, computed here once more from the losses. */
static void assert_pairs(const SweepTable *t, const TableGroup *g)
{
    double d[4], loss[4];
    int n = 0;
    const char *base = t->group[t->baseline].label;
    for (int64_t i = 0; i < t->n_runs; i++)
        for (int64_t k = 0; k < t->n_runs; k++) {
            const TableRun *x = &t->run[i], *y = &t->run[k];
            bool is_pair = !strcmp(t->group[x->group].label, g->label) &&
                           !strcmp(t->group[y->group].label, base) &&
                           !strcmp(strstr(x->label, "seed="), strstr(y->label, "seed="));
            if (!is_pair) continue;
            loss[n] = x->loss;
            d[n++] = x->loss - y->loss;
        }
    assert_int_equal(n, 4);
    double mean = (d[0] + d[1] + d[2] + d[3]) / 4, squares = 0;
    for (int i = 0; i < 4; i++) squares += (d[i] - mean) * (d[i] - mean);
    double reach = 3.1824463052842624 * sqrt(squares / 3) / 2; /* scipy.stats.t.ppf(0.975, 3) */
    assert_true(fabs(g->difference.low - (mean - reach)) < 1e-9);
    assert_true(fabs(g->difference.high - (mean + reach)) < 1e-9);
    assert_true(fabs(g->loss.mean - (loss[0] + loss[1] + loss[2] + loss[3]) / 4) < 1e-9);
}

TEST(a_sweep_that_was_killed_twice_is_finished_and_its_statistics_are_right)
{
    Prepared p = prepare();
    SweepTable t;
    kill_at(&p, 2, SIGTERM);
    kill_at(&p, 5, SIGKILL);
    Outcome last = run_sweep(&p, NULL);
    assert_ended_well(last);
    assert_contains(last.text, "; 12 of 12 runs are over\n");
    assert_int_equal(count(&p, SWEEP_DONE), 12);
    make_table(&p, &t);
    assert_int_equal(t.n_groups, 3);
    assert_int_equal(t.n_counted, 12);
    for (int64_t i = 0; i < t.n_runs; i++)
        assert_int_equal((int)history_find(&t.run[i].history, NULL, "train loss avg")->n, 8);
    assert_pairs(&t, group(&t, "lr=1e-2"));
    assert_pairs(&t, group(&t, "lr=3e-2"));
    double shares = t.rest;
    for (int64_t k = 0; k < t.n_settings; k++) shares += t.setting[k].share;
    assert_true(fabs(shares - 1) < 1e-9);
    Outcome again = run_sweep(&p, NULL);
    assert_ended_well(again);
    assert_non_null(strstr(again.text, "nothing remains"));
    arena_free(p.arena);
}

TEST(a_report_of_a_sweep_is_text_csv_and_a_page)
{
    Prepared p = prepare();
    Arena *a = p.arena;
    const char *html = path_join(a, test_folder(), "r.html"),
               *csv = path_join(a, test_folder(), "r.csv");
    const char *const words[] = { "sweep", "report", p.folder,     "--html",  html,
                                  "--csv", csv,      "--baseline", "lr=1e-2", NULL };
    Str text;
    const char *const none[] = { "sweep", "report", p.folder, NULL };
    Outcome o = command_output(a, none, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "Left out: not finished"));
    assert_ended_well(run_sweep(&p, NULL));
    o = command_output(a, words, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "Differences to lr=1e-2"));
    assert_non_null(strstr(o.text, "12 of 12 runs are done"));
    assert_null(strstr(o.text, "Left out"));
    assert_no_error(file_read(a, csv, &text));
    assert_non_null(strstr(text.ptr, "lr,seed,state,steps,loss,folder\n"));
    int n = 0;
    for (const char *c = text.ptr; *c; c++) n += *c == '\n';
    assert_int_equal(n, 13);
    assert_no_error(file_read(a, html, &text));
    assert_non_null(strstr(text.ptr, "\"title\":\"Which settings matter\""));
    assert_non_null(strstr(text.ptr, ",\"memory\":{\"workspace\":"));
    assert_null(strstr(text.ptr, "src="));
    assert_null(strstr(text.ptr, "http"));
    assert_ended_well(command_output(a, words, NULL)); /* its own files are made anew */
    assert_no_error(file_write(csv, "mine\n", 5));
    assert_refused(command_output(a, words, NULL), 1, "r.csv is there already and is not the rows");
    const char *const wrong[] = { "sweep", "report", p.folder, "--baseline", "lr=7", NULL };
    assert_refused(command_output(a, wrong, NULL), 2, "allowed are \"lr=");
    arena_free(a);
}

static const char *replaced(Arena *a, const char *text, const char *what, const char *by)
{
    const char *at = strstr(text, what);
    assert_non_null(at);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what));
}

/* One after the other: who is worse at step 2 than half of those before does not go on. Checkpoints
 * at each step make the runs last until the queue has seen them. */
TEST(halving_stops_what_is_hopeless_and_does_not_start_it_again)
{
    enum { N_RUNS = 4 };
    const char *const halving[] = {
        "--parallel", "1", "--halving", "2", "--first_rung", "2", NULL
    };
    Prepared p = prepare();
    for (int64_t i = 0; i < p.runs.n; i++) {
        Str text;
        if (i >= N_RUNS) {
            assert_no_error(remove_tree(p.runs.item[i].folder));
            continue;
        }
        assert_no_error(file_read(p.arena, p.runs.item[i].config, &text));
        const char *slow =
            replaced(p.arena, text.ptr, "num_target_steps: 8", "num_target_steps: 44");
        slow = replaced(p.arena, slow, "checkpointing_interval_in_steps: 4",
                        "checkpointing_interval_in_steps: 1");
        assert_no_error(file_write(p.runs.item[i].config, slow, strlen(slow)));
    }
    p.runs.n = N_RUNS;
    assert_ended_well(run_sweep(&p, halving));
    int64_t n_hopeless = count(&p, SWEEP_HOPELESS);
    assert_int_equal(count(&p, SWEEP_DONE) + n_hopeless, N_RUNS);
    assert_true(n_hopeless >= 1 && n_hopeless < N_RUNS);
    Outcome again = run_sweep(&p, NULL);
    assert_ended_well(again);
    assert_non_null(strstr(again.text, "nothing remains"));
    arena_free(p.arena);
}

/* Each failure is told, and tried again as often as was asked for. */
TEST(a_run_that_fails_is_tried_again_and_told)
{
    Prepared p = prepare();
    const char *const retries[] = { "--retries", "2", NULL };
    for (int64_t i = 1; i < p.runs.n; i++) assert_no_error(remove_tree(p.runs.item[i].folder));
    assert_no_error(file_write(p.runs.item[0].config, "sweep: {a: 1}\nsettings: 3\n", 26));
    Outcome o = run_sweep(&p, retries);
    assert_refused(o, 1, "1 runs failed");
    assert_contains(o.text, "--retries 3 tries them again");
    int n = 0;
    for (const char *at = o.text; (at = strstr(at, "started   a=1")); at++) n++;
    assert_int_equal(n, 3);
    const char *log = path_join(p.arena, p.runs.item[0].folder, "run.log");
    assert_true(file_exists(log));
    arena_free(p.arena);
}

TEST(a_sweep_becomes_job_arrays_of_slurm)
{
    Prepared p = prepare();
    const char *const slurm[] = { "--slurm", NULL };
    Str text;
    assert_ended_well(run_sweep(&p, slurm));
    assert_no_error(file_read(p.arena, path_join(p.arena, p.folder, "sweep_1.sbatch"), &text));
    assert_non_null(strstr(text.ptr, "#SBATCH --array=0-11\n"));
    for (int64_t i = 0; i < p.runs.n; i++)
        assert_non_null(strstr(text.ptr, arena_printf(p.arena, "\n'%s'\n", p.runs.item[i].config)));
    arena_free(p.arena);
}

/* A sweep file is prepared for as many ranks as its runs get. */
TEST(runs_of_a_sweep_may_have_several_ranks)
{
    Bench b = bench_new();
    const char *to = path_join(b.arena, test_folder(), "sweeps");
    setenv("TRAIN_PBIN", path_absolute(b.arena, b.pbin), 1);
    Str text;
    assert_no_error(file_read(b.arena, "tests/sweep/sweep.yaml", &text));
    const char *file = path_join(b.arena, test_folder(), "two.yaml");
    const char *runs = strstr(text.ptr, "settings:");
    const char *two = arena_printf(b.arena, "sweep: {lr: [1e-3, 1e-2], seed: [1]}\n%s", runs);
    assert_no_error(file_write(file, two, strlen(two)));
    const char *const words[] = { "sweep",      "run", file, "--output_dir", to, "--ranks", "2",
                                  "--parallel", "1",   NULL };
    Outcome o = command_output(b.arena, words, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "2 of 2 runs");
    SweepRuns found;
    assert_no_error(sweep_runs_find(b.arena, to, 2, &found));
    assert_int_equal(found.n, 2);
    for (int i = 0; i < 2; i++) {
        assert_no_error(
            file_read(b.arena, path_join(b.arena, found.item[i].folder, "run.log"), &text));
        assert_contains(text.ptr, "world_size: 2");
    }
    arena_free(b.arena);
}
