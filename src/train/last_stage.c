/* last_stage.c - the rank that has the last stage tells the others of its pipeline. */
#include "train/last_stage.h"
#include "models/model.h"
#include "passes/pipeline.h"

/* The ranks that share the model, and which of them has the last stage; NULL: all layers are here.
 * They talk about memory of the host, whatever computes. */
static Comm *pipeline_of(Session *s, int *last)
{
    Groups *g = session_groups(s);
    const Pipeline *p = session_model(s)->pipeline;
    if (!g || !p || groups_mesh(g)->size[MESH_PP] == 1) return NULL;
    *last = 0;
    while (mesh_coordinate(groups_mesh(g), MESH_PP, *last) != p->cut.rank_of[p->stages.n - 1])
        ++*last;
    return groups_world(g);
}

Error *last_stage_logits(Session *s, Program *p, Arena *a, Tensor *out)
{
    int last = 0;
    Comm *c = pipeline_of(s, &last);
    Tensor t = { 0 };
    if (!c || c->rank == last) t = *program_output(p, "logits", 0);
    t.data = NULL;
    if (c) TRY(c->broadcast(c, &t, sizeof t, last, NULL));
    for (int d = 0; d < t.n_dims; d++) CHECK(!t.part[d]); /* outputs are whole */
    t.data = arena_alloc(a, tensor_bytes(&t));
    *out = t;
    return NULL;
}

Error *last_stage_read(Session *s, Program *p, const Tensor *logits, void *data)
{
    int last = 0;
    Comm *c = pipeline_of(s, &last);
    if (!c || c->rank == last) TRY(program_read(p, "logits", 0, data));
    return c ? c->broadcast(c, data, tensor_bytes(logits), last, NULL) : NULL;
}
