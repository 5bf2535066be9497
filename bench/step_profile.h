/* step_profile.h - where the time of a step goes. */
#ifndef BENCH_STEP_PROFILE_H
#define BENCH_STEP_PROFILE_H
#include "train/session.h"
#include <stdio.h>

/* Prints tables of the ops and modules of `n` steps of the session's program, which must not be run
 * after it. */
void bench_profile(Session *s, Program *p, int n, FILE *to);
#endif
