/* pass.c - lists of passes. */
#include "graph/pass.h"

void passes_add(PassList *list, const PassDef *pass, const void *settings)
{
    list->use = arena_grow(list->arena, list->use, list->n, &list->cap, sizeof *list->use);
    list->use[list->n++] = (PassUse){ pass, settings };
}
