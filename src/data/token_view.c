/* token_view.c - tokens of a .pbin file as a sample's tensor. */
#include "data/token_view.h"

Sample token_view(const Pbin *p, const char *name, int64_t first, int64_t n)
{
    CHECK(first >= 0 && first + n <= p->n_tokens);
    /* 4-byte ids are read as signed: one beyond 2^31 turns negative and fails the check of ids. */
    Dtype dtype = p->token_bytes == 1 ? U8 : p->token_bytes == 2 ? U16 : I32;
    Tensor t = { .data = (void *)(p->tokens + first * p->token_bytes),
                 .dtype = dtype,
                 .n_dims = 1,
                 .size = { n } };
    return (Sample){ .n = 1, .item = { { name, t } } };
}

void token_view_describe(const Pbin *p, int64_t index, int64_t first, int64_t n, Text *out)
{
    text_printf(out, "%s, sample %lld (tokens %lld to %lld)", p->path, (long long)index,
                (long long)first, (long long)(first + n - 1));
}
