/* keep_pictures.h - what the board shows of a run beside its results. */
#ifndef TRAIN_KEEP_PICTURES_H
#define TRAIN_KEEP_PICTURES_H
#include "exec/program.h"
#include "train/job.h"

/* Writes memory_outline.json and, where the model is a pipeline, pipeline_schedule.json into the
 * experiment's folder (program_memory_outline, pipeline_events_json). What cannot be written is a
 * warning. */
void keep_pictures(const TrainingJob *job, const Program *p);
#endif
