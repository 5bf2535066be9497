/* state.h - the bridge between a store and checkpoints: which tensors make up the state of a run.
 */
#ifndef TRAIN_STATE_H
#define TRAIN_STATE_H
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"
#include "exec/store.h"
#include "models/hf/config.h"

/* Parameters as app.model.<name>, what an optimizer keeps of them as
 * app.optimizer.state.<name>.<state>, and for each a scalar ....step that is *steps; caches are
 * left out. The arena owns the list; the numbers stay where they are. `with_optimizer` false:
 * parameters only. */
StateTensor *state_of_store(Arena *a, const ParamStore *s, bool with_optimizer, float *steps,
                            int64_t *n);
/* Fills parameters (and states) from any checkpoint; the store is marked as changed. With
 * `with_optimizer` *steps receives the number of updates done. Names that only one of the two has
 * are an error, but for the optimizer's where they are not wanted; so is damage to any part of the
 * checkpoint. With `comm` all its ranks call it and share the reading (checkpoint/load_shared.h).
 */
Error *state_load(ParamStore *s, const char *path, Comm *comm, bool with_optimizer, float *steps);
/* The same for what the optimizer keeps, alone. */
Error *state_load_optimizer(ParamStore *s, const char *path, Comm *comm, float *steps);
/* What these would refuse of a checkpoint by names and sizes, which needs no memory for tensors:
 * the store's programs may be planned only. */
typedef enum StateParts { STATE_OF_MODEL, STATE_OF_OPTIMIZER, STATE_OF_BOTH } StateParts;
Error *state_check(const ParamStore *s, const char *path, StateParts parts);
/* Fills the parameters from the folder of a Hugging Face model. */
Error *state_load_hf(ParamStore *s, const HfModel *m);
/* The same of what state_load_hf would refuse. */
Error *state_check_hf(const ParamStore *s, const HfModel *m);
/* An error when the checkpoint says that it has seen other numbers of steps or tokens than
 * training_progress of the configuration. */
Error *state_check_progress(const char *path, int64_t seen_steps, int64_t seen_tokens);
#endif
