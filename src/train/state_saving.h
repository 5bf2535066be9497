/* state_saving.h - saves the state of a training: at once, or in the background of the next steps.
 *
 * In the background, a thread of its own reads the state where it lies and writes it while the
 * training goes on. Before the state changes (store_guard) this rank copies what was not read by
 * then into memory that was set aside before the first step. It copies all of it at once where the
 * host cannot read the device's memory, where one rank writes what others send it, and where nodes
 * write the state before the update. */
#ifndef TRAIN_STATE_SAVING_H
#define TRAIN_STATE_SAVING_H
#include "checkpoint/rehearsal.h"
#include "train/job.h"

typedef struct StateSaving StateSaving;

/* All ranks call it, when the store has its memory for the graph of the training. *updates is what
 * the optimizer has done so far, then and later. Free with state_saving_free, before the store. */
Error *state_saving_new(const TrainingJob *job, ParamStore *store, const Graph *graph,
                        float *updates, StateSaving **out);
/* Waits for a save that is being written, whose outcome is lost. NULL is allowed. */
void state_saving_free(StateSaving *s);
/* Bytes that a copy takes on this rank at most; 0: none is made. */
size_t state_saving_bytes(const StateSaving *s);
/* Bytes that the save which was begun last has copied so far. */
size_t state_saving_copied(const StateSaving *s);

/* Tries to save (checkpoint/rehearsal.h); `out` is filled on rank 0. All ranks call it. */
Error *state_saving_rehearse(StateSaving *s, const CheckpointTotals *first,
                             const CheckpointTotals *last, const char *progress,
                             RehearsedSize *out);
/* Saves the present state, on all ranks; is done on return. The error is that of this rank: silent
 * where another one has failed. */
Error *state_saving_save(StateSaving *s, const CheckpointTotals *totals, const char *progress);
/* Begins to write the present state, which may change by programs of the store. No other save may
 * be on its way. */
Error *state_saving_begin(StateSaving *s, const CheckpointTotals *totals, const char *progress);
/* Whether a save was begun and not finished; whether nothing of it is left to wait for here. */
bool state_saving_is_begun(const StateSaving *s);
bool state_saving_is_done(const StateSaving *s);
/* Waits for the save that was begun: its error, as of state_saving_save, and its steps. Every rank
 * comes to the same result. */
Error *state_saving_finish(StateSaving *s, int64_t *steps);
#endif
