/* program_stretches.c - where ranks talk during a step, it cannot be given to the device in one
 * (program_record.c), but what lies between their transfers can: stretches of the computation are
 * recorded when they come for the second time, and then given in one each.
 *
 * A stretch is a run of nodes on the first stream that neither talk to ranks nor, but for the
 * first, wait for other streams, nor, but for the last, are waited for. What differs from one time
 * to the next is read by the device, as in a recorded step. */
#include "base/log.h"
#include "exec/program_parts.h"

enum { LEAST_NODES = 3 };

struct Stretch {
    struct Stretch *next; /* of those that begin with the same node */
    unsigned phases;
    int slot;
    int64_t end;     /* the step after its last */
    void *recording; /* NULL: it has run node by node */
};

static bool has_updates(const Program *p)
{
    for (int64_t i = p->n_steps - 1; i >= 0; i--)
        if (p->step[i].node->phase == UPDATE) return true;
    return false;
}

bool stretches_are_wanted(const Program *p)
{
    return p->settings.groups && program_can_record(p) && has_updates(p);
}

static bool stays_here(const Node *n)
{
    return !n->stream && !n->axes && !(n->op->flags & (OP_COMM | OP_COPY));
}

int64_t stretch_end(const Program *p, const Action *x, int64_t first)
{
    int64_t end = first + 1, n = 0;
    for (int64_t i = first; i < p->n_steps; i++) {
        const Step *s = &p->step[i];
        if (!program_is_due(s, x)) continue;
        if (!stays_here(s->node) || (i > first && s->n_waits)) break;
        end = i + 1;
        n++;
        if (s->is_awaited) break;
    }
    return n < LEAST_NODES ? first + 1 : end;
}

static Stretch *find(Program *p, const Action *x, int slot, int64_t first, int64_t end,
                     bool *is_new)
{
    Step *s = &p->step[first];
    for (Stretch *r = s->stretch; r; r = r->next)
        if (r->phases == x->phases && r->slot == slot && r->end == end) {
            *is_new = false;
            return r;
        }
    Stretch *r = NEW(p->arena, Stretch);
    *r = (Stretch){ .next = s->stretch, .phases = x->phases, .slot = slot, .end = end };
    *is_new = true;
    return s->stretch = r;
}

static Error *run_nodes(Program *p, const Action *x, const Stretch *r, int64_t first)
{
    for (int64_t i = first; i < r->end; i++)
        if (program_is_due(&p->step[i], x)) TRY(program_start_step(p, &p->step[i], r->slot));
    return NULL;
}

/* What is recorded has not run. */
static Error *record(Program *p, const Action *x, Stretch *r, int64_t first)
{
    Device *d = p->settings.device;
    Error *e = d->record(d, p->stream[0]);
    if (!e) {
        Error *failed = run_nodes(p, x, r, first);
        e = d->record_end(d, p->stream[0], &r->recording);
        if (failed) error_free(e);
        if (failed) e = failed;
    }
    if (!e) return NULL;
    log_info("parts of steps are not recorded as graphs of CUDA: %s", error_text(e));
    error_free(e);
    stretches_forget(p);
    r->recording = NULL;
    p->cannot_record = true;
    return NULL;
}

Error *stretch_run(Program *p, const Action *x, int slot, int64_t first, int64_t end)
{
    Device *d = p->settings.device;
    bool is_new;
    Stretch *r = find(p, x, slot, first, end, &is_new);
    TRY(program_wait_for_others(p, &p->step[first], slot));
    if (!is_new && !r->recording) TRY(record(p, x, r, first));
    TRY(r->recording ? d->replay(d, r->recording, p->stream[0]) : run_nodes(p, x, r, first));
    Step *last = &p->step[end - 1];
    p->given[0] = last;
    return last->is_awaited ? d->mark(d, p->stream[0], &last->done) : NULL;
}

void stretches_forget(Program *p)
{
    Device *d = p->settings.device;
    for (int64_t i = 0; i < p->n_steps; i++) {
        for (Stretch *r = p->step[i].stretch; r; r = r->next)
            if (r->recording) d->recording_free(d, r->recording);
        p->step[i].stretch = NULL;
    }
}
