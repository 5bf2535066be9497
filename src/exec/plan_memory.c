/* plan_memory.c - lifetimes from the timeline, then offsets. */
#include "exec/plan_memory.h"
#include "graph/op.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

static int by_size(const void *a, const void *b)
{
    const Block *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes) return (*x)->bytes < (*y)->bytes ? 1 : -1;
    const Span *p = (*x)->span, *q = (*y)->span;
    if (p->moment != q->moment) return p->moment < q->moment ? -1 : 1;
    return p->from < q->from ? -1 : p->from > q->from;
}

static bool are_alive_together(const Block *a, const Block *b)
{
    for (int64_t i = 0, j = 0; i < a->n_spans && j < b->n_spans;) {
        const Span *p = &a->span[i], *q = &b->span[j];
        if (p->moment == q->moment && p->from <= q->to && q->from <= p->to) return true;
        if (p->moment < q->moment || (p->moment == q->moment && p->to < q->to))
            i++;
        else
            j++;
    }
    return false;
}

/* A block that has its place, with what decides most questions about it: where it lies, and when it
 * begins to be alive and ends. */
typedef struct Placed {
    int64_t offset, end;
    int64_t first, last;
    const Block *block;
} Placed;

static int64_t order_in_time(int64_t moment, int64_t at)
{
    enum { BITS = 32 };
    const int64_t most = ((int64_t)1 << BITS) - 1;
    return moment << BITS | (at < most - 1 ? at + 1 : most);
}

static Placed placed_of(const Block *b)
{
    Placed p = { .offset = b->offset,
                 .end = b->offset + (int64_t)b->bytes,
                 .first = 1, /* never alive */
                 .block = b };
    if (!b->n_spans) return p;
    const Span *first = &b->span[0], *last = &b->span[b->n_spans - 1];
    p.first = order_in_time(first->moment, first->from);
    p.last = order_in_time(last->moment, last->to);
    return p;
}

/* `placed` is sorted by offset; the new block goes into the lowest gap among those alive with it.
 */
static int64_t lowest_gap(const Placed *placed, int64_t n, const Block *b)
{
    const Placed new = placed_of(b);
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const Placed *p = &placed[i];
        if (p->end <= at || p->first > new.last || p->last < new.first) continue;
        if (!are_alive_together(p->block, b)) continue;
        if (p->offset >= at + (int64_t)b->bytes) break;
        at = p->end;
    }
    return at;
}

static void insert_by_offset(Placed *placed, int64_t n, const Block *b)
{
    int64_t from = 0, to = n;
    while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        if (placed[middle].offset > b->offset)
            to = middle;
        else
            from = middle + 1;
    }
    memmove(&placed[to + 1], &placed[to], sizeof *placed * (size_t)(n - to));
    placed[to] = placed_of(b);
}

