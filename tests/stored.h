/* stored.h - a store's tensors for tests, whatever device they lie on. */
#ifndef TESTS_STORED_H
#define TESTS_STORED_H
#include "exec/store.h"

/* The tensor's numbers in host memory; what is changed there counts only after stored_put. */
Tensor stored_view(Arena *a, ParamStore *s, const Stored *x);
void stored_put(ParamStore *s, const Stored *x, const Tensor *view);
#endif
