/* ending.c - how a run ended, in words, and what to type to go on. */
#include "train/ending.h"
#include "base/file.h"
#include <inttypes.h>
#include <string.h>

const char *how_to_go_on(Arena *a, const RunSettings *s, const RunConfig *c)
{
    /* resume works in the folder in which the run was started; the user may be in another one */
    const char *folder = s->resume ? path_absolute(a, c->folder) : c->folder;
    return arena_printf(a, "To go on:\n  %s", resume_command(a, folder));
}

static void put_all_done(const TrainingConfig *c, const TrainingEnd *end, Text *out)
{
    text_printf(out, end->steps == 1 ? "The step is done" : "All %" PRId64 " steps are done",
                end->steps);
    if (end->saved_steps == end->steps)
        text_puts(out, " and saved.");
    else if (c->checkpoint_saving->strategy.keep == 0)
        text_puts(out, ".");
    else if (end->saved_steps >= 0)
        text_printf(out, "; the last checkpoint is that of step %" PRId64 ".", end->saved_steps);
    else
        text_printf(out,
                    "; no checkpoint was written: checkpointing_interval_in_steps is %" PRId64 ".",
                    c->settings.intervals.checkpointing_interval_in_steps);
}

static void put_early_end(Arena *a, const RunSettings *run, const RunConfig *c,
                          const TrainingEnd *end, Text *out)
{
    const TrainingSettings *s = &c->config.settings;
    if (end->reason == END_SIGNAL)
        text_printf(out, "Stopped by signal %d", end->signal);
    else
        text_puts(out, "warning: the training data ended");
    text_printf(out, " after step %" PRId64 " of %" PRId64 "; ", end->steps,
                s->training_target.num_target_steps);
    if (end->saved_steps == end->steps) {
        text_puts(out, "the state is saved. ");
        text_puts(out, how_to_go_on(a, run, c));
    } else if (end->steps == s->training_progress.num_seen_steps) {
        text_puts(out, "nothing new was learnt.");
        if (end->reason == END_SIGNAL) text_printf(out, " %s", how_to_go_on(a, run, c));
    } else {
        text_puts(out, "nothing is saved, as checkpoint_saving_strategy says. ");
        text_puts(out, how_to_go_on(a, run, c));
    }
}

const char *ending_text(Arena *a, const RunSettings *s, const RunConfig *c, const TrainingEnd *end)
{
    Text t = { 0 };
    if (end->reason == END_NOTHING_LEFT)
        text_printf(&t, "The target of %" PRId64 " steps is reached already: nothing left to do.",
                    c->config.settings.training_target.num_target_steps);
    else if (end->reason == END_TARGET)
        put_all_done(&c->config, end, &t);
    else
        put_early_end(a, s, c, end, &t);
    const char *text = arena_string(a, t.ptr);
    text_free(&t);
    return text;
}
