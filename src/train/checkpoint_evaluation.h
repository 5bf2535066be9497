/* checkpoint_evaluation.h - `evaluate`: the losses of a checkpoint, and the likelihood of
 * documents.
 */
#ifndef TRAIN_CHECKPOINT_EVALUATION_H
#define TRAIN_CHECKPOINT_EVALUATION_H
#include "config/field.h"
#include "config/registry.h"
#include "train/crew.h"

typedef struct CheckpointEvaluation {
    const Crew *crew;
    const char *config_file_path, *checkpoint;
    const char *experiments_root_path;
    StringList overrides;
    StringList documents;                  /* .pbin files to be scored */
    const char *results, *log_likelihoods; /* JSONL; NULL: not kept */
    const char *device;
} CheckpointEvaluation;

/* Prints a JSON line for each evaluation loader of the configuration and for each file of
 * documents. All ranks call it. */
Error *checkpoint_evaluation(const Registry *r, const CheckpointEvaluation *e);
#endif
