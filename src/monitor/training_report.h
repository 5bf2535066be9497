/* training_report.h - the block that tells, before training, what will happen and what does not
 * fit. */
#ifndef MONITOR_TRAINING_REPORT_H
#define MONITOR_TRAINING_REPORT_H
#include "base/str.h"
#include <stdint.h>

/* The `settings` of a training YAML that the report shows, by their names there. */
typedef struct TrainingPlan {
    int64_t num_target_tokens, num_target_steps;
    int64_t training_log_interval_in_steps, checkpointing_interval_in_steps,
        evaluation_interval_in_steps;
    int64_t gradient_accumulation_steps, local_train_micro_batch_size, sequence_length, dp_degree;
    int64_t local_rank, world_size, global_rank;
    bool enforce_tokens_per_step_consistency, enforce_last_step_logged, enforce_last_step_evaluated;
    bool enforce_last_step_checkpointed, enforce_enough_tokens_in_dataset;
    int64_t global_num_seen_tokens, num_seen_steps, num_seen_samples, last_step;
    int64_t n_samples; /* of the training dataset */
} TrainingPlan;

/* The whole block as printed on stdout, warnings in orange. */
void training_report(const TrainingPlan *p, Text *out);
/* The same for a screen of `width` columns, at which long lines go on in the next one. */
void training_report_shown(const TrainingPlan *p, int width, bool with_colours, Text *out);
#endif
