/* async_tensor.c - async tensor parallelism: products and their transfers over tp become one node.
 *
 * An all_gather and the products that read it become a gather_contract, a sum of products and its
 * reduce_scatter a contract_scatter (ops/contract_pieces.h): rows are multiplied while others
 * travel. A gathering with readers of several phases goes with those of its own; the others read
 * what it brought together. Numbers change by rounding alone. */
#include "models/model.h"
#include "ops/collective.h"
#include "ops/contract.h"
#include "ops/contract_pieces.h"
#include "ops/elementwise.h"
#include "passes/all_passes.h"
#include "passes/fuse.h"
#include "passes/shard.h"
#include <string.h>

/* A transfer and the products that become one node with it, at one place of the list. */
typedef struct Group {
    int64_t transfer, place;
    int64_t product[MOST_PRODUCTS];
    int n;
} Group;

typedef struct Rewrite {
    Graph *g;
    Node **old;
    int64_t n_old;
    const int64_t *uses;
    int64_t *place_of; /* by value: the node that makes it; -1: none */
    bool *is_taken;    /* by node */
    Group *group;      /* by place; n 0: none */
} Rewrite;

static bool is_over_tp(const Node *n, const OpDef *op)
{
    return n->op == op && n->axes == 1u << MESH_TP;
}

static bool belongs_to(const Node *n, const Node *transfer)
{
    return n->op == &op_contract && n->phase == transfer->phase && n->block == transfer->block &&
           n->stage == transfer->stage && n->stream == transfer->stream;
}

static bool has(Value *const *list, int n, const Value *v)
{
    for (int k = 0; k < n; k++)
        if (list[k] == v) return true;
    return false;
}

static bool reads_result_of(const Node *n, const Node *from)
{
    for (int k = 0; k < from->n_out; k++)
        if (has(n->in, n->n_in, from->out[k])) return true;
    return false;
}

/* Whether two neighbours may change places. */
static bool may_pass(const Node *a, const Node *b)
{
    return !nodes_conflict(a, b) && !reads_result_of(a, b) && !reads_result_of(b, a);
}

/* Whether node `at` may go to `place`, if those of the group go with it. */
static bool may_move(const Rewrite *w, const Group *group, int64_t at, int64_t place)
{
    const int64_t from = at < place ? at + 1 : place, to = at < place ? place : at - 1;
    for (int64_t k = from; k <= to; k++) {
        bool goes_along = k == group->transfer || k == at;
        for (int i = 0; i < group->n; i++) goes_along |= k == group->product[i];
        if (!goes_along && !may_pass(w->old[k], w->old[at])) return false;
    }
    return true;
}

/* The letter's place in an operand, or -1. */
static int dim_of(const Operand *o, int slot)
{
    for (int d = 0; d < o->n_dims; d++)
        if (o->dim[d].slot[0] == slot) return d;
    return -1;
}

/* Which factor of a product this value is; -1: none, or both. */
static int factor_of(const Node *product, const Value *v)
{
    const bool first = product->in[0] == v, second = product->in[1] == v;
    return first == second ? -1 : second;
}

/* A product that lacks the divided letter is a sum of those of the pieces, as exact as its dtype.
 */
static bool is_made_of_rows(const Node *product, int factor, int dim)
{
    const int slot = product->dims->in[factor].dim[dim].slot[0];
    return dim_of(&product->dims->out[0], slot) >= 0;
}

static bool may_be_gathered(const Node *product, int factor, int dim)
{
    const Value *y = product->out[0];
    if (is_made_of_rows(product, factor, dim)) return y->kind == VALUE_RESULT;
    return y->dtype == F32 || y->dtype == F64;
}

/* The products that can be made where a gathering goes to `place`. */
static Group gather_at(const Rewrite *w, int64_t i, int64_t place)
{
    const Node *gather = w->old[i];
    const Value *x = gather->out[0];
    Group group = { .transfer = i, .place = place };
    for (int64_t k = i + 1; k < w->n_old; k++) {
        const Node *n = w->old[k];
        if (w->is_taken[k] || !belongs_to(n, gather) || !has(n->in, n->n_in, x)) continue;
        const int factor = factor_of(n, x);
        if (group.n == MOST_PRODUCTS || factor < 0) continue;
        if (!may_be_gathered(n, factor, collective_dim(gather))) continue;
        bool is_again = false; /* written twice: one after the other */
        for (int m = 0; m < group.n; m++) is_again |= w->old[group.product[m]]->out[0] == n->out[0];
        if (is_again || !may_move(w, &group, k, place)) continue;
        group.product[group.n++] = k;
    }
    if (!may_move(w, &group, i, place)) group.n = 0;
    return group;
}

