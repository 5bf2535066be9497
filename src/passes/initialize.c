/* initialize.c - gives every parameter the rule for its first content. */
#include "models/initializer.h"
#include "models/model.h"
#include "passes/all_passes.h"

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    const Initializer *i = settings; /* NULL: as the layers say */
    return i ? i->apply(i, g) : NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p->model->initializer;
    return true;
}

const PassDef pass_initialize = {
    .name = "initialize",
    .doc = "gives every parameter the rule for its first content",
    .run = run,
    .wanted = wanted,
};
