/* resume.h - going on with a training that was stopped, in its own folder. */
#ifndef TRAIN_RESUME_H
#define TRAIN_RESUME_H
#include "train/run.h"

/* The folder that is meant by the last_checkpoint_info.json of a run, or by the folder in which
 * that lies: the checkpoint that it names; and by a file of FSDP1: the folder beside it. Any other
 * path stands for itself. */
const char *training_folder(Arena *a, const char *given);
/* Goes on with the experiment in `folder`, or from the checkpoint that `folder` is, with the
 * configuration that is kept there. Of `s` are taken: rank, crew, overrides, changes,
 * print_graph, device, and the observer. The process changes to the folder in which the run was
 * started. */
Error *training_resume(const Registry *r, const char *folder, const RunSettings *s);
/* The number of ranks that the last job in this folder, or the job that saved this checkpoint, had;
 * 1 where nothing tells it. */
int64_t training_ranks(Arena *a, const char *folder);
/* The experiment of a checkpoint, which may be named as for training_folder; NULL: nothing there
 * tells it. */
const char *training_experiment(Arena *a, const char *checkpoint);
/* Whether a run was begun in this experiment's folder. */
bool training_is_started(Arena *a, const char *folder);
#endif
