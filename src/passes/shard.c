/* shard.c - one walk over the nodes: chooses the split of every letter, brings operands to it. */
#include "graph/op.h"
#include "graph/split.h"
#include "models/model.h"
#include "ops/attention.h"
#include "ops/attention_ring.h"
#include "passes/all_passes.h"
#include "passes/fuse.h"
#include "passes/shard_parts.h"
#include <string.h>

/* Axes that other inputs are split over, and stay so, in dimensions of the first. */
static unsigned axes_beside(const Node *n)
{
    unsigned axes = 0;
    for (int k = 1; k < n->n_in && !(n->op->flags & OP_ROWS); k++)
        for (int d = 0; d < n->in[k]->n_dims; d++) {
            const DimRef *ref = &n->dims->in[k].dim[d];
            const uint8_t *mesh = n->in[k]->dim[d].mesh;
            if (!ref->n || n->dims->whole[ref->slot[0]]) continue;
            if (!dims_uses(&n->dims->in[0], ref->slot[0])) continue;
            for (int i = 0; i < MAX_MESH_AXES && mesh[i]; i++) axes |= 1u << mesh[i];
        }
    return axes;
}

/* What may stay outstanding in the inputs of a node. Sums are added up before they are settled
 * where nobody else needs them: the gradients of the products that share an input. A residual
 * stream, which others read, too, is settled at once and stays split. Where numbers beside the only
 * input that may owe a sum are those of other tokens on each rank, it is settled to these tokens.
 */
static unsigned allowed_partial(const Sharder *s, const Node *n)
{
    unsigned all = ~0u;
    if (!(n->op->flags & OP_LINEAR) || n->op->flags & OP_MATMUL || !n->n_in) return 0;
    if (!(n->op->flags & OP_SUM))
        return n->in[0]->reduce == REDUCE_SUM ? n->in[0]->partial & ~axes_beside(n) : 0;
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = n->in[k];
        bool is_shared = v->id < s->n_values && s->uses[v->id] > 1;
        all &= v->reduce == REDUCE_SUM && !is_shared ? v->partial : 0;
    }
    return all;
}

/* Of that, what may stay in input k: a product with numbers of the first alone owes sums. */
static unsigned partial_of(const Node *n, int k, unsigned partial)
{
    return k == 0 || n->op->flags & OP_SUM ? partial : 0;
}

/* What is written in place has its split. */
static void take_written(const Node *n, Want *of_slot, unsigned *used)
{
    for (int k = 0; k < n->n_out; k++) {
        const Value *v = n->out[k];
        for (int d = 0; v->kind != VALUE_RESULT && d < v->n_dims; d++) {
            const Dim *x = &v->dim[d];
            if (!x->mesh[0] || !n->dims->out[k].dim[d].n) continue;
            Want *w = &of_slot[n->dims->out[k].dim[d].slot[0]];
            memcpy(w->mesh, x->mesh, sizeof w->mesh);
            w->layout = x->layout;
            w->is_padded = x->is_padded;
            for (int i = 0; i < MAX_MESH_AXES && x->mesh[i]; i++) *used |= 1u << x->mesh[i];
        }
    }
}

static bool is_of_input(const Node *n, int slot)
{
    for (int k = 0; k < n->n_in; k++)
        if (dims_uses(&n->dims->in[k], slot)) return true;
    return false;
}

/* Rows that a node makes anew are made where those of the parameter are whose gradient they are (an
 * embedding's), from the tokens of all ranks: these are fewer bytes than the table. */
static void take_made(const Node *n, unsigned *used)
{
    for (int k = 0; k < n->n_out; k++) {
        const Value *of = n->out[k]->grad_of;
        for (int d = 0; of && d < of->n_dims && d < n->dims->out[k].n_dims; d++) {
            const DimRef *ref = &n->dims->out[k].dim[d];
            if (ref->n != 1 || is_of_input(n, ref->slot[0]) || !of->dim[d].mesh[0]) continue;
            Dim *x = &n->out[k]->dim[d];
            memcpy(x->mesh, of->dim[d].mesh, sizeof x->mesh);
            x->layout = of->dim[d].layout;
            x->is_padded = of->dim[d].is_padded;
            for (int i = 0; i < MAX_MESH_AXES && x->mesh[i]; i++) *used |= 1u << x->mesh[i];
        }
    }
}

static bool divides(const Sharder *s, const Dim *d, const Want *w, MeshAxis axis)
{
    int64_t n = s->mesh->size[axis];
    for (int i = 0; i < MAX_MESH_AXES && w->mesh[i]; i++) n *= s->mesh->size[w->mesh[i]];
    return d->is_padded || d->size / (d->granule ? d->granule : 1) % n == 0;
}

