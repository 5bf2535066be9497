/* units.c - to which unit of sharding a node belongs. */
#include "passes/units.h"
#include <string.h>

bool unit_is_same(const Unit *a, const Unit *b)
{
    return a->block == b->block && a->region == b->region && a->stage == b->stage &&
           a->pass == b->pass;
}

/* The first block of the unit that a block belongs to. */
static int first_block(const Graph *g, int block, int64_t blocks_per_unit)
{
    const BlockPlace *p = &g->place[block];
    int64_t first = p->index - p->index % blocks_per_unit;
    for (int b = 0; b < g->n_blocks; b++)
        if (g->place[b].index == first && !strcmp(g->place[b].stack, p->stack)) return b;
    return block;
}

static bool is_backward(const Node *n)
{
    return n->phase == BACKWARD_INPUT || n->phase == BACKWARD_WEIGHT;
}

const Unit *units_find(const Graph *g, int64_t blocks_per_unit)
{
    Unit *unit = NEW_N(g->arena, Unit, g->n_nodes);
    int region = 0;
    bool was_block = false;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        bool is_block = n->block >= 0;
        if (n->phase != PREPARE && is_block != was_block) {
            region++;
            was_block = is_block;
        }
        unit[i] = (Unit){ .block = is_block ? first_block(g, n->block, blocks_per_unit) : -1 };
        if (n->phase == PREPARE)
            unit[i].pass = UNIT_PREPARE;
        else if (is_block)
            unit[i].pass = is_backward(n) ? UNIT_BACKWARD : UNIT_FORWARD;
        else
            unit[i] = (Unit){ .block = -1, .region = region, .stage = n->stage };
    }
    return unit;
}
