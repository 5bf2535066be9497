/* ids.c - the growing list of token ids. */
#include "base/buffer.h"
#include "tokenizer/tokenizer.h"

uint32_t *ids_reserve(Ids *ids, int64_t more)
{
    if (ids->n + more > ids->cap) {
        Buffer b = { ids->id, (size_t)ids->cap * sizeof *ids->id };
        ids->id = buffer_grow(&b, (size_t)(ids->n + more) * sizeof *ids->id);
        ids->cap = (int64_t)(b.cap / sizeof *ids->id);
    }
    return ids->n ? ids->id + ids->n : ids->id; /* which may be NULL */
}

void ids_add(Ids *ids, uint32_t id)
{
    *ids_reserve(ids, 1) = id;
    ids->n++;
}

void ids_free(Ids *ids)
{
    Buffer b = { ids->id, (size_t)ids->cap * sizeof *ids->id };
    buffer_free(&b);
    *ids = (Ids){ 0 };
}