size_t place_blocks(Block *block, int64_t n)
{
    Arena *a = arena_new();
    Block **order = NEW_N(a, Block *, n);
    Placed *placed = NEW_N(a, Placed, n);
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

/* While a plan is made. */
typedef struct Planner {
    Arena *arena, *scratch; /* of the plan; of what is computed for one value */
    const Graph *g;
    const Timeline *t;
    int64_t *made;       /* by value id: the node that makes it, -1: none */
    int64_t *last;       /* [value id][stage][phase]: the last node that touches it; -1: none */
    bool *is_output;     /* by value id */
    int64_t *done_by;    /* by node: when it is known to be finished by all that come later */
    bool prepares_ahead; /* PREPARE runs with UPDATE, too */
    MemoryPlan *plan;
    int64_t **answer; /* by block: where its offset goes */
    int64_t cap_blocks;
} Planner;

static const Value *root_of(const Value *v)
{
    int64_t offset;
    return value_storage(v, &offset);
}

static bool is_planned(const Value *v)
{
    return v->kind == VALUE_INPUT || (v->kind == VALUE_RESULT && v->from->phase != PREPARE);
}

static bool is_of_step(const Value *v)
{
    return v->from && (v->from->phase == REDUCE || v->from->phase == UPDATE);
}

static int64_t *last_of(const Planner *p, int id, int stage, Phase phase)
{
    return &p->last[((int64_t)id * p->t->n_stages + stage) * N_PHASES + phase];
}

/* Whether one runs in every moment in which the other does. */
static bool runs_with(const Node *later, const Node *n)
{
    bool same =
        later->phase == n->phase || (later->phase == BACKWARD_WEIGHT && n->phase == BACKWARD_LAST);
    return same && later->stage == n->stage;
}

/* A node on a queue of its own is finished where the computation first waits for it, or for one
 * that comes later on that queue, at the latest with its action. */
static int64_t finished_by(const Graph *g, int64_t i)
{
    const Node *n = g->node[i];
    if (!n->stream) return i;
    for (int64_t j = i + 1; j < g->n_nodes; j++) {
        const Node *later = g->node[j];
        if (later->stream || !runs_with(later, n)) continue;
        if (nodes_conflict(later, n)) return j;
    }
    return WHOLE_MOMENT;
}

static void touch(Planner *p, const Value *v, const Node *n, int64_t until)
{
    int64_t *last = last_of(p, root_of(v)->id, n->stage, n->phase);
    if (until > *last) *last = until;
}

static void find_ends(Planner *p)
{
    const Graph *g = p->g;
    p->done_by = NEW_N(p->arena, int64_t, g->n_nodes);
    for (int64_t i = g->n_nodes - 1; i >= 0; i--) {
        const Node *n = g->node[i];
        p->done_by[i] = finished_by(g, i);
        for (int64_t j = i + 1; n->stream && j < g->n_nodes; j++) {
            if (g->node[j]->stream != n->stream || !runs_with(g->node[j], n)) continue;
            if (p->done_by[j] < p->done_by[i]) p->done_by[i] = p->done_by[j];
            break;
        }
    }
}

static void find_uses(Planner *p)
{
    const Graph *g = p->g;
    int64_t n_last = g->n_values * p->t->n_stages * N_PHASES;
    p->made = NEW_N(p->arena, int64_t, g->n_values);
    p->last = NEW_N(p->arena, int64_t, n_last);
    p->is_output = NEW_N(p->arena, bool, g->n_values);
    find_ends(p);
    for (int64_t i = 0; i < g->n_values; i++) p->made[i] = -1;
    for (int64_t i = 0; i < n_last; i++) p->last[i] = -1;
    for (int64_t i = 0; i < g->n_outputs; i++) p->is_output[root_of(g->output[i].value)->id] = true;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        p->prepares_ahead |= n->phase == PREPARE && n->stream;
        for (int k = 0; k < n->n_out; k++) {
            int id = root_of(n->out[k])->id;
            if (p->made[id] < 0) p->made[id] = i;
            touch(p, n->out[k], n, p->done_by[i]);
        }
        for (int k = 0; k < n->n_in; k++) touch(p, n->in[k], n, p->done_by[i]);
    }
}

/* Whether something that has not run before this moment, nor does in it, still needs the value. */
static bool is_awaited(const Planner *p, const Value *v, const Moment *m, int slot)
{
    if (p->is_output[v->id]) return true;
    for (int stage = 0; stage < p->t->n_stages; stage++)
        for (int phase = FORWARD; phase < N_PHASES; phase++)
            if (*last_of(p, v->id, stage, (Phase)phase) >= 0 &&
                !(timeline_done(p->t, m, slot, stage) >> phase & 1) &&
                !timeline_runs(p->t, m, slot, (Phase)phase, stage))
                return true;
    return false;
}

static int64_t last_in_moment(const Planner *p, const Value *v, const Moment *m, int slot)
{
    int64_t last = -1;
    for (int stage = 0; stage < p->t->n_stages; stage++)
        for (int phase = FORWARD; phase < N_PHASES; phase++) {
            int64_t at = *last_of(p, v->id, stage, (Phase)phase);
            if (at > last && timeline_runs(p->t, m, slot, (Phase)phase, stage)) last = at;
        }
    return last;
}

/* When a slot's copy of a value is alive in a moment; false: not at all. */
static bool alive_in(const Planner *p, const Value *v, int64_t moment, int slot, Span *out)
{
    const Moment *m = &p->t->moment[moment];
    *out = (Span){ .moment = moment, .from = -1, .to = WHOLE_MOMENT };
    if (v->kind == VALUE_INPUT) return true;
    const Node *from = v->from;
    CHECK(from != NULL);
    bool is_made_now = timeline_runs(p->t, m, slot, from->phase, from->stage);
    bool is_there = timeline_done(p->t, m, slot, from->stage) >> from->phase & 1;
    if (!is_made_now && !is_there) return false;
    if (is_made_now) out->from = p->made[v->id];
    if (is_awaited(p, v, m, slot)) return true;
    out->to = last_in_moment(p, v, m, slot);
    return out->to >= 0;
}

static void add_block(Planner *p, int64_t *answer, Block b)
{
    MemoryPlan *m = p->plan;
    if (!b.bytes || !b.n_spans) return;
    b.span = arena_copy(p->arena, b.span, sizeof *b.span * (size_t)b.n_spans);
    int64_t n = m->n_blocks, cap = p->cap_blocks;
    m->block = arena_grow(p->arena, m->block, n, &cap, sizeof *m->block);
    p->answer = arena_grow(p->arena, p->answer, n, &p->cap_blocks, sizeof *p->answer);
    p->answer[n] = answer;
    m->block[m->n_blocks++] = b;
}

