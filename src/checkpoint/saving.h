/* saving.h - when a run saves, where, and which of its checkpoints it keeps. */
#ifndef CHECKPOINT_SAVING_H
#define CHECKPOINT_SAVING_H
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_name.h"

#define LAST_CHECKPOINT_INFO "last_checkpoint_info.json"

/* When to save, and what stays. */
typedef struct CheckpointStrategy {
    int64_t every;      /* steps; asked only where the run's checkpointing interval allows one */
    int64_t keep;       /* the newest ones of the training; -1: all; 0: none is ever saved */
    int64_t keep_every; /* those of multiples of so many steps stay beside them; 0: none */
} CheckpointStrategy;

/* Where checkpoints go. */
typedef struct CheckpointExecution {
    const char *checkpoint_path, *experiment_id;
    int64_t global_rank;
    bool is_fsdp1; /* last_checkpoint_info.json also has the keys of FSDP1 */
    int format;    /* index in the choices of the variant: its own layout, or native */
} CheckpointExecution;

typedef enum SavingWhenBusy { SAVING_WAITS, SAVING_SKIPS } SavingWhenBusy;
typedef enum SavingOnFailure { SAVING_STOPS, SAVING_GOES_ON } SavingOnFailure;

/* The saving of one run. Rank 0 does all but writing the parts of others. */
typedef struct CheckpointSaving {
    CheckpointStrategy strategy;
    CheckpointExecution execution;
    bool in_background;       /* the training goes on while a copy of its state is written */
    SavingWhenBusy when_busy; /* in the background: a save is due while another is written */
    SavingOnFailure on_failure;
    Arena *arena;
    char **kept; /* folders of this training that are not deleted, oldest first */
    int64_t n_kept, kept_cap;
    int64_t bytes;                /* of a checkpoint, once that is known */
    const CheckpointFile *beside; /* files that each checkpoint keeps, too */
    int64_t n_beside;
} CheckpointSaving;

CheckpointSaving *checkpoint_saving_new(Arena *a, const CheckpointStrategy *strategy,
                                        const CheckpointExecution *execution);
/* Makes the folder of the checkpoints; an error unless they can be written there. */
Error *checkpoint_saving_prepare(const CheckpointSaving *s);
/* Whether the strategy wants a checkpoint after this many steps in total. */
bool checkpoint_is_due(const CheckpointSaving *s, int64_t seen_steps);
/* How its checkpoints are laid out. */
CheckpointLayout checkpoint_layout(const CheckpointExecution *x);
/* Saves the state in a folder named by `totals`, points last_checkpoint_info.json to it, then
 * deletes those that the strategy gives up; a failed deletion is a warning. Layout and
 * files of `content` are filled in. After an error the former checkpoint is untouched and still the
 * last one. Where `content` is shared all ranks call it; else on others than rank 0 it does
 * nothing. */
Error *checkpoint_saving_save(CheckpointSaving *s, const CheckpointTotals *totals,
                              const CheckpointContent *content);

/* The same in two steps: plans it (folder_write.h), which all ranks do that have part in it; and
 * writes it, maybe on another thread. What was planned belongs to the arena; *out is NULL where
 * this rank does nothing. */
typedef struct PlannedSave PlannedSave;
Error *checkpoint_saving_plan(Arena *a, CheckpointSaving *s, const CheckpointTotals *totals,
                              const CheckpointContent *content, PlannedSave **out);
Error *checkpoint_saving_write(PlannedSave *p);

/* Appends to an error about the checkpoint `path` which older one of the same training is there and
 * can be opened, if any. NULL stays NULL. */
Error *checkpoint_name_older(Error *e, const char *path);

/* The checkpoint from which experiment `experiment_id` goes on: the last one that was saved in
 * `folder`, else the one of the most steps. *out is NULL where there is none. */
Error *checkpoint_newest(Arena *a, const char *folder, const char *experiment_id, const char **out);
/* Goes on from the checkpoint `path`: it is the last one now, and those of no more steps that an
 * earlier process saved count among the ones to keep. */
Error *checkpoint_saving_go_on(CheckpointSaving *s, const char *path);
#endif
