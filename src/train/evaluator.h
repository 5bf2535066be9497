/* evaluator.h - the loss over every evaluation loader. */
#ifndef TRAIN_EVALUATOR_H
#define TRAIN_EVALUATOR_H
#include "train/job.h"
#include "train/session.h"

/* Publishes progress and, for each loader, its results: the mean of the losses of batches that have
 * targets, of all ranks. Where not all batches are taken, the results name their number. A stop
 * signal on any rank cuts it short: then *is_whole is false. */
Error *evaluate(Session *s, const TrainingJob *job, int64_t step, bool *is_whole);
/* Tokens of a batch that have a target. */
int64_t batch_count_targets(const TrainingJob *job, const Batch *b);
/* Samples and tokens per sample of a batch, as the model's inputs have them; an error when it lacks
 * what the model and the loss need. */
Error *batch_shape(const TrainingJob *job, const Loader *l, const Batch *b, int64_t *n_samples,
                   int64_t *sequence);
/* Copies a batch's items into a microbatch's inputs of the same names, whose shapes must agree; the
 * batch must stay until program_wait. */
Error *program_feed(Program *p, int64_t microbatch, const Batch *b);
#endif
