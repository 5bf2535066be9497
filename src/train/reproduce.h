/* reproduce.h - `modalities reproduce`: the first steps of a run again, compared bit for bit. */
#ifndef TRAIN_REPRODUCE_H
#define TRAIN_REPRODUCE_H
#include "train/crew.h"
#include "train/run.h"

typedef struct ReproduceSettings {
    const char *folder; /* of the experiment */
    int64_t n_steps;    /* 0: all that were kept */
    const Crew *crew;
} ReproduceSettings;

/* Tells on stdout. An error where the steps part, with what differs from then, or where they cannot
 * be repeated. Nothing in the folder is changed. Every rank calls it. */
Error *training_reproduce(const Registry *r, const ReproduceSettings *s);
#endif
