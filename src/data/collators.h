/* collators.h - the collators, as plain C calls. */
#ifndef DATA_COLLATORS_H
#define DATA_COLLATORS_H
#include "data/data.h"

/* Inputs [n, L - 1] under sample_key and targets [n, L - 1], one token later, under target_key. */
Collator *gpt2_collator_new(Arena *a, const char *sample_key, const char *target_key);
#endif
