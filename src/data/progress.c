/* progress.c - shows how far a long command is. */
#include "data/progress.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/terminal.h"
#include <stdio.h>
#include <unistd.h>

static const double FIRST_S = 2, LIVE_S = 0.2,
                    PLAIN_S = 30; /* waits before the first line and between lines */

CommandProgress progress_start(const char *what, int64_t total, ProgressUnit unit)
{
    double now = clock_seconds();
    return (CommandProgress){
        .what = what, .total = total, .unit = unit, .started = now, .shown = now
    };
}

static void format_amount(ProgressUnit unit, double amount, char out[32])
{
    if (unit == PROGRESS_BYTES)
        format_bytes(amount, out);
    else
        snprintf(out, 32, "%.0f", amount);
}

void progress_update(CommandProgress *p, int64_t done)
{
    double now = clock_seconds(), elapsed = now - p->started;
    bool live = is_terminal(STDERR_FILENO);
    if (elapsed < FIRST_S || now - p->shown < (live ? LIVE_S : PLAIN_S) || done <= p->found) return;
    char at[32], of[32], speed[32], left[32];
    double rate = (double)(done - p->found) / elapsed;
    format_amount(p->unit, (double)done, at);
    format_amount(p->unit, (double)p->total, of);
    format_amount(p->unit, rate, speed);
    format_seconds((double)(p->total - done) / rate, left);
    fprintf(stderr, "%s%s: %s of %s (%.0f %%), %s/s, %s left%s", terminal_erase(STDERR_FILENO),
            p->what, at, of, 100.0 * (double)done / (double)p->total, speed, left,
            live ? "\r" : "\n");
    p->shown = now;
}

void progress_end(CommandProgress *p)
{
    if (p->shown > p->started) fputs(terminal_erase(STDERR_FILENO), stderr);
}
