/* run_config.h - the configuration of a run, read, completed and checked, and its experiment. */
#ifndef TRAIN_RUN_CONFIG_H
#define TRAIN_RUN_CONFIG_H
#include "config/builder.h"
#include "train/run.h"
#include "train/settings.h"

typedef struct RunConfig {
    const char *experiment_id;
    const char *folder; /* the experiment's */
    Yaml *root;         /* resolved */
    Yaml *kept;         /* what `modalities resume` reads */
    Builder *builder;
    TrainingConfig config; /* components are set once they are built */
} RunConfig;

/* Reads the configuration as the experiment that the settings name, or as a new one, whose folder
 * is then claimed; nothing is made if there is a mistake. The ranks agree. */
Error *run_config_read(Arena *a, const RunSettings *s, const Registry *registry, RunConfig *out);
/* Puts the YAML, what it resolves to, and what resume reads into the experiment's folder. */
Error *run_config_keep(Arena *a, const RunSettings *s, const RunConfig *c);
/* The text of `kept`. */
const char *run_config_text(Arena *a, const RunConfig *c);
/* SHA-256 of the resolved configuration, in hex. */
const char *run_config_digest(Arena *a, const RunConfig *c);
#endif