/* The spans of a value in the slots [first, end). */
static int64_t find_spans(const Planner *p, const Value *v, int first, int end, Span *out)
{
    int64_t n = 0;
    for (int64_t m = 0; m < p->t->n; m++)
        for (int slot = first; slot < end; slot++)
            if (alive_in(p, v, m, slot, &out[n])) n++;
    return n;
}

/* Whether a slot's copy is alive only while its own microbatch runs. */
static bool is_local(const Planner *p, const Value *v)
{
    Span span;
    for (int64_t m = 0; m < p->t->n; m++)
        for (int slot = 0; slot < p->t->n_slots; slot++)
            if (p->t->moment[m].slot != slot && alive_in(p, v, m, slot, &span)) return false;
    return true;
}

/* What lives within actions only has one place for all slots, other values have one per slot. */
static void add_value(Planner *p, const Value *v, size_t bytes)
{
    const Timeline *t = p->t;
    Span *span = NEW_N(p->scratch, Span, t->n);
    Block b = {
        .bytes = bytes, .span = span, .what = v->from ? v->from->op->name : v->name, .value = v
    };
    int64_t *answer = p->plan->offset + v->id, n_values = p->g->n_values;
    if (is_of_step(v)) {
        b.n_spans = find_spans(p, v, t->n_slots, t->n_slots + 1, span);
        add_block(p, answer + t->n_slots * n_values, b);
    } else if (is_local(p, v)) {
        b.n_spans = find_spans(p, v, 0, t->n_slots, span);
        add_block(p, answer, b);
    } else {
        for (int slot = 0; slot < t->n_slots; slot++) {
            b.n_spans = find_spans(p, v, slot, slot + 1, span);
            add_block(p, answer + slot * n_values, b);
        }
    }
    arena_clear(p->scratch);
}

static void add_scratch(Planner *p, int64_t i, size_t bytes)
{
    const Node *n = p->g->node[i];
    const Timeline *t = p->t;
    if (!bytes) return;
    Span *span = NEW_N(p->scratch, Span, t->n);
    int64_t n_spans = 0;
    for (int64_t m = 0; m < t->n; m++)
        if (n->phase == PREPARE &&
            (n->stream || (p->prepares_ahead && t->moment[m].phases & RUN_UPDATE)))
            span[n_spans++] = (Span){ m, -1, WHOLE_MOMENT }; /* see program_ahead.c */
        else if (n->phase == PREPARE
                     ? m == 0
                     : timeline_runs(t, &t->moment[m], t->moment[m].slot, n->phase, n->stage))
            span[n_spans++] = (Span){ m, i, p->done_by[i] };
    add_block(p, &p->plan->scratch[i],
              (Block){ .bytes = bytes, .span = span, .n_spans = n_spans, .what = n->op->name });
    arena_clear(p->scratch);
}

static int64_t *not_planned(Arena *a, int64_t n)
{
    int64_t *list = NEW_N(a, int64_t, n);
    for (int64_t i = 0; i < n; i++) list[i] = NOT_PLANNED;
    return list;
}

/* Slots that share a place got the answer in the first. */
static void share_answers(const Planner *p)
{
    int64_t n = p->g->n_values, *offset = p->plan->offset;
    for (int slot = 1; slot < p->t->n_slots; slot++)
        for (int64_t i = 0; i < n; i++)
            if (offset[slot * n + i] == NOT_PLANNED && !is_of_step(p->g->value[i]))
                offset[slot * n + i] = offset[i];
}

static bool lies_on_host(const Block *b)
{
    return b->value && b->value->on_host;
}

/* Those of the host last; returns how many are the device's. */
static int64_t put_host_last(Planner *p, int64_t n)
{
    Block *block = NEW_N(p->scratch, Block, n);
    int64_t **answer = NEW_N(p->scratch, int64_t *, n), at = 0, n_device = 0;
    for (int on_host = 0; on_host < 2; on_host++) {
        for (int64_t i = 0; i < n; i++) {
            if (lies_on_host(&p->plan->block[i]) != on_host) continue;
            answer[at] = p->answer[i];
            block[at++] = p->plan->block[i];
        }
        if (!on_host) n_device = at;
    }
    for (int64_t i = 0; i < n; i++) {
        p->plan->block[i] = block[i];
        p->answer[i] = answer[i];
    }
    return n_device;
}

