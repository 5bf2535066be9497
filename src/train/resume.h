/* resume.h - going on with a training that was stopped, in its own folder. */
#ifndef TRAIN_RESUME_H
#define TRAIN_RESUME_H
#include "train/run.h"

/* Goes on with the experiment in `folder`, or from the checkpoint that `folder` is, with the
 * configuration that is kept there. Of `s` are taken: rank, overrides, print_graph, device,
 * n_threads, and the observer. The process changes to the folder in which the run was started. */
Error *training_resume(const Registry *r, const char *folder, const RunSettings *s);
/* Whether a run was begun in this experiment's folder. */
bool training_is_started(Arena *a, const char *folder);
#endif
