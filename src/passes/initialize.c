/* initialize.c - gives every parameter the rule for its first content. */
#include "models/initializer.h"
#include "passes/passes.h"

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    const Initializer *i = settings; /* NULL: as constructed */
    initialize_by_construction(g);
    return i ? i->apply(i, g) : NULL;
}

const PassDef pass_initialize = {
    .name = "initialize",
    .doc = "gives every parameter the rule for its first content",
    .order = ORDER_INITIALIZE,
    .run = run,
};
