/* stages.c - says of every node of the forward pass to which pipeline stage it belongs.
 *
 * Gradient nodes take the stage of what they are the gradient of (autodiff.c). What depends on
 * inputs alone, such as positions, is computed on every stage that needs it, since all ranks of a
 * pipeline get the same batch. */
#include "passes/stages.h"
#include "comm/mesh.h"
#include "graph/op.h"
#include "models/model.h"
#include "passes/all_passes.h"
#include "passes/pipeline.h"
#include <math.h>
#include <string.h>

Error *stages_by_weight(const int64_t *weight, int n, int n_stages, int *stage_of)
{
    int64_t total = 0, held = 0;
    int stage = 0;
    for (int i = 0; i < n; i++) total += weight[i];
    int64_t share = (total + n_stages - 1) / n_stages;
    for (int i = 0; i < n; i++) {
        if (weight[i] > share)
            return error_usage("part %d of the model counts for %lld blocks, but each of %d "
                               "pipeline stages takes %lld; allowed are fewer stages or a smaller "
                               "weight",
                               i, (long long)weight[i], n_stages, (long long)share);
        if (held + weight[i] > share) {
            stage++;
            held = 0;
        }
        stage_of[i] = stage;
        held += weight[i];
    }
    if (stage == n_stages - 1) return NULL;
    return error_usage("%d parts of the model that count for %lld blocks fill %d pipeline stages "
                       "of %lld, so that %d of %d would be empty",
                       n, (long long)total, stage + 1, (long long)share, n_stages - stage - 1,
                       n_stages);
}

/* best[s * (n + 1) + k]: the cost of the dearest of s + 1 stages that hold the first k parts. */
Error *stages_by_cost(const double *cost, int n, int n_stages, int *stage_of)
{
    if (n_stages > n)
        return error_usage("%d pipeline stages, but the model has only %d parts to give them",
                           n_stages, n);
    Arena *a = arena_new();
    double *best = NEW_N(a, double, n_stages *(n + 1)), *sum = NEW_N(a, double, n + 1);
    int *from = NEW_N(a, int, n_stages *(n + 1));
    for (int k = 0; k < n; k++) sum[k + 1] = sum[k] + cost[k];
    for (int k = 1; k <= n; k++) best[k] = sum[k];
    for (int s = 1; s < n_stages; s++)
        for (int k = s + 1; k <= n; k++) {
            double *least = &best[s * (n + 1) + k];
            *least = INFINITY;
            for (int j = s; j < k; j++) {
                double before = best[(s - 1) * (n + 1) + j], own = sum[k] - sum[j];
                double most = own > before ? own : before;
                if (most >= *least) continue;
                *least = most;
                from[s * (n + 1) + k] = j;
            }
        }
    for (int s = n_stages - 1, end = n; s >= 0; s--) {
        int first = s ? from[s * (n + 1) + end] : 0;
        for (int i = first; i < end; i++) stage_of[i] = s;
        end = first;
    }
    arena_free(a);
    return NULL;
}

typedef struct Cutter {
    Graph *g;
    const Stages *settings;
    int *part;     /* by node: which part of the model it belongs to */
    bool *is_free; /* by value id: made of inputs alone */
    StageParts parts;
    Value **copy; /* [value id][stage]: a free value on that stage */
    Node **old;
    int64_t n_old;
} Cutter;

static bool is_free(const Cutter *c, const Value *v)
{
    if (v->kind == VALUE_RESULT) return c->is_free[v->id];
    return v->kind == VALUE_INPUT;
}

static bool is_cut(const Node *n)
{
    return n->phase == FORWARD;
}

/* Blocks of one stack, in order; what follows from a block without being in one is the last part.
 */
static Error *find_parts(Cutter *c)
{
    const Graph *g = c->g;
    int *reach = NEW_N(g->arena, int, g->n_values); /* by value: the part that made it */
    c->parts.n = (int)g->n_blocks + 2;
    for (int64_t b = 0; b < g->n_blocks; b++)
        if (strcmp(g->place[b].stack, g->place[0].stack) || g->place[b].index != b)
            return error_usage("a pipeline needs a model of one stack of blocks; this one has %s "
                               "beside %s",
                               g->place[b].stack, g->place[0].stack);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (!is_cut(n)) {
            for (int k = 0; k < n->n_out; k++) c->is_free[n->out[k]->id] = n->phase == PREPARE;
            continue;
        }
        int latest = 0;
        bool only_inputs = true;
        for (int k = 0; k < n->n_in; k++) {
            only_inputs &= is_free(c, n->in[k]);
            if (reach[n->in[k]->id] > latest) latest = reach[n->in[k]->id];
        }
        c->part[i] = n->block >= 0 ? n->block + 1 : latest ? c->parts.n - 1 : 0;
        if (c->part[i] < latest)
            return error_new("%s of block %d needs what a later block makes", n->op->name,
                             n->block);
        for (int k = 0; k < n->n_out; k++) {
            c->is_free[n->out[k]->id] = only_inputs;
            reach[n->out[k]->id] = only_inputs ? 0 : c->part[i];
        }
    }
    return NULL;
}

