/* program_ahead.c - what the next step begins with, begun while this one updates.
 *
 * Parameters that ranks gather once per step are gathered as soon as they are updated, while others
 * still are, and while the host reads the next batch. Nobody waits for them but who reads them:
 * nodes of the next step by their streams, others through store_settle. */
#include "exec/program_parts.h"
#include <stdint.h>

static bool is_made_anew(const Node *n)
{
    return n->phase == PREPARE && !(n->op->flags & OP_VIEW);
}

/* The last update that step i has to come after; -1: none. */
static int64_t last_update_before(const Program *p, int64_t i)
{
    for (int64_t k = p->n_steps - 1; k >= 0; k--) {
        const Node *n = p->step[k].node;
        if (n->phase == UPDATE && nodes_conflict(p->step[i].node, n)) return k;
    }
    return -1;
}

void ahead_find(Program *p)
{
    bool is_wanted = false;
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Node *n = p->step[i].node;
        if (n->phase == UPDATE && n->stream) return; /* who would wait for it? */
        is_wanted |= n->phase == PREPARE && n->stream;
    }
    if (!is_wanted) return;
    p->ahead_after = NEW_N(p->arena, int64_t, p->n_steps);
    for (int64_t i = 0; i < p->n_steps; i++)
        if (is_made_anew(p->step[i].node)) p->ahead_after[i] = last_update_before(p, i);
}

/* In the order of the list, as ranks have to agree on it. */
static Error *begin(Program *p, int64_t *next, int64_t updated)
{
    for (; *next < p->n_steps; ++*next) {
        Step *s = &p->step[*next];
        if (!is_made_anew(s->node) || s->derived->is_constant) continue;
        if (p->ahead_after[*next] > updated) return NULL;
        TRY(program_run_step(p, s, p->timeline->n_slots));
    }
    return NULL;
}

/* The program's streams have done what it left under way. */
static Error *finish(void *program)
{
    Program *p = program;
    Device *d = p->settings.device;
    p->is_ahead = false;
    for (int i = 1; i < p->n_streams; i++) {
        if (!p->given[i]) continue;
        p->given[i] = NULL;
        TRY(d->synchronize(d, p->stream[i]));
        if (p->stream[i]->failed) return program_failure(p, p->stream[i]);
    }
    return NULL;
}

Error *ahead_update(Program *p, const Action *x, int slot)
{
    int64_t next = 0;
    for (int64_t i = 0; i < p->n_steps; i++) {
        if (!program_is_due(&p->step[i], x)) continue;
        TRY(program_run_step(p, &p->step[i], slot));
        TRY(begin(p, &next, i));
    }
    TRY(begin(p, &next, INT64_MAX));
    p->is_ahead = true;
    store_leave(p->settings.store, finish, p);
    return NULL;
}

void ahead_made(Program *p)
{
    for (int64_t i = 0; i < p->n_steps; i++)
        if (is_made_anew(p->step[i].node) && !p->step[i].derived->is_constant)
            p->step[i].derived->made_at = p->settings.store->version;
}

void ahead_joined(Program *p)
{
    if (p->is_ahead) store_leave(p->settings.store, NULL, NULL);
    p->is_ahead = false;
}
