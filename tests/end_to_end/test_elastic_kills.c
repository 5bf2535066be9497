/* test_elastic_kills.c - ranks of an elastic job are killed at random moments: how soon it steps
 * again, how many steps are lost, and that it ends with the bits of a job that nobody killed. */
#include "base/clock.h"
#include "base/rng.h"
#include "comm/mpirun.h"
#include "end_to_end/job_ranks.h"
#include "end_to_end/kill_points.h"
#include "end_to_end/training.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SET "--set"

enum { RANKS = 4, EVERY = 3, LINE = 1024 };

/* What the output of a driver tells, and the kill that is on its way. */
typedef struct Watched {
    pid_t driver;
    int out[2]; /* a pipe */
    char line[LINE];
    int n;
    int64_t target, last;   /* steps: of the job, and told last; 0: none */
    double killed_at;       /* 0: it steps */
    bool is_started;        /* again, after the kill */
    double next_kill;       /* moment */
    int n_kills;            /* so far, of all jobs */
    double slowest;         /* seconds until it stepped again */
    int64_t most_lost;      /* steps */
    double longest_allowed; /* seconds */
} Watched;

static int n_steps(void)
{
    return is_long_kill_test() ? 60 : 20;
}

static Words words_of(const Bench *b, const char *id)
{
    const char **words = NEW_N(b->arena, const char *, 24);
    const char *const all[] = {
        "--elastic",
        arena_printf(b->arena, "%d", RANKS),
        SET,
        "settings.intervals.checkpointing_interval_in_steps=3",
        SET,
        "settings.intervals.evaluation_interval_in_steps=1000",
        SET,
        "settings.step_profile.gradient_accumulation_steps=16",
        SET,
        arena_printf(b->arena, "settings.training_target.num_target_steps=%d", n_steps()),
        NULL
    };
    memcpy(words, all, sizeof all);
    return bench_words(b, id, NULL, words);
}

/* Ranks are the children of mpirun, which is one of the driver; 0: there is none just now. */
static pid_t rank_of(pid_t driver, int which)
{
    const pid_t mpirun = find_child(driver, 0);
    return mpirun ? find_child(mpirun, which) : 0;
}

static double draw(const Watched *w, uint64_t what)
{
    return rng_uniform(kill_seed() + what, (uint64_t)w->n_kills);
}

static void on_step(Watched *w, int64_t step)
{
    if (w->killed_at > 0 && w->is_started) {
        const double took = clock_seconds() - w->killed_at;
        const int64_t lost = w->last - step + 1;
        if (took > w->slowest) w->slowest = took;
        if (lost > w->most_lost) w->most_lost = lost;
        if (took > w->longest_allowed) fail_msg("%.1f s until it stepped again", took);
        if (lost > EVERY)
            fail_msg("after step %lld it went on with %lld", (long long)w->last, (long long)step);
        w->killed_at = 0;
    }
    /* every second one where the job comes to its end */
    const bool is_due = is_long_kill_test() && w->n_kills % 2 ? step >= w->target : true;
    if (!w->killed_at && !w->next_kill && is_due)
        w->next_kill = clock_seconds() + (step < w->target ? 0.6 : 0.25) * draw(w, 1);
    if (!w->killed_at || step > w->last) w->last = step; /* one may be on its way when killed */
}

static void on_line(Watched *w)
{
    puts(w->line); /* for where it hangs */
    const char *step = strstr(w->line, " step");
    if (strstr(w->line, "elastic: start ")) w->is_started = true;
    if (step && strstr(w->line, " samples/s")) /* short for terminals, which mpirun makes */
        on_step(w, strtoll(step + strcspn(step, "0123456789"), NULL, 10));
}

/* What can be read now; false: the driver has ended. */
static bool read_lines(Watched *w)
{
    char bytes[512];
    struct pollfd p = { .fd = w->out[0], .events = POLLIN };
    if (poll(&p, 1, 5) <= 0) return true;
    const ssize_t n = read(w->out[0], bytes, sizeof bytes);
    for (ssize_t i = 0; i < n; i++) {
        if (w->n < LINE - 1 && bytes[i] != '\n') w->line[w->n++] = bytes[i];
        if (bytes[i] != '\n') continue;
        w->line[w->n] = 0;
        w->n = 0;
        on_line(w);
    }
    return n > 0;
}

static void kill_when_due(Watched *w)
{
    if (!w->next_kill || clock_seconds() < w->next_kill) return;
    const pid_t rank = rank_of(w->driver, (int)(RANKS * draw(w, 2)));
    w->next_kill = 0;
    if (!rank || kill(rank, SIGKILL) != 0) return; /* it has just ended */
    w->killed_at = clock_seconds();
    w->is_started = false;
    w->n_kills++;
}

static void run_killed(const Bench *b, const char *id, Watched *w, int most)
{
    assert_int_equal(pipe2(w->out, O_CLOEXEC), 0);
    w->driver = command_start(b->arena, words_of(b, id), NULL, w->out);
    w->last = 0;
    w->killed_at = w->next_kill = 0;
    while (read_lines(w)) {
        if (w->n_kills == most) w->next_kill = 0;
        kill_when_due(w);
    }
    close(w->out[0]);
    Outcome o = command_wait(b->arena, w->driver, w->out);
    assert_int_equal(o.status, 0);
    assert_same_state(b, id, "whole");
    assert_curve_within(b, id, "whole");
    assert_curve_within(b, "whole", id);
}

/* The same bits of losses and parameters: every sample was seen as by the job that nobody killed.
 */
TEST(an_elastic_job_of_four_steps_again_soon_and_loses_few_steps)
{
    Bench b = bench_new();
    const int most = is_long_kill_test() ? 20 : 1;
    Watched w = { .target = n_steps(), .longest_allowed = is_long_kill_test() ? 20 : 60 };
    b.pbin = write_many_tokens(b.arena);
    mpirun_prepare(b.arena);
    assert_ended_well(command_output(b.arena, words_of(&b, "whole"), NULL));
    for (int i = 0; i < 30 && w.n_kills < most; i++)
        run_killed(&b, arena_printf(b.arena, "x%d", i), &w, most);
    assert_int_equal(w.n_kills, most);
    test_note("%d kills: stepped again within %.1f s, lost at most %lld steps of %d", w.n_kills,
              w.slowest, (long long)w.most_lost, EVERY);
    arena_free(b.arena);
}
