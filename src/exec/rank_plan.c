/* rank_plan.c - sums over the store, the memory plan and the nodes of a program. */
#include "exec/rank_plan.h"
#include "comm/groups.h"
#include "exec/program_parts.h"
#include "graph/split.h"
#include <inttypes.h>
#include <string.h>

static void add_stored(RankPlan *r, const ParamStore *s)
{
    size_t *const sum[] = { [VALUE_PARAM] = &r->parameters,
                            [VALUE_STATE] = &r->states,
                            [VALUE_RESULT] = &r->derived,
                            [VALUE_ACCUMULATOR] = &r->gradients };
    for (int64_t i = 0; i < store_count(s); i++)
        *sum[stored_accounted(store_at(s, i))] += tensor_bytes(&store_at(s, i)->tensor);
    r->halves = store_halves(s);
}

/* The share of a node's work that falls to this rank: one over the ranks along all axes that divide
 * its letters. */
static double share_of(const Node *n, const Mesh *mesh)
{
    unsigned axes = 0;
    for (int k = 0; mesh && k < n->n_in; k++)
        for (int d = 0; d < n->in[k]->n_dims; d++) {
            const uint8_t *of_dim = n->in[k]->dim[d].mesh;
            if (!n->dims->in[k].dim[d].n) continue;
            for (int i = 0; i < MAX_MESH_AXES && of_dim[i]; i++) axes |= 1u << of_dim[i];
        }
    return mesh ? 1 / (double)mesh_ranks_along(mesh, axes) : 1;
}

static Traffic *traffic_of(RankPlan *r, const Node *n)
{
    for (int64_t i = 0; i < r->n_traffic; i++)
        if (r->traffic[i].axes == n->axes && !strcmp(r->traffic[i].op, n->op->name))
            return &r->traffic[i];
    r->traffic[r->n_traffic] = (Traffic){ .op = n->op->name, .axes = n->axes };
    return &r->traffic[r->n_traffic++];
}

RankPlan program_rank_plan(const Program *p, Arena *a)
{
    RankPlan r = { .workspace = p->plan->bytes,
                   .host = p->plan->host_bytes,
                   .traffic = NEW_N(a, Traffic, p->n_steps) };
    add_stored(&r, p->settings.store);
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Node *n = p->step[i].node;
        bool is_repeated = n->phase >= FORWARD && n->phase <= BACKWARD_WEIGHT;
        int64_t times = is_repeated ? p->n_microbatches : 1;
        r.flops += node_flops(n) * share_of(n, p->graph->mesh) * (double)times;
        if (!n->op->sent || !n->axes) continue;
        Traffic *t = traffic_of(&r, n);
        t->n += times;
        t->bytes += n->op->sent(p->step[i].launch) * (double)times;
    }
    return r;
}

/* A fused head has its gradients in the forward pass. */
static bool has_gradients(const Node *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_ACCUMULATOR) return true;
    return false;
}

double program_needed_flops(const Program *p)
{
    double flops = 0;
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Node *n = p->step[i].node;
        if (n->phase != FORWARD) continue;
        flops += node_flops(n) * share_of(n, p->graph->mesh) * (has_gradients(n) ? 1 : 3);
    }
    return flops;
}

size_t rank_plan_bytes(const RankPlan *r)
{
    return r->parameters + r->gradients + r->states + r->derived + r->workspace;
}

static void print_line(const char *what, double bytes, FILE *to)
{
    char text[32];
    format_bytes(bytes, text);
    fprintf(to, "%12s  %s\n", text, what);
}

void rank_plan_print(const RankPlan *r, FILE *to)
{
    Arena *a = arena_new();
    print_line("parameters", (double)r->parameters, to);
    if (r->halves) print_line("of them " STORED_IN_HALVES, (double)r->halves, to);
    print_line("gradients", (double)r->gradients, to);
    print_line("optimizer states", (double)r->states, to);
    if (r->derived) print_line("copies and tables made from parameters", (double)r->derived, to);
    print_line("activations and scratch", (double)r->workspace, to);
    print_line("in all", (double)rank_plan_bytes(r), to);
    if (r->host) print_line("activations in host memory, besides", (double)r->host, to);
    fprintf(to, "%12.4g  FLOPs of matrix products per step\n", r->flops);
    for (int64_t i = 0; i < r->n_traffic; i++) {
        const Traffic *t = &r->traffic[i];
        print_line(arena_printf(a, "sent per step by %" PRId64 " %s over %s", t->n, t->op,
                                mesh_axes_text(a, t->axes)),
                   t->bytes, to);
    }
    arena_free(a);
}
