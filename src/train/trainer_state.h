/* trainer_state.h - where a training stands, for the files that trainer.c is made of. */
#ifndef TRAIN_TRAINER_STATE_H
#define TRAIN_TRAINER_STATE_H
#include "train/checkpoint_samples.h"
#include "train/expert_load.h"
#include "train/optimizer_step.h"
#include "train/pace.h"
#include "train/session.h"
#include "train/shown_rates.h"
#include "train/state_saving.h"

typedef struct Trainer {
    Arena *arena;
    const TrainingJob *job;
    Session *session;
    OptimizerStep step;
    StateSaving *saving;
    SampleWriter *samples;
    int64_t steps, tokens; /* done, earlier runs included */
    Window window;
    Pace pace;
    int64_t loader_position; /* of the next batch */
    bool is_evaluated;       /* nothing is due that is not done */
    int64_t saved_steps;     /* of the newest checkpoint of this run; -1: none */
    int stop;                /* the signal that any rank got, as far as all know; 0: none */
    bool data_ended;         /* on any rank: there is no further step */
    ShownRates rates;
    ExpertLoad load;
    const char *ahead_name[MAX_AHEAD + 1]; /* as in TrainingNumbers */
    double ahead[MAX_AHEAD];
} Trainer;

/* Whether a step is one of every so many. */
bool trainer_is_due(int64_t step, int64_t every);

/* ---- trainer_results.c ---- */

/* Tells the observer of the step that was done. */
void trainer_report_step(const Trainer *t);
/* Its progress, and results where they are due. */
Error *trainer_publish(Trainer *t);
/* The number of parameters. */
Error *trainer_publish_fact(const Trainer *t);
/* What the plan takes, what will be slow, and the progress before the first step. */
Error *trainer_publish_start(Trainer *t);

/* ---- trainer_saves.c ---- */

/* The one point of a step at which the ranks hear of each other: of errors, of signals, that there
 * are no further data, and that a save is safe. */
Error *trainer_agree(Trainer *t, Error *mine);
/* Before the first step: tries what the first checkpoint needs, and tells what is to come. */
Error *trainer_open_saving(Trainer *t);
/* For the one that is on its way in the background. */
Error *trainer_wait_for_save(Trainer *t);
Error *trainer_save_if_due(Trainer *t);
/* Before the target is reached: what was learnt is kept, whatever the intervals. */
Error *trainer_save_early(Trainer *t);
#endif
