/* training_check.h - what is made sure of before the first step, by trainings and `config check`.
 */
#ifndef TRAIN_TRAINING_CHECK_H
#define TRAIN_TRAINING_CHECK_H
#include "train/job.h"
#include "train/settings.h"

/* Of components that are built: that they belong together, that the rates reach to the target, and
 * that the data suffice, unless they are NULL. `warmstart_path` is the configuration of a warm
 * start; NULL: a fresh run.
 */
Error *training_check(const Builder *b, const TrainingConfig *c, const char *warmstart_path);
/* Samples and tokens per sample of a batch of the training data, which must have as many samples as
 * the settings say. */
Error *training_check_batch(const TrainingJob *job, const Batch *batch, int64_t *n_samples,
                            int64_t *sequence);
/* A profile that could not become whole is refused. `p` may be NULL. */
Error *training_check_profile(const struct Profiler *p, int64_t seen_steps, int64_t target_steps,
                              int64_t microbatches);
/* Whether no step is left. */
bool training_is_done(const TrainingSettings *s);
#endif
