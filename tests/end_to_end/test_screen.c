/* test_screen.c - a training on a terminal of several widths: a step is one row, and Ctrl-C's
 * notice does not run into the bar. */
#include "end_to_end/training.h"
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG                                                                                       \
    "--set", "settings.training_target.num_target_steps=30000", "--set",                           \
        "settings.intervals.checkpointing_interval_in_steps=30000", "--set",                       \
        "settings.intervals.evaluation_interval_in_steps=30000"

#define BAR                                                                                        \
    "--set",                                                                                       \
        "progress_subscriber={component_key: progress_subscriber, variant_key: rich, config: "     \
        "{global_rank: 0, num_seen_steps: 0, num_target_steps: 30000, train_dataloader_tag: "      \
        "train, eval_dataloaders: []}}"

static const char *const long_run[] = { LONG, BAR, NULL };

/* Reads until `mark`, or to the end. */
static void read_on(int fd, const char *mark, Text *to)
{
    char bytes[512];
    while (!mark || !to->ptr || !strstr(to->ptr, mark)) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, 60000) != 1) fail_msg("nothing more than: %s", to->ptr);
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0) return;
        text_add(to, bytes, (size_t)n);
        if (to->len > 1 << 20) fail_msg("no \"%s\" in: %s", mark ? mark : "end", to->ptr);
    }
}

/* What a training shows on a terminal of so many columns, where Ctrl-C was pressed behind a step.
 */
static Text train_until_ctrl_c(const Bench *b, const char *id, int columns)
{
    const struct winsize size = { .ws_row = 40, .ws_col = (unsigned short)columns };
    Words words = bench_words(b, id, NULL, long_run);
    Text shown = { 0 };
    int fd, status, n = 0;
    char *arguments[64] = { (char *)program_path() };
    while (words[n]) n++;
    assert_true(n < 62);
    memcpy(arguments + 1, words, sizeof *words * (size_t)n);
    pid_t child = forkpty(&fd, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child == 0) {
        unsetenv("COLUMNS");
        setenv("TERM", "xterm", 1);
        setenv("LC_ALL", "C", 1);
        execv(program_path(), arguments);
        _exit(127);
    }
    read_on(fd, "train [", &shown);
    read_on(fd, "  step ", &shown);
    assert_int_equal(write(fd, "\003", 1), 1);
    read_on(fd, NULL, &shown);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), EXIT_STOPPED);
    close(fd);
    return shown;
}

/* Rows of steps: "12:00:00  step      5  loss ...". */
static int count_rows(const char *shown, int columns)
{
    int n = 0;
    for (const char *at = shown; (at = strstr(at, "  step ")); at++) {
        int64_t length = (int64_t)strlen("12:00:00") + (int64_t)strcspn(at, "\r\n");
        if (length > columns) fail_msg("%d columns: %.*s", columns, (int)length, at - 8);
        n++;
    }
    return n;
}

TEST(a_training_fits_its_terminal_and_ctrl_c_ends_the_bar_first)
{
    static const int widths[] = { 60, 80, 200 };
    Bench b = bench_new();
    b.pbin = write_many_tokens(b.arena);
    for (int i = 0; i < 3; i++) {
        Text shown = train_until_ctrl_c(&b, arena_printf(b.arena, "w%d", widths[i]), widths[i]);
        assert_true(count_rows(shown.ptr, widths[i]) > 0);
        assert_contains(shown.ptr, "\r\033[Jstopping after this step; Ctrl-C or SIGTERM once more");
        assert_contains(shown.ptr, "the state is saved. To go on:");
        text_free(&shown);
    }
    arena_free(b.arena);
}
