/* fuse_head.c - the head's loss and its gradients in one node, so that logits are computed once.
 *
 * That needs the gradient of the loss before the loss. In a training step it is made of the targets
 * and RunTime.loss_scale alone: those nodes are moved in front of the loss and become part of the
 * forward pass. Where it depends on the loss itself, nothing is changed. */
#include "base/arena.h"
#include "ops/collective.h"
#include "ops/head_loss.h"
#include "passes/fuse.h"

/* A head, by index of its nodes. */
typedef struct HeadPair {
    int64_t loss, grad;
} HeadPair;

static bool is_pair(const Node *loss, const Node *grad, const int64_t *uses)
{
    if (loss->op != &op_head_loss || grad->op != &op_head_loss_grad) return false;
    if (grad->in[3] != loss->out[1] || uses[loss->out[1]->id] != 1) return false;
    for (int k = 0; k < 3; k++)
        if (grad->in[k] != loss->in[k]) return false;
    return true;
}

static bool find_pair(const Graph *g, HeadPair *out)
{
    const int64_t *uses = fuse_count_uses(g);
    for (int64_t i = 0; i < g->n_nodes; i++)
        for (int64_t j = i + 1; g->node[i]->op == &op_head_loss && j < g->n_nodes; j++)
            if (is_pair(g->node[i], g->node[j], uses)) {
                *out = (HeadPair){ i, j };
                return true;
            }
    return false;
}

/* Marks the nodes after the loss that make `v`. False if they cannot go in front of it: when they
 * read the loss, or write something that stays. */
static bool mark_makers(const Graph *g, const HeadPair *p, const Value *v, bool *moves)
{
    bool *wanted = NEW_N(g->arena, bool, g->n_values);
    wanted[v->id] = true;
    for (int64_t i = p->grad - 1; i >= p->loss; i--) {
        const Node *n = g->node[i];
        bool makes = false;
        for (int k = 0; k < n->n_out; k++) makes |= wanted[n->out[k]->id];
        if (!makes) continue;
        if (i == p->loss || (n->op->flags & OP_COMM && n->op != &op_slice)) return false;
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k]->kind != VALUE_RESULT) return false;
        for (int k = 0; k < n->n_in; k++) wanted[n->in[k]->id] = true;
        moves[i] = true;
    }
    return true;
}

/* A node at the end of the list that writes what both nodes wrote. */
static Node *add_step(Graph *g, const Node *loss, const Node *grad)
{
    Node *step = head_step(g, loss->in[0], loss->in[1], loss->in[2], grad->in[4]);
    Value *const results[] = { loss->out[0], grad->out[0], grad->out[1] };
    for (int k = 0; k < 3; k++) {
        step->out[k] = results[k];
        if (results[k]->kind == VALUE_RESULT) results[k]->from = step;
    }
    step->phase = loss->phase;
    step->block = loss->block;
    step->stage = loss->stage;
    return step;
}

void fuse_head(Graph *g)
{
    HeadPair p;
    if (!find_pair(g, &p)) return;
    bool *moves = NEW_N(g->arena, bool, g->n_nodes);
    if (!mark_makers(g, &p, g->node[p.grad]->in[4], moves)) return;
    Node *step = add_step(g, g->node[p.loss], g->node[p.grad]);
    int64_t n = g->n_nodes - 1, at = 0;
    Node **old = arena_copy(g->arena, g->node, sizeof *old * (size_t)n);
    for (int64_t i = 0; i < p.loss; i++) g->node[at++] = old[i];
    for (int64_t i = p.loss; i < n; i++)
        if (moves[i]) {
            old[i]->phase = step->phase;
            g->node[at++] = old[i];
        }
    g->node[at++] = step;
    for (int64_t i = p.loss; i < n; i++)
        if (!moves[i] && i != p.loss && i != p.grad) g->node[at++] = old[i];
    g->n_nodes = at;
}
