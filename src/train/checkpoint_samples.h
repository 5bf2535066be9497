/* checkpoint_samples.h - texts that a model in training makes of given prompts, at each checkpoint.
 */
#ifndef TRAIN_CHECKPOINT_SAMPLES_H
#define TRAIN_CHECKPOINT_SAMPLES_H
#include "train/session.h"

typedef struct CheckpointSamples CheckpointSamples; /* the component */
typedef struct SampleWriter SampleWriter;

/* Refuses prompts and layouts that cannot be continued. */
Error *samples_check(const CheckpointSamples *s, const Model *m, const Mesh *mesh);
/* Makes what job->samples asks for ready before the first step, so that a prompt that does not fit
 * is told then. *out is NULL where nothing is asked for. All ranks call it. Free before the
 * session. */
Error *samples_begin(const TrainingJob *job, Session *s, SampleWriter **out);
/* Continues every prompt, and adds the texts to the experiment's SAMPLES_FILE; texts of later
 * steps, which a training that goes on makes again, are taken away. All ranks call it. A stop
 * signal ends it early, then nothing is written. `w` may be NULL. */
Error *samples_write(SampleWriter *w, int64_t step);
void samples_free(SampleWriter *w);
#endif
