/* keep_steps.h - writes down what `modalities reproduce` compares with (monitor/provenance.h). */
#ifndef TRAIN_KEEP_STEPS_H
#define TRAIN_KEEP_STEPS_H
#include "monitor/provenance.h"
#include "train/run_config.h"

/* The digest of a configuration as it is kept. */
const char *config_digest(Arena *a, const char *text);
/* The provenance of a configuration whose components were built, on this machine, but for the
 * digest and the device. */
Provenance run_provenance(Arena *a, const RunConfig *c, const RunSettings *s);
/* On rank 0: from now on the job's steps are kept in the experiment's folder, as its observer; who
 * observed it before still does. What cannot be written is a warning, and ends it. */
void keep_steps(Arena *a, const RunConfig *c, const RunSettings *s, TrainingJob *job);
#endif
