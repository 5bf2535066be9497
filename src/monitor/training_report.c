/* training_report.c - the Training Report block and its warnings. */
#include "monitor/training_report.h"
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static void put_int(Text *out, const char *name, int64_t value)
{
    text_printf(out, "\n\t%s: %" PRId64, name, value);
}

static void put_bool(Text *out, const char *name, bool value)
{
    text_printf(out, "\n\t%s: %s", name, value ? "True" : "False");
}

static double missing_percent(int64_t have, int64_t of)
{
    return (1 - (double)have / (double)of) * 100;
}

static void warn_if_not_last(Text *out, int64_t target, int64_t interval, const char *what,
                             const char *name)
{
    if (target % interval == 0) return;
    text_printf(out,
                "%sLast step will not be %s. Since num_target_steps (%" PRId64
                ") is not a multiple of %s (%" PRId64 ").",
                out->len ? "\n\t" : "", what, target, name, interval);
}

/* Tokens per step count data-parallel ranks, not all ranks: tp and pp ranks share their batch. */
static void put_warnings(const TrainingPlan *p, Text *out)
{
    int64_t planned = p->local_train_micro_batch_size * p->sequence_length *
                      p->gradient_accumulation_steps * p->dp_degree * p->num_target_steps;
    if (p->num_target_tokens != planned)
        text_printf(out,
                    "Number of target tokens (%" PRId64
                    ") does not match the number of tokens per step * num steps (%" PRId64
                    ").Missing %.2f%% of target tokens.",
                    p->num_target_tokens, planned, missing_percent(planned, p->num_target_tokens));
    int64_t in_dataset = p->n_samples * p->sequence_length;
    if (in_dataset < p->num_target_tokens)
        text_printf(out,
                    "%sNumber of tokens in the dataset (%" PRId64
                    ") does not match the number of target tokens (%" PRId64
                    "). Missing %.2f%% of tokens in the dataset.",
                    out->len ? "\n\t" : "", in_dataset, p->num_target_tokens,
                    missing_percent(planned, in_dataset));
    int64_t target = p->num_target_steps;
    warn_if_not_last(out, target, p->training_log_interval_in_steps, "logged",
                     "training_log_interval_in_steps");
    warn_if_not_last(out, target, p->evaluation_interval_in_steps, "evaluated",
                     "evaluation_interval_in_steps");
    warn_if_not_last(out, target, p->checkpointing_interval_in_steps, "checkpointed",
                     "checkpointing_interval_in_steps");
}

void training_report(const TrainingPlan *p, Text *out)
{
    text_puts(out, "\n\n\n======================== Training Report "
                   "========================\nTraining target: ");
    put_int(out, "num_target_tokens", p->num_target_tokens);
    put_int(out, "num_target_steps", p->num_target_steps);
    text_puts(out, " \nIntervals: ");
    put_int(out, "training_log_interval_in_steps", p->training_log_interval_in_steps);
    put_int(out, "checkpointing_interval_in_steps", p->checkpointing_interval_in_steps);
    put_int(out, "evaluation_interval_in_steps", p->evaluation_interval_in_steps);
    text_puts(out, "\nStep profile: ");
    put_int(out, "gradient_accumulation_steps", p->gradient_accumulation_steps);
    put_int(out, "local_train_micro_batch_size", p->local_train_micro_batch_size);
    put_int(out, "sequence_length", p->sequence_length);
    put_int(out, "dp_degree", p->dp_degree);
    text_puts(out, "\nCUDA environment settings: ");
    put_int(out, "local_rank", p->local_rank);
    put_int(out, "world_size", p->world_size);
    put_int(out, "global_rank", p->global_rank);
    text_puts(out, "\nConsistency enforcement: ");
    put_bool(out, "enforce_tokens_per_step_consistency", p->enforce_tokens_per_step_consistency);
    put_bool(out, "enforce_last_step_logged", p->enforce_last_step_logged);
    put_bool(out, "enforce_last_step_evaluated", p->enforce_last_step_evaluated);
    put_bool(out, "enforce_last_step_checkpointed", p->enforce_last_step_checkpointed);
    put_bool(out, "enforce_enough_tokens_in_dataset", p->enforce_enough_tokens_in_dataset);
    text_puts(out, "\nTraining progress: ");
    put_int(out, "global_num_seen_tokens", p->global_num_seen_tokens);
    put_int(out, "num_seen_steps", p->num_seen_steps);
    put_int(out, "num_seen_samples", p->num_seen_samples);
    put_int(out, "last_step", p->last_step);
    Text warnings = { 0 };
    text_puts(&warnings, "");
    put_warnings(p, &warnings);
    if (*warnings.ptr) text_printf(out, "\nWarnings: \n\t\033[38;5;214m%s \033[0m ", warnings.ptr);
    text_puts(out, "\n====================================================================\n\n\n");
    text_free(&warnings);
}

/* ---- on a screen ---- */

enum { TAB = 8 };

/* The line without escape sequences, if they are not wanted; lines of '=' are cut. */
static void put_line(const char *line, size_t n, int width, bool with_colours, Text *out)
{
    int column = 0;
    const char *end = line + n, *p = line;
    const bool is_rule = n > 2 && !strncmp(line, "==", 2);
    const size_t excess = is_rule && n > (size_t)width ? n - (size_t)width : 0;
    p += excess / 2;
    end -= excess - excess / 2;
    while (p < end) {
        if (*p == '\033') {
            const size_t length = strcspn(p, "m") + 1;
            if (with_colours) text_add(out, p, length);
            p += length;
            continue;
        }
        const size_t word = *p == ' ' || *p == '\t' ? 1 : strcspn(p, " \t\033\n");
        const size_t fits = word < (size_t)(end - p) ? word : (size_t)(end - p);
        if (column > TAB && column + (int)fits > width) {
            text_puts(out, "\n\t");
            column = TAB;
            if (*p == ' ') p++;
            continue;
        }
        text_add(out, p, fits);
        column += *p == '\t' ? TAB : (int)fits;
        p += fits;
    }
}

void training_report_shown(const TrainingPlan *p, int width, bool with_colours, Text *out)
{
    Text whole = { 0 };
    training_report(p, &whole);
    for (const char *line = whole.ptr; *line;) {
        const size_t n = strcspn(line, "\n");
        put_line(line, n, width, with_colours, out);
        if (line[n]) text_putc(out, '\n');
        line += n + (line[n] == '\n');
    }
    text_free(&whole);
}
