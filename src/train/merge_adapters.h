/* merge_adapters.h - weights that are what weight and adapters were together. */
#ifndef TRAIN_MERGE_ADAPTERS_H
#define TRAIN_MERGE_ADAPTERS_H
#include "exec/store.h"
#include "passes/adapters.h"

/* Adds alpha / rank B A to every weight of the store that has adapters, which stay as they are:
 * they are to be left out from now on. */
Error *adapters_merge(ParamStore *s, const Adapters *by);
#endif