/* A dimension that a node makes anew, and that has a name, is made by the ranks of its rule: heads
 * that are repeated for them. */
static void take_new(const Sharder *s, const Node *n, const Rule *r, unsigned *used)
{
    const Want none = { 0 };
    for (int k = 0; k < n->n_out; k++)
        for (int d = 0; d < n->dims->out[k].n_dims; d++) {
            const DimRef *ref = &n->dims->out[k].dim[d];
            Dim *x = &n->out[k]->dim[d];
            if (*used >> r->mesh & 1 || n->out[k]->kind != VALUE_RESULT || ref->n != 1) continue;
            if (!x->axis || strcmp(x->axis, r->axis) || is_of_input(n, ref->slot[0])) continue;
            if (x->mesh[0] || !divides(s, x, &none, r->mesh)) continue;
            dim_divide(x, r->mesh);
            *used |= 1u << r->mesh;
        }
}

static void add_want(const Sharder *s, Want *w, const Dim *from, MeshAxis axis)
{
    int n = shard_n_axes(w->mesh);
    w->mesh[n] = (uint8_t)axis;
    if (axis == MESH_CP) w->layout = s->s->layout;
    if (shard_has_axis(from->mesh, axis)) w->is_padded = from->is_padded;
}

/* Heads have an axis that is the tokens', after attention with all tokens of some heads. */
static bool is_elsewhere(const Value *v, MeshAxis axis)
{
    for (int d = 0; axis == MESH_CP && d < v->n_dims; d++)
        if (shard_has_axis(v->dim[d].mesh, axis)) return true;
    return false;
}

/* In attention ranks along cp get heads for tokens. A selective scan has none. */
static Error *take_heads(const Sharder *s, const Node *n, Want *of_slot, unsigned *used)
{
    if (!(n->op->flags & OP_ATTENTION) || !s->s->context || s->s->method != CONTEXT_ULYSSES ||
        s->mesh->size[MESH_CP] == 1 || *used >> MESH_CP & 1 || n->in[1]->n_dims < 4)
        return NULL;
    const int heads = n->dims->in[1].dim[2].slot[0]; /* keys are [b t g d] */
    const Dim *x = &n->in[1]->dim[2];
    int64_t ranks = s->mesh->size[MESH_CP] * (s->s->tensor ? s->mesh->size[MESH_TP] : 1);
    if (x->size % ranks)
        return error_new("%lld heads of keys do not divide among %lld ranks of cp and tp, as "
                         "context parallelism by heads (ulysses) needs",
                         (long long)x->size, (long long)ranks);
    add_want(s, &of_slot[heads], x, MESH_CP);
    of_slot[heads].layout = CONTIGUOUS;
    *used |= 1u << MESH_CP;
    return NULL;
}

/* Dims in which a letter need not be whole. */
static const char *without_marks(Arena *a, const char *text, char letter)
{
    char *made = arena_string(a, text), *to = made;
    for (const char *at = text; *at; at++)
        if (*at != '!' || at == text || at[-1] != letter) *to++ = *at;
    *to = 0;
    return made;
}

/* In attention keys stay where they are and go round: their tokens are split as the queries'. */
static void take_ring(const Sharder *s, Node *n, Want *of_slot)
{
    const bool is_forward = n->op == &op_attention, is_grad = n->op == &op_attention_grad;
    if ((!is_forward && !is_grad) || s->s->method != CONTEXT_RING) return;
    const Dim *keys = &n->in[1]->dim[1];
    const int slot = n->dims->in[1].dim[1].slot[0];
    if (!shard_has_axis(keys->mesh, MESH_CP) || !shard_has_axis(n->in[0]->dim[1].mesh, MESH_CP))
        return;
    DimSpec *dims = arena_copy(s->g->arena, n->dims, sizeof *dims);
    dims->whole[slot] = false;
    dims->text = without_marks(s->g->arena, dims->text, 't');
    n->dims = dims;
    n->op = is_forward ? &op_ring_attention : &op_ring_attention_grad;
    n->source = HERE;
    add_want(s, &of_slot[slot], keys, MESH_CP);
}

/* The gradient of a parameter adds up tokens that all ranks along cp have: each adds up its own, as
 * the gradients of other parameters do. */
static bool adds_tokens(const Node *n, MeshAxis axis, int slot)
{
    if (axis != MESH_CP || n->n_out != 1 || !n->out[0]->grad_of) return false;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->partial >> MESH_CP & 1) return false;
    return n->out[0]->grad_of->kind == VALUE_PARAM && !dims_uses(&n->dims->out[0], slot);
}

/* A dimension takes an axis of its rule if an input is split over it there already, or owes a sum
 * over it, which then costs half. */
