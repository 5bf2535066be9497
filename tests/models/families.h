/* families.h - tiny models of Hugging Face's families. */
#ifndef TESTS_MODELS_FAMILIES_H
#define TESTS_MODELS_FAMILIES_H
#include "models/decoder.h"

int n_tiny_families(void);
/* With inputs and outputs by the names that tests use. */
const Decoder *tiny_family(Arena *a, int i);
/* That whose blocks have this class; there must be one. */
Decoder tiny_family_of(Arena *a, const char *block_class);
#endif