MemoryPlan *plan_memory(Arena *a, const Graph *g, const Timeline *t, const MemoryNeeds *needs)
{
    MemoryPlan *m = NEW(a, MemoryPlan);
    Planner p = { .arena = a, .scratch = arena_new(), .g = g, .t = t, .plan = m };
    m->offset = not_planned(a, (t->n_slots + 1) * g->n_values);
    m->scratch = not_planned(a, g->n_nodes);
    m->extra = not_planned(a, needs->n_extra);
    find_uses(&p);
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        bool is_there = v->kind == VALUE_INPUT || p.made[i] >= 0;
        if (is_there && root_of(v) == v && is_planned(v))
            add_value(&p, v, needs->bytes_of(needs->ctx, v));
    }
    for (int64_t i = 0; i < g->n_nodes; i++) add_scratch(&p, i, needs->scratch_of(needs->ctx, i));
    Span *throughout = NEW_N(a, Span, t->n);
    for (int64_t i = 0; i < t->n; i++) throughout[i] = (Span){ i, -1, WHOLE_MOMENT };
    for (int i = 0; i < needs->n_extra; i++)
        add_block(&p, &m->extra[i],
                  (Block){ .bytes = needs->extra[i],
                           .span = throughout,
                           .n_spans = t->n,
                           .what = needs->extra_name[i] });
    const int64_t n = m->n_blocks;
    CHECK(p.answer != NULL || !n);
    m->n_blocks = put_host_last(&p, n);
    m->bytes = place_blocks(m->block, m->n_blocks);
    m->host_bytes = place_blocks(m->block + m->n_blocks, n - m->n_blocks);
    for (int64_t i = 0; i < n; i++) *p.answer[i] = m->block[i].offset;
    share_answers(&p);
    arena_free(p.scratch);
    return m;
}

static bool is_alive_at(const Block *b, int64_t moment, int64_t node)
{
    for (int64_t i = 0; i < b->n_spans; i++)
        if (b->span[i].moment == moment && b->span[i].from <= node && node <= b->span[i].to)
            return true;
    return false;
}

/* Where a block begins or ends to be alive; the spans of all blocks are counted on. */
typedef struct Edge {
    int64_t moment, node, span;
    bool ends;
    size_t bytes;
} Edge;

static int by_time(const void *x, const void *y)
{
    const Edge *a = x, *b = y;
    if (a->moment != b->moment) return a->moment < b->moment ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (a->ends != b->ends) return a->ends ? 1 : -1; /* alive up to the end of a node */
    return (a->span > b->span) - (a->span < b->span);
}

static int64_t edges_of(const MemoryPlan *m, Arena *a, Edge **out)
{
    int64_t n = 0, n_spans = 0;
    for (int64_t i = 0; i < m->n_blocks; i++) n_spans += m->block[i].n_spans;
    Edge *edge = *out = NEW_N(a, Edge, 2 * n_spans);
    for (int64_t i = 0; i < m->n_blocks; i++)
        for (int64_t k = 0; k < m->block[i].n_spans; k++, n += 2) {
            const Span *s = &m->block[i].span[k];
            edge[n] = (Edge){ s->moment, s->from, n, false, m->block[i].bytes };
            edge[n + 1] = (Edge){ s->moment, s->to, n, true, m->block[i].bytes };
        }
    qsort(edge, (size_t)n, sizeof *edge, by_time);
    return n;
}

/* Something always begins at a peak; of equal ones, that of the first block is taken. */
static Edge peak_of(const MemoryPlan *m, Arena *a)
{
    Edge *edge, peak = { 0 };
    const int64_t n = edges_of(m, a, &edge);
    size_t bytes = 0, most = 0;
    for (int64_t i = 0, first = 0; i < n; i++) {
        const Edge *e = &edge[i], *next = i + 1 < n ? e + 1 : NULL;
        if (e->ends) {
            bytes -= e->bytes;
            first = i + 1;
            continue;
        }
        bytes += e->bytes;
        if (next && !next->ends && next->moment == e->moment && next->node == e->node) continue;
        if (bytes > most || (bytes == most && edge[first].span < peak.span)) peak = edge[first];
        if (bytes > most) most = bytes;
        first = i + 1;
    }
    return peak;
}

/* The blocks that are alive when most bytes are. */
static int64_t alive_at_peak(const MemoryPlan *m, Arena *a, const Block **out)
{
    const Edge peak = peak_of(m, a);
    int64_t n = 0;
    for (int64_t i = 0; i < m->n_blocks; i++)
        if (is_alive_at(&m->block[i], peak.moment, peak.node)) out[n++] = &m->block[i];
    return n;
}

void memory_print(const MemoryPlan *m, int n, FILE *to)
{
    Arena *a = arena_new();
    const Block **alive = NEW_N(a, const Block *, m->n_blocks);
    int64_t n_alive = alive_at_peak(m, a, alive);
    size_t rest = 0;
    char text[32];
    qsort(alive, (size_t)n_alive, sizeof *alive, by_size);
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
