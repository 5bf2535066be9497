/* pace.h - how long a training will take, told after its first steps. */
#ifndef TRAIN_PACE_H
#define TRAIN_PACE_H
#include "monitor/event.h"

/* The steps of this run so far; zero-initialise. */
typedef struct Pace {
    int64_t n;
    double begun, seconds;
} Pace;

/* Around what belongs to a step, its reading included; the last of them ends the step. After the
 * fifth one a notice tells what the steps that are left to do will take. */
void pace_begin(Pace *p);
void pace_pause(Pace *p);
Error *pace_end(Pace *p, int64_t n_left, Events *events);
#endif
