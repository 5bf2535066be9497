/* stored.c - views of a store's tensors, without errors. */
#include "stored.h"
#include "test.h"

Tensor stored_view(Arena *a, ParamStore *s, const Stored *x)
{
    Tensor view;
    assert_no_error(store_view(s, &x->tensor, true, a, &view));
    return view;
}

void stored_put(ParamStore *s, const Stored *x, const Tensor *view)
{
    assert_no_error(store_put(s, &x->tensor, view));
}
