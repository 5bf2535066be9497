/* start.c - how long the program takes from its start to the first step, and to the end of it.
 *
 * The tutorial's model in the program itself, as a user starts it. Taking the memory is a matter of
 * the machine: the rate at which fresh pages come is measured in the same run, and what is left
 * over is compared with the aim: 0.3 s until ready for the first step (micro batch 64), 0.5 s until
 * the first step is finished (micro batch 1). Best of a few runs, since other programs only slow
 * it. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "data/pbin.h"
#include "device/device.h"
#include "measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 5, N_TOKENS = 100000, MAX_WORDS = 40 };

static void must(Error *e)
{
    if (!e) return;
    fprintf(stderr, "%s\n", error_text(e));
    exit(1);
}

static void write_tokens(const char *path)
{
    static uint32_t token[N_TOKENS];
    for (int64_t i = 0; i < N_TOKENS; i++) token[i] = (uint32_t)(i * 7919 % 50257);
    Text bytes = { 0 };
    PbinWriter w;
    must(pbin_encode(token, N_TOKENS, 2, &bytes));
    must(pbin_create(path, 2, &w));
    must(pbin_add(&w, bytes.ptr, bytes.len));
    must(pbin_commit(&w));
    text_free(&bytes);
}

/* Seconds that fresh memory of this size takes, as the program takes it. */
static double touch_seconds(size_t bytes)
{
    Device *d = cpu_device_new(0);
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        void *p;
        double start = clock_seconds();
        must(d->alloc(d, bytes, &p));
        double seconds = clock_seconds() - start;
        if (seconds < best) best = seconds;
        d->release(d, p, bytes);
    }
    d->free(d);
    return best;
}

/* One step of `run`; the configuration is the tutorial's warm start, told that nothing was done. */
static void start_program(const char *program, const char *folder, int64_t batch, int output)
{
    Arena *a = arena_new();
    const char *settings[] = {
        "settings.warmstart_checkpoint_paths=null",
        "settings.training_progress={global_num_seen_tokens: 0, num_seen_steps: 0, "
        "num_seen_samples: 0, last_step: -1}",
        "app_state={instance_key: raw_app_state, pass_type: BY_REFERENCE}",
        arena_printf(a, "settings.paths.train_dataset_path=%s/tokens.pbin", folder),
        arena_printf(a, "settings.paths.checkpoint_saving_path=%s/checkpoints", folder),
        arena_printf(a, "evaluation_subscriber.config.directory=%s", folder),
        arena_printf(a, "settings.step_profile.local_train_micro_batch_size=%lld",
                     (long long)batch),
        arena_printf(a, "settings.training_target.num_target_tokens=%lld", (long long)batch * 256),
        "settings.training_target.num_target_steps=1",
        "settings.intervals.training_log_interval_in_steps=1",
    };
    const char *word[MAX_WORDS] = { program,
                                    "run",
                                    "--config_file_path",
                                    "configs/tutorial/warmstart_config.yaml",
                                    "--experiments_root_path",
                                    folder };
    int n = 6;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        word[n++] = "--set";
        word[n++] = settings[i];
    }
    dup2(output, 1);
    dup2(output, 2);
    execv(program, (char **)word);
    _exit(127);
}

/* When the two lines came, in seconds after the start, and the bytes of memory. */
typedef struct Start {
    double ready, finished, bytes;
} Start;

/* "224 MB for ..., 33.3 MB for activations" */
static double bytes_of(const char *line)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = { { "B", 1 }, { "kB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 } };
    double sum = 0, number;
    char unit[8];
    for (const char *p = strchr(line, ' '); p; p = strchr(p, ',')) {
        p += strspn(p, ", ");
        if (sscanf(p, "%lf %7s", &number, unit) != 2) continue;
        for (int i = 0; i < 5; i++)
            if (!strcmp(unit, units[i].unit)) sum += number * units[i].factor;
    }
    return sum;
}

static Start run(const char *program, const char *folder, int64_t batch)
{
    int ends[2];
    Start s = { 0 };
    Text said = { 0 };
    char line[4096];
    if (pipe(ends) != 0) must(error_new("no pipe"));
    double start = clock_seconds();
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        start_program(program, folder, batch, ends[1]);
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    while (fgets(line, sizeof line, f)) {
        double seconds = clock_seconds() - start;
        if (str_starts(str_of(line), "ready: ")) s = (Start){ seconds, 0, bytes_of(line) };
        if (strstr(line, " | step: 1 | ")) s.finished = seconds;
        text_puts(&said, line);
    }
    fclose(f);
    waitpid(child, NULL, 0);
    if (!s.finished) must(error_new("%s did not take a step:\n%s", program, said.ptr));
    text_free(&said);
    return s;
}

static Start best_of(const char *program, const char *folder, int64_t batch)
{
    Start best = { 1e9, 1e9, 0 };
    for (int i = 0; i < RUNS; i++) {
        Start s = run(program, folder, batch);
        if (s.ready < best.ready) best.ready = s.ready;
        if (s.finished < best.finished) best.finished = s.finished;
        best.bytes = s.bytes;
    }
    return best;
}

static void report(const char *what, double seconds, double touch, double bytes, double aim)
{
    printf("%-46s %.3f s = %.3f s for %.0f MB of fresh memory (%.1f GB/s) + %.3f s; aim %.1f s: "
           "%s\n",
           what, seconds, touch, bytes * 1e-6, bytes / touch * 1e-9, seconds - touch, aim,
           seconds - touch <= aim ? "reached" : "missed");
}

int main(int argc, char **argv)
{
    (void)argc;
    Arena *a = arena_new();
    char folder[] = "/tmp/modalities-start-XXXXXX";
    const char *program = path_join(a, path_folder(a, path_folder(a, argv[0])), "modalities");
    if (getenv("MODALITIES_PROGRAM")) program = getenv("MODALITIES_PROGRAM");
    if (!mkdtemp(folder)) must(error_new("cannot make %s", folder));
    write_tokens(path_join(a, folder, "tokens.pbin"));
    Watch w = watch_start();
    static const int64_t batches[] = { 64, 1 };
    for (int i = 0; i < 2; i++) {
        Start s = best_of(program, folder, batches[i]);
        double touch = touch_seconds((size_t)s.bytes);
        if (batches[i] > 1)
            report("ready for the first step of 64 x 256 tokens", s.ready, touch, s.bytes, 0.3);
        else
            report("first step of 1 x 256 tokens finished", s.finished, touch, s.bytes, 0.5);
    }
    watch_report(&w);
    must(remove_tree(folder));
    arena_free(a);
    return 0;
}