static Error *cut_by_weight(Cutter *c)
{
    const Stages *s = c->settings;
    StageParts *p = &c->parts;
    int64_t *weight = NEW_N(c->g->arena, int64_t, p->n);
    for (int i = 0; i < p->n; i++) weight[i] = 1;
    weight[0] = s->input;
    weight[p->n - 1] = s->output;
    return stages_by_weight(weight, p->n, s->n, p->stage_of);
}

/* What a core of a CPU multiplies while it moves a byte (a GPU multiplies more): layers have much
 * beside their products, the head has little. */
static const double FLOPS_PER_BYTE = 20;

/* How long a node takes, in FLOPs. Whoever looks rows up in a parameter does not read all of it. */
static double node_cost(const Node *n)
{
    double bytes = 0;
    if (n->op->flags & OP_VIEW) return 0;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->kind != VALUE_PARAM || n->op->flags & OP_MATMUL)
            bytes += (double)value_bytes(n->in[k]);
    for (int k = 0; k < n->n_out; k++) bytes += (double)value_bytes(n->out[k]);
    return node_flops(n) + FLOPS_PER_BYTE * bytes;
}

static Error *give_stages(Cutter *c)
{
    const Stages *s = c->settings;
    StageParts *p = &c->parts;
    p->stage_of = NEW_N(c->g->arena, int, p->n);
    p->cost = NEW_N(c->g->arena, double, p->n);
    for (int64_t i = 0; i < c->g->n_nodes; i++)
        if (is_cut(c->g->node[i])) p->cost[c->part[i]] += node_cost(c->g->node[i]);
    if (s->kept &&
        s->kept->n >= p->n) { /* with fewer blocks, what follows them stays in its place */
        memcpy(p->stage_of, s->kept->stage_of, sizeof *p->stage_of * (size_t)p->n);
        p->stage_of[p->n - 1] = s->kept->stage_of[s->kept->n - 1];
        return NULL;
    }
    TRY(s->by_cost ? stages_by_cost(p->cost, p->n, s->n, p->stage_of) : cut_by_weight(c));
    if (!s->kept || s->kept->room < p->n) return NULL;
    s->kept->n = p->n;
    memcpy(s->kept->stage_of, p->stage_of, sizeof *p->stage_of * (size_t)p->n);
    return NULL;
}
static void keep(Graph *g, Node *n)
{
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
}

/* A free value as a stage has it; its nodes are added when the stage first asks. */
static Value *on_stage(Cutter *c, Value *v, int stage)
{
    if (v->kind != VALUE_RESULT || !c->is_free[v->id] || v->from->phase == PREPARE) return v;
    const int64_t at = (int64_t)v->id * c->settings->n + stage;
    if (c->copy[at]) return c->copy[at];
    Value **in = arena_copy(c->g->arena, v->from->in, sizeof *in * (size_t)v->from->n_in);
    for (int k = 0; k < v->from->n_in; k++) in[k] = on_stage(c, in[k], stage);
    const Node *from = v->from;
    Node *n = graph_copy_node(c->g, from);
    n->stage = stage;
    n->in = in;
    for (int k = 0; k < n->n_out; k++)
        c->copy[from->out[k]->id * c->settings->n + stage] = n->out[k];
    return c->copy[at];
}

static void place(Cutter *c, Node *n, int part)
{
    bool is_copied = n->n_out > 0;
    for (int k = 0; k < n->n_out; k++)
        is_copied &= n->out[k]->kind == VALUE_RESULT && c->is_free[n->out[k]->id];
    if (is_cut(n) && is_copied) return;
    if (is_cut(n)) {
        n->stage = c->parts.stage_of[part];
        for (int k = 0; k < n->n_in; k++) n->in[k] = on_stage(c, n->in[k], n->stage);
    }
    keep(c->g, n);
}

static Error *find(Cutter *c)
{
    Graph *g = c->g;
    c->part = NEW_N(g->arena, int, g->n_nodes);
    c->is_free = NEW_N(g->arena, bool, g->n_values);
    TRY(find_parts(c));
    return give_stages(c);
}

Error *stages_find(Graph *g, const Stages *s, StageParts *out)
{
    Cutter c = { .g = g, .settings = s };
    TRY(find(&c));
    *out = c.parts;
    return NULL;
}

static Error *run(Graph *g, const Mesh *mesh, const void *settings)
{
    (void)mesh;
    Cutter c = { .g = g, .settings = settings, .n_old = g->n_nodes };
    if (c.settings->n == 1) return NULL;
    c.copy = NEW_N(g->arena, Value *, g->n_values * c.settings->n);
    TRY(find(&c));
    c.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    g->n_nodes = 0;
    for (int64_t i = 0; i < c.n_old; i++) place(&c, c.old[i], c.part[i]);
    for (int64_t i = 0; i < g->n_outputs; i++)
        g->output[i].value = on_stage(&c, g->output[i].value, c.settings->n - 1);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    bool is_cut = p->model->pipeline && p->mesh && p->mesh->size[MESH_PP] > 1;
    if (is_cut) *settings = &p->model->pipeline->stages;
    return is_cut;
}

const PassDef pass_stages = {
    .name = "stages",
    .doc = "says to which stage of a pipeline the nodes belong",
    .run = run,
    .wanted = wanted,
};
