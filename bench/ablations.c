/* ablations.c - what a user of sweeps waits for, each beside its bar: checking the largest
 * configuration, --help, preparing a sweep of 1,000 configurations, reporting on 200 runs of 10,000
 * steps whose results were never read before. Best of a few runs, since other programs only slow
 * them. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 5, N_RUNS = 200, N_STEPS = 10000 };

static const char *program;

/* Seconds of the program with these words, which end with NULL; what it says goes to `said`. */
static double seconds_of(const char *const *words, const char *said)
{
    const char *argv[16] = { program };
    int n = 1, status = 0;
    for (; *words; words++) argv[n++] = *words;
    fflush(stdout);
    double start = clock_seconds();
    pid_t child = fork();
    if (child == 0) {
        if (!freopen(said, "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0) _exit(126);
        execv(program, (char **)argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) die(error_new("cannot start %s", program));
    double seconds = clock_seconds() - start;
    if (status) die(error_new("%s %s ended with %d; see %s", program, argv[1], status, said));
    return seconds;
}

static void tell(const char *what, double seconds, double bar)
{
    printf("%-44s %8.1f ms, %5.2f of the %g ms allowed: %s\n", what, seconds * 1e3, seconds / bar,
           bar * 1e3, seconds <= bar ? "met" : "not met");
}

static double best_of(int runs, const char *const *words, const char *said)
{
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double seconds = seconds_of(words, said);
        if (seconds < best) best = seconds;
    }
    return best;
}

/* Of the original's, where they are here, and ours. */
static const char *largest_configuration(Arena *a)
{
    static const char *const folders[] = { "../shared/data/modalities", "configs" };
    const char *largest = NULL;
    off_t most = 0;
    for (int i = 0; i < 2; i++) {
        PathList files = { 0 };
        struct stat st;
        if (!is_directory(folders[i])) continue;
        die(files_below(a, folders[i], ".yaml", &files));
        for (int64_t k = 0; k < files.n; k++)
            if (!stat(files.item[k], &st) && st.st_size > most) {
                most = st.st_size;
                largest = files.item[k];
            }
    }
    return largest;
}

/* A training with `sweep` on top: n1 x n2 x 10 combinations. */
static const char *sweep_file(Arena *a, const char *folder, const char *name, int n1, int n2)
{
    Text t = { 0 };
    const char *path = path_join(a, folder, name);
    text_puts(&t, "sweep:\n  lr: [");
    for (int i = 1; i <= n1; i++) text_printf(&t, "%s%de-5", i > 1 ? ", " : "", i);
    text_puts(&t, "]\n  width: [");
    for (int i = 1; i <= n2; i++) text_printf(&t, "%s%d", i > 1 ? ", " : "", 128 * i);
    text_puts(&t, "]\n  seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nextends: modalities/training\n"
                  "model_raw: {config: {n_embd: \"${sweep.width}\", seed: \"${sweep.seed}\"}}\n"
                  "optimizer: {config: {lr: \"${sweep.lr}\"}}\n");
    die(file_write(path, t.ptr, t.len));
    text_free(&t);
    return path;
}

static void prepare(const char *sweep, const char *to, const char *said, double *seconds)
{
    const char *const words[] = { "benchmark",
                                  "prepare_sweep_configs",
                                  "--sweep_config_path",
                                  sweep,
                                  "--output_dir",
                                  to,
                                  "--world_sizes",
                                  "1",
                                  NULL };
    *seconds = seconds_of(words, said);
}

/* What a training of 10,000 steps leaves, with every number that it reports. */
static void write_results(Arena *a, const char *folder, int run)
{
    Text t = { 0 };
    uint64_t x = (uint64_t)run + 1;
    for (int step = 1; step <= N_STEPS; step++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        const double noise = (double)(x >> 40) / 16777216, loss = 3 + 7.0 / step + noise / 10;
        text_printf(&t,
                    "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": %d, \"losses\": "
                    "{\"train loss avg\": %.15g, \"train loss last\": %.15g}, \"metrics\": "
                    "{\"consumed tokens\": %d, \"grad norm avg\": %.15g, \"grad norm last\": "
                    "%.15g}, \"throughput_metrics\": {\"train samples/s\": %.15g, \"train mfu "
                    "(16-bit)\": %.15g, \"lr mean\": %.15g, \"peak memory rank 0 (MB)\": %.15g}}\n",
                    step, loss, loss + noise, step * 1024, 1 + noise, 1 - noise / 2, 40 + noise,
                    0.4 + noise / 100, 1e-3 + noise / 1e6, 65 + noise);
    }
    die(file_write(path_join(a, folder, "evaluation_results.jsonl"), t.ptr, t.len));
    text_clear(&t);
    text_printf(&t,
                "{\"experiment\": \"x\", \"start_folder\": \"x\", \"config_file_path\": \"x\", "
                "\"initial_weights\": \"\", \"checkpoints\": \"x\", \"checkpoint_id\": \"x\", "
                "\"ranks\": 1, \"state\": \"done\", \"steps\": %d, \"target_steps\": %d, \"why\": "
                "\"\"}\n",
                N_STEPS, N_STEPS);
    die(file_write(path_join(a, folder, "run.json"), t.ptr, t.len));
    text_free(&t);
}

static void measure_report(Arena *a, const char *folder, const char *said)
{
    PathList files = { 0 };
    double unused;
    const char *tree = path_join(a, folder, "runs");
    die(make_directories(tree));
    prepare(sweep_file(a, folder, "runs.yaml", 5, 4), tree, said, &unused);
    die(files_below(a, tree, ".yaml", &files));
    if (files.n != N_RUNS) die(error_new("%d configurations, not 200", (int)files.n));
    for (int i = 0; i < N_RUNS; i++) write_results(a, path_folder(a, files.item[i]), i);
    /* TREE/TIME_HASH/1/HASH_TIME/FILE */
    const char *sweep = path_folder(a, path_folder(a, path_folder(a, files.item[0])));
    const char *const report[] = { "sweep", "report", sweep, NULL };
    const char *const page[] = { "sweep", "report", sweep, "--html", path_join(a, folder, "r.html"),
                                 NULL };
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        unlink(path_join(a, sweep, "sweep.sqlite"));
        double seconds = seconds_of(report, said);
        if (seconds < best) best = seconds;
    }
    tell("report of 200 runs of 10,000 steps, not read yet", best, 3);
    tell("the same again, with its page", best_of(3, page, said), 3);
}

int main(int argc, char **argv)
{
    (void)argc;
    Arena *a = arena_new();
    char folder[] = "/tmp/modalities-ablations-XXXXXX";
    program = path_join(a, path_folder(a, path_folder(a, argv[0])), "modalities");
    if (getenv("MODALITIES_PROGRAM")) program = getenv("MODALITIES_PROGRAM");
    if (!mkdtemp(folder)) die(error_new("cannot make %s", folder));
    const char *said = path_join(a, folder, "said");
    Watch w = watch_start();
    /* on the ranks that its mesh asks for, from where its data are seen */
    const char *largest = path_absolute(a, largest_configuration(a));
    const char *const check[] = { "config", "check", "--config_file_path", largest, NULL };
    const char *const help[] = { "--help", NULL };
    program = path_absolute(a, program);
    char *home = getcwd(NULL, 0);
    setenv("RANK", "0", 1);
    setenv("LOCAL_RANK", "0", 1);
    setenv("WORLD_SIZE", "4", 1);
    const char *shared = "../shared/data/modalities";
    if (is_directory(shared) && chdir(shared)) die(error_new("cannot enter %s", shared));
    printf("the largest configuration: %s\n", largest);
    tell("config check of it", best_of(RUNS, check, said), 0.05);
    if (chdir(home)) die(error_new("cannot go back to %s", home));
    free(home);
    unsetenv("WORLD_SIZE");
    tell("--help", best_of(RUNS, help, said), 0.02);
    const char *sweep = sweep_file(a, folder, "thousand.yaml", 10, 10);
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double seconds;
        const char *to = path_join(a, folder, arena_printf(a, "thousand%d", i));
        die(make_directories(to));
        prepare(sweep, to, said, &seconds);
        if (seconds < best) best = seconds;
    }
    tell("a sweep of 1,000 configurations prepared", best, 2);
    measure_report(a, folder, said);
    watch_report(&w);
    if (!getenv("KEEP")) die(remove_tree(folder));
    arena_free(a);
    return 0;
}
