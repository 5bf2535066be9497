/* run_record.h - what an experiment's folder tells of its run: how the last process ended or that
 * it lives, where it was started, where its checkpoints lie, and how to go on.
 *
 * run.json is the record; run.lock is locked while a process trains there; kept_config.yaml is the
 * configuration that `modalities resume` reads. A checkpoint has run.json (without a state) and
 * kept_config.yaml, too. */
#ifndef MONITOR_RUN_RECORD_H
#define MONITOR_RUN_RECORD_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

#define RUN_RECORD "run.json"
#define RUN_LOCK "run.lock"
#define RUN_YAML "kept_config.yaml"
/* For the board: memory over the time of a step, what the ranks of a pipeline do in it, and a line
 * {"step", "prompt", "text"} for each prompt and checkpoint. */
#define MEMORY_OUTLINE "memory_outline.json"
#define PIPELINE_SCHEDULE "pipeline_schedule.json"
#define SAMPLES_FILE "samples.jsonl"

typedef enum RunState {
    RUN_RUNNING, /* a process lives there */
    RUN_STOPPED, /* before its target, by a signal or the end of the data */
    RUN_DONE,
    RUN_FAILED, /* `why` says how */
    RUN_KILLED, /* nobody is there, and nothing was said */
} RunState;

typedef struct RunRecord {
    RunState state;
    const char *why;             /* "" unless it failed */
    int64_t steps, target_steps; /* done, as far as a process could tell */
    int64_t ranks;               /* of the last job */
    /* Absolute: the experiment's folder, where checkpoints lie ("": not known yet), and where the
     * first process was started, from which relative paths of the configuration lead. */
    const char *experiment, *checkpoints, *start_folder;
    const char *checkpoint_id;    /* experiment_id in the names of checkpoints */
    const char *config_file_path; /* as first given */
    const char *initial_weights;  /* --initial_weights_path; "": none */
} RunRecord;

/* Reads folder/run.json. RUN_RUNNING is asked of run.lock, too. */
Error *run_record_read(Arena *a, const char *folder, RunRecord *out);
/* The same for who holds run.lock: RUN_RUNNING is what was written last. */
Error *run_record_read_as_written(Arena *a, const char *folder, RunRecord *out);
/* Writes folder/run.json. */
Error *run_record_write(const char *folder, const RunRecord *r);
/* The same, without waiting for the disk. */
Error *run_record_update(const char *folder, const RunRecord *r);
/* Appends it as JSON; for a checkpoint without what tells of the state. */
void run_record_put(const RunRecord *r, bool with_state, Text *out);
/* "running", "stopped", "done", "failed", "killed" */
const char *run_state_name(RunState s);
/* "modalities resume FOLDER", quoted for a shell where that is needed. */
char *resume_command(Arena *a, const char *folder);

/* Locks folder/run.lock for this process; an error if another one has it. *lock is a descriptor to
 * close at the end, or -1 where the file system has no locks (a notice says so). */
Error *run_lock_take(Arena *a, const char *folder, int *lock);
/* Whether a process holds it. */
bool run_lock_is_held(Arena *a, const char *folder);
#endif