/* The last product of the gathering's phase, or the gathering itself. */
static int64_t last_reader(const Rewrite *w, int64_t i)
{
    int64_t last = i;
    for (int64_t k = i + 1; k < w->n_old; k++)
        if (belongs_to(w->old[k], w->old[i]) && has(w->old[k]->in, 2, w->old[i]->out[0])) last = k;
    return last;
}

static Group find_gather(const Rewrite *w, int64_t i)
{
    const Dim *d = &w->old[i]->out[0]->dim[collective_dim(w->old[i])];
    if (d->is_padded || w->old[i]->in[0]->dim[collective_dim(w->old[i])].is_padded)
        return (Group){ 0 };
    const Group first = gather_at(w, i, i), last = gather_at(w, i, last_reader(w, i));
    return last.n > first.n ? last : first;
}

/* The products whose sum a value is, in their order; false: it is something else, too. */
static bool add_terms(const Rewrite *w, const Node *transfer, const Value *v, Group *group)
{
    const int64_t at = w->place_of[v->id];
    if (v->kind != VALUE_RESULT || w->uses[v->id] != 1 || w->is_taken[at]) return false;
    const Node *n = w->old[at];
    if (v->dtype != transfer->out[0]->dtype || n->phase != transfer->phase) return false;
    if (n->op->flags & OP_SUM && n->n_in == 2 && n->n_out == 1)
        return add_terms(w, transfer, n->in[0], group) && add_terms(w, transfer, n->in[1], group);
    if (!belongs_to(n, transfer) || group->n == MOST_PRODUCTS) return false;
    group->product[group->n++] = at;
    return true;
}

static Group find_scatter(const Rewrite *w, int64_t i)
{
    const Node *scatter = w->old[i];
    const Value *y = scatter->out[0];
    Group group = { .transfer = i, .place = i };
    if ((y->dtype != F32 && y->dtype != F64) || y->dim[collective_dim(scatter)].is_padded ||
        !add_terms(w, scatter, scatter->in[0], &group))
        return (Group){ 0 };
    for (int k = 0; k < group.n; k++) {
        const Node *n = w->old[group.product[k]];
        for (int64_t between = group.product[k] + 1; between < i; between++)
            if (!has(w->old[between]->in, w->old[between]->n_in, n->out[0]) &&
                nodes_conflict(w->old[between], n))
                return (Group){ 0 };
    }
    return group;
}

/* ---- one node of several ---- */

/* Letters of a new node: `of_slot` those of one product's slots, 0: none yet. */
typedef struct Letters {
    char next, of_slot[N_SLOTS];
} Letters;

static void begin(Letters *l, const Operand *shared)
{
    memset(l->of_slot, 0, sizeof l->of_slot);
    for (int d = 0; d < shared->n_dims; d++) l->of_slot[shared->dim[d].slot[0]] = (char)('a' + d);
}

static const char *letters_of(Arena *a, Letters *l, const Operand *o)
{
    char text[MAX_DIMS + 1] = { 0 };
    for (int d = 0; d < o->n_dims; d++) {
        char *letter = &l->of_slot[o->dim[d].slot[0]];
        if (!*letter) *letter = l->next++;
        text[d] = *letter;
    }
    CHECK(l->next <= 'z' + 1);
    return arena_string(a, text);
}

static void append(Rewrite *w, const OpDef *op, const char *in_text, const char *out_text,
                   const Pieces *attrs, int n_in, Value *const *in, int n_out, Value *const *out,
                   const Node *transfer, const Node *of_module)
{
    Graph *g = w->g;
    const char *dims = arena_printf(g->arena, "%s->%s", in_text, out_text);
    Node *n = graph_add_into(graph_from(g, HERE), op, dims, NULL, attrs, n_in, in, n_out, out);
    n->axes = transfer->axes;
    n->phase = transfer->phase;
    n->block = transfer->block;
    n->stage = transfer->stage;
    n->stream = transfer->stream;
    n->module = of_module->module;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_RESULT) n->out[k]->from = n;
}

