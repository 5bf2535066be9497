/* wandb_file.h - the file of an offline run of Weights & Biases, which `wandb sync` uploads. */
#ifndef MONITOR_WANDB_FILE_H
#define MONITOR_WANDB_FILE_H
#include "base/arena.h"
#include "base/error.h"
#include "config/yaml.h"

typedef struct WandbFile WandbFile;

typedef struct WandbRun {
    const char *entity, *project, *name; /* entity may be NULL */
    const Yaml *config;                  /* a mapping, or NULL */
} WandbRun;

/* DIRECTORY/wandb/offline-run-TIME-ID/run-ID.wandb, begun with a header and the run. ID follows
 * from project and name; an earlier folder with it is taken again, and its file begun anew. */
Error *wandb_file_new(Arena *a, const char *directory, const WandbRun *run, WandbFile **out);
const char *wandb_file_path(const WandbFile *f);
/* A row of numbers: `row` is a line of history.jsonl, an object with "_step". */
Error *wandb_file_add(WandbFile *f, const char *row);
/* One more setting of the run, known later: `value` is JSON. */
Error *wandb_file_config(WandbFile *f, const char *key, const char *value);
/* The run's end. */
Error *wandb_file_close(WandbFile *f);
#endif
