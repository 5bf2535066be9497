/* plan_memory.c - lifetimes from the node list, then offsets. */
#include "passes/plan_memory.h"
#include "graph/op.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

static int by_size(const void *a, const void *b)
{
    const Block *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes) return (*x)->bytes < (*y)->bytes ? 1 : -1;
    return (*x)->from < (*y)->from ? -1 : (*x)->from > (*y)->from;
}

static int by_offset(const void *a, const void *b)
{
    const Block *const *x = a, *const *y = b;
    return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

/* `placed` is sorted by offset; the new block goes into the lowest gap among those alive with it.
 */
static int64_t lowest_gap(Block *const *placed, int64_t n, const Block *b)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const Block *p = placed[i];
        if (p->to < b->from || b->to < p->from) continue;
        if (p->offset >= at + (int64_t)b->bytes) break;
        if (p->offset + (int64_t)p->bytes > at) at = p->offset + (int64_t)p->bytes;
    }
    return at;
}

static void insert_by_offset(Block **placed, int64_t n, Block *b)
{
    int64_t i = n;
    for (; i > 0 && by_offset(&placed[i - 1], &b) > 0; i--) placed[i] = placed[i - 1];
    placed[i] = b;
}

size_t place_blocks(Block *block, int64_t n)
{
    Arena *a = arena_new();
    Block **order = NEW_N(a, Block *, n), **placed = NEW_N(a, Block *, n);
    size_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        block[i].bytes = (block[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
        order[i] = &block[i];
    }
    if (n) qsort(order, (size_t)n, sizeof *order, by_size);
    for (int64_t i = 0; i < n; i++) {
        Block *b = order[i];
        b->offset = lowest_gap(placed, i, b);
        insert_by_offset(placed, i, b);
        if ((size_t)b->offset + b->bytes > total) total = (size_t)b->offset + b->bytes;
    }
    arena_free(a);
    return total;
}

const Value *value_storage(const Value *v)
{
    while (v->from && v->from->op->flags & OP_VIEW) v = v->from->in[0];
    return v;
}

static bool is_planned(const Value *v)
{
    return v->kind == VALUE_INPUT || (v->kind == VALUE_RESULT && v->from->phase != PREPARE);
}

/* The first and last node that touch each storage. */
static void find_lifetimes(const Graph *g, int64_t *from, int64_t *to)
{
    for (int64_t i = 0; i < g->n_values; i++) from[i] = to[i] = -1;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        for (int k = 0; k < n->n_out; k++) {
            int id = value_storage(n->out[k])->id;
            if (from[id] < 0) from[id] = i;
            to[id] = i;
        }
        for (int k = 0; k < n->n_in; k++) to[value_storage(n->in[k])->id] = i;
    }
    for (int64_t i = 0; i < g->n_values; i++) {
        if (g->value[i]->kind != VALUE_INPUT) continue;
        from[i] = 0;
        to[i] = g->n_nodes;
    }
    for (int64_t i = 0; i < g->n_outputs; i++)
        to[value_storage(g->output[i].value)->id] = g->n_nodes;
}

MemoryPlan *plan_memory(Arena *a, const Graph *g, size_t (*bytes_of)(void *ctx, const Value *v),
                        size_t (*scratch_of)(void *ctx, int64_t node), void *ctx)
{
    MemoryPlan *m = NEW(a, MemoryPlan);
    m->offset = NEW_N(a, int64_t, g->n_values);
    m->scratch = NEW_N(a, int64_t, g->n_nodes);
    m->block = NEW_N(a, Block, g->n_values + g->n_nodes);
    int64_t *from = NEW_N(a, int64_t, g->n_values), *to = NEW_N(a, int64_t, g->n_values);
    int64_t *owner = NEW_N(a, int64_t, g->n_values + g->n_nodes); /* value id, or -1 - node */
    find_lifetimes(g, from, to);
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        if (from[i] < 0 || value_storage(v) != v || !is_planned(v)) continue;
        owner[m->n_blocks] = i;
        m->block[m->n_blocks++] = (Block){ .bytes = bytes_of(ctx, v),
                                           .from = from[i],
                                           .to = to[i],
                                           .what = v->from ? v->from->op->name : v->name };
    }
    for (int64_t i = 0; i < g->n_nodes; i++) {
        size_t bytes = g->node[i]->phase == PREPARE || !(g->node[i]->op->flags & OP_VIEW)
                           ? scratch_of(ctx, i)
                           : 0;
        if (!bytes) continue;
        owner[m->n_blocks] = -1 - i;
        m->block[m->n_blocks++] =
            (Block){ .bytes = bytes, .from = i, .to = i, .what = g->node[i]->op->name };
    }
    m->bytes = place_blocks(m->block, m->n_blocks);
    for (int64_t i = 0; i < g->n_values; i++) m->offset[i] = NOT_PLANNED;
    for (int64_t i = 0; i < g->n_nodes; i++) m->scratch[i] = NOT_PLANNED;
    for (int64_t i = 0; i < m->n_blocks; i++) {
        if (owner[i] >= 0)
            m->offset[owner[i]] = m->block[i].offset;
        else
            m->scratch[-1 - owner[i]] = m->block[i].offset;
    }
    return m;
}

/* The moment at which most bytes are alive. */
static int64_t peak_moment(const MemoryPlan *m)
{
    int64_t best = 0;
    size_t most = 0;
    for (int64_t i = 0; i < m->n_blocks; i++) {
        int64_t t = m->block[i].from;
        size_t bytes = 0;
        for (int64_t j = 0; j < m->n_blocks; j++)
            if (m->block[j].from <= t && t <= m->block[j].to) bytes += m->block[j].bytes;
        if (bytes > most) {
            most = bytes;
            best = t;
        }
    }
    return best;
}

void memory_print(const MemoryPlan *m, int n, FILE *to)
{
    Arena *a = arena_new();
    const Block **alive = NEW_N(a, const Block *, m->n_blocks);
    int64_t t = peak_moment(m), n_alive = 0;
    size_t rest = 0;
    for (int64_t i = 0; i < m->n_blocks; i++)
        if (m->block[i].from <= t && t <= m->block[i].to) alive[n_alive++] = &m->block[i];
    qsort(alive, (size_t)n_alive, sizeof *alive, by_size);
    char text[32];
    for (int64_t i = 0; i < n_alive; i++) {
        if (i >= n) {
            rest += alive[i]->bytes;
            continue;
        }
        format_bytes((double)alive[i]->bytes, text);
        fprintf(to, "  %10s  %s\n", text, alive[i]->what);
    }
    format_bytes((double)rest, text);
    if (rest) fprintf(to, "  %10s  %lld smaller ones\n", text, (long long)n_alive - n);
    arena_free(a);
}