static void append_gather(Rewrite *w, const Group *group)
{
    Graph *g = w->g;
    const Node *gather = w->old[group->transfer];
    Value *x = gather->out[0], *in[1 + MOST_PRODUCTS] = { gather->in[0] }, *out[1 + MOST_PRODUCTS];
    Pieces attrs = { .dim = collective_dim(gather), .wire = (int)F32 };
    Letters l = { .next = (char)('a' + x->n_dims) };
    const char *in_text = NULL, *out_text = "";
    for (int k = 0; k < group->n; k++) {
        const Node *n = w->old[group->product[k]];
        const int factor = factor_of(n, x);
        CHECK(factor >= 0);
        begin(&l, &n->dims->in[factor]);
        const char *of_x = letters_of(g->arena, &l, &n->dims->in[factor]);
        in_text = arena_printf(g->arena, "%s,%s", in_text ? in_text : of_x,
                               letters_of(g->arena, &l, &n->dims->in[!factor]));
        out_text = arena_printf(g->arena, "%s%s%s", out_text, k ? "," : "",
                                letters_of(g->arena, &l, &n->dims->out[0]));
        attrs.second |= (int64_t)factor << k;
        in[1 + k] = n->in[!factor];
        out[k] = n->out[0];
    }
    const bool is_read = w->uses[x->id] > group->n;
    CHECK(in_text != NULL); /* a group has products */
    if (is_read) {
        const char *comma = strchr(in_text, ',');
        out_text = arena_printf(g->arena, "%s,%.*s", out_text, (int)(comma - in_text), in_text);
        out[group->n] = x;
    }
    append(w, &op_gather_contract, in_text, out_text, &attrs, 1 + group->n, in, group->n + is_read,
           out, gather, w->old[group->product[0]]);
}

static void append_scatter(Rewrite *w, const Group *group)
{
    Graph *g = w->g;
    const Node *scatter = w->old[group->transfer];
    Value *y = scatter->out[0], *in[2 * MOST_PRODUCTS];
    const Pieces attrs = { .dim = collective_dim(scatter), .wire = (int)collective_wire(scatter) };
    Letters l = { .next = (char)('a' + y->n_dims) };
    const char *in_text = "", *out_text = "";
    for (int k = 0; k < group->n; k++) {
        const Node *n = w->old[group->product[k]];
        begin(&l, &n->dims->out[0]);
        out_text = letters_of(g->arena, &l, &n->dims->out[0]);
        for (int i = 0; i < 2; i++) {
            in_text = arena_printf(g->arena, "%s%s%s", in_text, k || i ? "," : "",
                                   letters_of(g->arena, &l, &n->dims->in[i]));
            in[2 * k + i] = n->in[i];
        }
    }
    append(w, &op_contract_scatter, in_text, out_text, &attrs, 2 * group->n, in, 1, &y, scatter,
           w->old[group->product[0]]);
}

static void take_group(Rewrite *w, const Group *group)
{
    if (!group->n) return;
    w->group[group->place] = *group;
    w->is_taken[group->transfer] = true;
    for (int k = 0; k < group->n; k++) w->is_taken[group->product[k]] = true;
}

static Rewrite rewrite_of(Graph *g)
{
    Rewrite w = { .g = g, .n_old = g->n_nodes, .uses = fuse_count_uses(g) };
    w.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    w.place_of = NEW_N(g->arena, int64_t, g->n_values);
    w.is_taken = NEW_N(g->arena, bool, g->n_nodes);
    w.group = NEW_N(g->arena, Group, g->n_nodes);
    for (int64_t v = 0; v < g->n_values; v++) w.place_of[v] = -1;
    for (int64_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i]->n_out; k++) w.place_of[g->node[i]->out[k]->id] = i;
    return w;
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    Rewrite w = rewrite_of(g);
    for (int64_t i = 0; i < w.n_old; i++) {
        Group group = { 0 };
        if (is_over_tp(w.old[i], &op_all_gather)) group = find_gather(&w, i);
        if (is_over_tp(w.old[i], &op_reduce_scatter)) group = find_scatter(&w, i);
        take_group(&w, &group);
    }
    g->n_nodes = 0;
    for (int64_t i = 0; i < w.n_old; i++) {
        const Group *group = &w.group[i];
        if (!w.is_taken[i]) graph_keep(g, w.old[i]);
        if (group->n && w.old[group->transfer]->op == &op_all_gather) append_gather(&w, group);
        if (group->n && w.old[group->transfer]->op == &op_reduce_scatter) append_scatter(&w, group);
    }
    graph_prune(g); /* additions that became part of a contract_scatter */
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    (void)settings;
    return p->mesh && p->mesh->size[MESH_TP] > 1 && p->model->sharding && p->model->sharding->async;
}

const PassDef pass_async_tensor = {
    .name = "async_tensor",
    .doc = "makes products in pieces, while others travel over tp",
    .run = run,
    .wanted = wanted,
};
