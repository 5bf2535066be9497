/* vocabulary.c - a vocabulary that ranks divide: the rows a rank has, and sums over the ranks. */
#include "ops/vocabulary.h"
#include "ops/collective_rows.h"

Vocabulary vocabulary_of(const Tensor *t, int dim)
{
    Vocabulary v = { .n = t->size[dim], .whole = global_size(t, dim) };
    if (!t->part[dim]) return v;
    CHECK(t->part[dim]->layout == CONTIGUOUS);
    v.first = global_index(t, dim, 0);
    if (v.n > v.whole - v.first) v.n = v.whole > v.first ? v.whole - v.first : 0;
    return v;
}

int vocabulary_reduce(const Launch *l, void *x, int64_t n, Dtype t, ReduceOp op)
{
    if (collective_size(l) == 1) return KERNEL_OK;
    collective_use(l);
    return collective_status(l->comm, l->comm->all_reduce(l->comm, x, n, t, op, l->stream));
}

double vocabulary_sent(const Launch *l, int64_t n_tokens)
{
    const double ranks = collective_size(l);
    return 2 * (ranks - 1) / ranks * (double)(n_tokens * VOCABULARY_TOKEN_BYTES);
}
