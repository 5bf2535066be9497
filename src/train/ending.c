/* ending.c - how a run ended, in words, and what to type to go on. */
#include "train/ending.h"
#include "base/file.h"
#include "base/signal.h"
#include <inttypes.h>
#include <string.h>

/* One word for a shell. */
static void put_word(Text *out, const char *option, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=,:+@%";
    text_printf(out, " %s ", option);
    if (*word && !word[strspn(word, plain)]) {
        text_puts(out, word);
        return;
    }
    text_putc(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            text_puts(out, "'\\''");
        else
            text_putc(out, *word);
    text_putc(out, '\'');
}

/* What to type to go on. Only a warm start's own YAML is known to fit. */
static void put_how_to_go_on(Arena *a, const RunSettings *s, const RunConfig *c, Text *out)
{
    text_puts(out, "To go on:\n  modalities warmstart");
    put_word(out, "--config_file_path",
             s->last_checkpoint_info_path ? s->config_file_path : "WARMSTART.yaml");
    put_word(out, "--experiments_root_path", s->experiments_root_path);
    put_word(
        out, "--last_checkpoint_info_file_path",
        path_join(a, c->config.checkpoint_saving->execution.checkpoint_path, LAST_CHECKPOINT_INFO));
    for (int64_t i = 0; i < s->overrides.n; i++) put_word(out, "--set", s->overrides.item[i]);
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
        text_printf(out, "Stopped by signal %d", signal_number());
    else
        text_puts(out, "warning: the training data ended");
    text_printf(out, " after step %" PRId64 " of %" PRId64 "; ", end->steps,
                s->training_target.num_target_steps);
    if (end->saved_steps == end->steps) {
        text_puts(out, "the state is saved. ");
        put_how_to_go_on(a, run, c, out);
    } else if (end->steps == s->training_progress.num_seen_steps) {
        text_puts(out, "nothing new was learnt.");
    } else {
        text_puts(out, "nothing is saved, as checkpoint_saving_strategy says.");
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