static void take_rule(const Sharder *s, const Node *n, const Rule *r, unsigned partial,
                      Want *of_slot, unsigned *used)
{
    if (n->op->flags & OP_ROWS && r->mesh == MESH_TP) return;
    for (int k = 0; k < n->n_in; k++)
        for (int d = 0; d < n->in[k]->n_dims; d++) {
            const Dim *x = &n->in[k]->dim[d];
            const DimRef *ref = &n->dims->in[k].dim[d];
            if (*used >> r->mesh & 1 || !ref->n || !x->axis || strcmp(x->axis, r->axis)) continue;
            bool owes = n->in[k]->partial & ~partial_of(n, k, partial) & 1u << r->mesh;
            Want *w = &of_slot[ref->slot[0]];
            if (!shard_has_axis(x->mesh, r->mesh) && !owes && !is_elsewhere(n->in[k], r->mesh) &&
                !adds_tokens(n, r->mesh, ref->slot[0]))
                continue;
            if (n->dims->whole[ref->slot[0]] || !divides(s, x, w, r->mesh)) continue;
            add_want(s, w, x, r->mesh);
            *used |= 1u << r->mesh;
        }
}

static Error *shard_node(Sharder *s, Node *n)
{
    Graph *g = s->g;
    Want of_slot[N_SLOTS];
    unsigned partial = allowed_partial(s, n), used = 0;
    memset(of_slot, 0, sizeof of_slot);
    s->user = n;
    take_written(n, of_slot, &used);
    take_made(n, &used);
    partial &= ~used;
    for (int i = 0; i < s->n_rules; i++) {
        if (s->rule[i]->mesh == MESH_CP) TRY(take_heads(s, n, of_slot, &used));
        if (s->rule[i]->mesh == MESH_CP) take_ring(s, n, of_slot);
        if (s->rule[i]->mesh == MESH_TP) take_new(s, n, s->rule[i], &used);
        take_rule(s, n, s->rule[i], partial, of_slot, &used);
    }
    partial &= ~used; /* another input may be split where the first one owes a sum */
    for (int k = 0; k < n->n_in && !n->op->spread; k++) {
        Want want[MAX_DIMS] = { 0 };
        for (int d = 0; d < n->in[k]->n_dims; d++)
            if (n->dims->in[k].dim[d].n) want[d] = of_slot[n->dims->in[k].dim[d].slot[0]];
        n->in[k] = shard_settle(s, n->in[k], partial_of(n, k, partial), want);
    }
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_ACCUMULATOR && n->n_in)
            n->out[k]->partial |= n->in[0]->partial;
    if (n->op->spread) n->op->spread(n);
    return error_wrap(split_infer(g->arena, n, s->mesh), "%s (block %d, %s)", n->op->name, n->block,
                      phase_name(n->phase));
}

/* The host reads outputs whole. */
static void settle_outputs(Sharder *s)
{
    const Want whole[MAX_DIMS] = { 0 };
    for (int64_t i = 0; i < s->g->n_outputs; i++) {
        Output *o = &s->g->output[i];
        if (!o->value->from) continue;
        s->user = o->value->from;
        o->value = shard_settle(s, o->value, 0, whole);
    }
}

static bool is_backward(const Node *n)
{
    return n->phase == BACKWARD_INPUT || n->phase == BACKWARD_WEIGHT;
}

static Error *run(Graph *g, const Mesh *mesh, const void *settings)
{
    const Sharding asked = sharding_of(settings, mesh);
    Sharder s = { .g = g, .mesh = mesh, .s = &asked };
    if (mesh->size[MESH_TP] > 1 && !asked.tensor)
        return error_new("tensor_parallel_degree is %lld, but nothing splits the model's matrices: "
                         "model.gpt2_tp does",
                         (long long)mesh->size[MESH_TP]);
    TRY(shard_leaves(&s));
    if (!s.n_rules) return NULL;
    s.uses = fuse_count_uses(g);
    s.n_values = g->n_values;
    int64_t n = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++) {
        if (is_backward(old[i]) && old[i]->block >= 0) s.moment = 1;
        TRY(shard_node(&s, old[i]));
    }
    settle_outputs(&s);
    g->phase = FORWARD;
    g->block = -1;
    return NULL;
}

Sharding sharding_of(const Model *m, const Mesh *mesh)
{
    if (m->sharding) return *m->sharding;
    return (
        Sharding){ .context = mesh->size[MESH_CP] > 1, .layout = ZIGZAG, .method = CONTEXT_RING };
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p->model;
    return p->mesh && p->mesh->world_size > 1;
}

const PassDef pass_shard = {
    .name = "shard",
    .doc = "splits dimensions over the ranks of tp and cp, puts in what they send each other",
    .run = run,
    .wanted = wanted,
};
