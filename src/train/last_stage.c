/* last_stage.c - the rank that has the last stage tells the others of its pipeline. */
#include "train/last_stage.h"
#include "models/model.h"
#include "passes/pipeline.h"

/* NULL: all layers are here. */
static Error *pipeline_of(Session *s, Comm **out, int *last)
{
    Groups *g = session_groups(s);
    const Pipeline *p = session_model(s)->pipeline;
    *out = NULL;
    if (!g || !p || groups_mesh(g)->size[MESH_PP] == 1) return NULL;
    *last = p->cut.rank_of[p->stages.n - 1];
    TRY(groups_get(g, 1u << MESH_PP, STREAM_COMPUTE, out));
    (*out)->origin = NULL; /* no node makes these calls */
    return NULL;
}

Error *last_stage_logits(Session *s, Program *p, Arena *a, Tensor *out)
{
    Comm *c;
    int last = 0;
    Tensor t = { 0 };
    TRY(pipeline_of(s, &c, &last));
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
    Comm *c;
    int last = 0;
    TRY(pipeline_of(s, &c, &last));
    if (!c || c->rank == last) TRY(program_read(p, "logits", 0, data));
    return c ? c->broadcast(c, data, tensor_bytes(logits), last, NULL) : NULL;
}
