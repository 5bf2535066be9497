/* program_run.c - actions become launches on the device's streams. */
#include "base/clock.h"
#include "exec/program_times.h"
#include <math.h>
#include <string.h>

int program_slot(const Program *p, const Action *x)
{
    if (x->phases & RUN_STEP) return p->timeline->n_slots;
    CHECK(x->microbatch >= 0 && x->microbatch < p->n_microbatches);
    return p->timeline->slot_of[x->microbatch];
}

bool program_is_due(const Step *s, const Action *x)
{
    const Node *n = s->node;
    if (n->op->flags & OP_VIEW || n->phase == PREPARE || !(x->phases >> n->phase & 1)) return false;
    return x->phases & RUN_STEP || n->stage == x->stage;
}

const char *step_place(Arena *a, const Step *s)
{
    const Node *n = s->node;
    if (n->block < 0) return arena_printf(a, "%s (%s)", n->op->name, phase_name(n->phase));
    return arena_printf(a, "%s in block %d (%s)", n->op->name, n->block, phase_name(n->phase));
}

/* What the ranks do together failed; the group knows how. */
static Error *comm_failure(const Step *s, const Launch *l, const RunTime *now)
{
    Arena *a = arena_new();
    Error *e = l->comm->error;
    l->comm->error = NULL;
    e = error_wrap(e, "step %lld, microbatch %lld: %s over %s", (long long)now->step + 1,
                   (long long)now->microbatch, step_place(a, s), l->comm->label);
    arena_free(a);
    return e;
}

/* A device that has failed cannot tell any more; then as the host has it. */
static RunTime now_of(const Program *p, const Launch *l)
{
    RunTime now = *l->stream->now;
    if (l->stream->knows_when) {
        now.step = l->stream->step_failed;
        now.microbatch = l->stream->microbatch_failed;
        l->stream->knows_when = false;
        return now;
    }
    error_free(device_copy_now(p->settings.device, &now, l->now, sizeof now, p->stream[0]));
    return now;
}

static Error *failure(Program *p, const Step *s, const Launch *l, int status)
{
    const RunTime now = now_of(p, l);
    if (status == KERNEL_COMM) return comm_failure(s, l, &now);
    Arena *a = arena_new();
    const Device *d = p->settings.device;
    const char *reason = status == KERNEL_BAD_INDEX ? "an id or target lies outside of its table"
                         : status == KERNEL_OVERFLOW
                             ? "an expert is chosen by more tokens than its capacity"
                         : status >= KERNEL_OF_DEVICE && d->describe
                             ? arena_printf(a, "the kernel failed: %s", d->describe(d, status))
                             : arena_printf(a, "the kernel failed with status %d", status);
    Error *e = error_new("step %lld, microbatch %lld: %s: %s", (long long)now.step + 1,
                         (long long)now.microbatch, step_place(a, s), reason);
    arena_free(a);
    return e;
}

/* The copy in host memory stays as it is until the next time this microbatch runs something. */
Error *program_set_now(Program *p, const Action *x, const RunTime *now)
{
    Device *d = p->settings.device;
    bool is_step = x->phases & RUN_STEP;
    RunTime *kept = &p->now[p->turn][is_step ? p->n_microbatches : x->microbatch];
    *kept = *now;
    kept->microbatch = x->microbatch;
    for (int i = 0; i < p->n_streams; i++) p->stream[i]->now = kept;
    p->shown = NULL;
    if (p->is_replaying) return NULL;
    return d->copy(d, &p->slot_now[program_slot(p, x)], kept, sizeof *kept, p->stream[0]);
}

static Error *wait_for(Program *p, const Step *s, int slot, Stream *later, const StreamMark *m)
{
    Device *d = p->settings.device;
    const int of = slot < p->timeline->n_slots ? slot : 0; /* a step waits for its microbatches */
    const bool is_noted = p->times && later == p->stream[0];
    if (is_noted) TRY(times_begin_wait(p, s, step_launch(s, of)));
    TRY(d->wait(d, later, m));
    return is_noted ? times_end(p) : NULL;
}

/* A step on a further stream begins when the computation has come to its place. */
Error *program_wait_for_others(Program *p, const Step *s, int slot)
{
    Device *d = p->settings.device;
    Stream *own = p->stream[s->node->stream];
    if (s->node->stream) {
        StreamMark here = { 0 };
        Error *e = d->mark(d, p->stream[0], &here);
        if (!e) e = d->wait(d, own, &here);
        d->mark_free(d, &here);
        TRY(e);
    }
    for (int64_t i = 0; i < s->n_waits; i++) {
        const Step *other = &p->step[s->wait[i]];
        TRY(wait_for(p, other, slot, own, &other->done));
    }
    return NULL;
}

static Error *give_step(Program *p, const Step *s, Launch *l)
{
    Device *d = p->settings.device;
    if (s->node->op->flags & OP_COPY && !d->is_host)
        return d->copy(d, l->out[0].data, l->in[0].data, tensor_bytes(&l->out[0]), l->stream);
    Kernel *kernel = s->kernel;
    const Launch *given = p->times && !d->stamp ? times_launch(p, s, l, &kernel) : l;
    int status = d->launch(d, kernel, given);
    return status ? failure(p, s, l, status) : NULL;
}

Error *program_start_step(Program *p, const Step *s, int slot)
{
    Launch *l = step_launch(s, slot);
    if (!p->times || !p->settings.device->stamp) return give_step(p, s, l);
    TRY(times_begin(p, s, l));
    TRY(give_step(p, s, l));
    return times_end(p);
}

/* Whoever looks on sees each node's tensors as it left them. */
static Error *run_seen(Program *p, Step *s, int slot)
{
    const Launch *l = step_launch(s, slot);
    Device *d = p->settings.device;
    TRY(d->synchronize(d, l->stream));
    double start = clock_seconds();
    TRY(program_start_step(p, s, slot));
    if (s->is_awaited) TRY(d->mark(d, l->stream, &s->done));
    TRY(d->synchronize(d, l->stream));
    return p->hook(p->hook_ctx, s->node, l, clock_seconds() - start);
}

Error *program_run_step(Program *p, Step *s, int slot)
{
    Device *d = p->settings.device;
    Launch *l = step_launch(s, slot);
    if (p->n_streams > 1) TRY(program_wait_for_others(p, s, slot));
    if (p->hook) return run_seen(p, s, slot);
    TRY(program_start_step(p, s, slot));
    p->given[s->node->stream] = s;
    return s->is_awaited ? d->mark(d, l->stream, &s->done) : NULL;
}

static bool must_be_made(const Program *p, const Stored *x)
{
    return x->is_constant ? x->made_at == 0 : x->made_at != p->settings.store->version;
}

/* Derived values count as made when all their nodes ran: marked after the loop, since one value may
 * be the work of several nodes. */
Error *program_prepare(Program *p)
{
    for (int64_t i = 0; i < p->n_steps; i++) {
        Step *s = &p->step[i];
        if (s->node->phase != PREPARE || s->node->op->flags & OP_VIEW) continue;
        if (must_be_made(p, s->derived)) TRY(program_run_step(p, s, p->timeline->n_slots));
    }
    for (int64_t i = 0; i < p->n_steps; i++)
        if (p->step[i].derived) p->step[i].derived->made_at = p->settings.store->version;
    return NULL;
}

/* The computation goes on when all that the action gave to other streams is done. */
static Error *join_streams(Program *p, int slot)
{
    Device *d = p->settings.device;
    for (int i = 1; i < p->n_streams; i++) {
        StreamMark end = { 0 };
        if (!p->given[i]) continue;
        Error *e = d->mark(d, p->stream[i], &end);
        if (!e) e = wait_for(p, p->given[i], slot, p->stream[0], &end);
        p->given[i] = NULL;
        d->mark_free(d, &end);
        TRY(e);
    }
    ahead_joined(p);
    return NULL;
}

/* Keeps the scalars that the action made: their places may be another microbatch's soon. */
static Error *keep_readings(Program *p, const Action *x, int slot)
{
    Device *d = p->settings.device;
    for (int i = 0; i < p->n_readings; i++) {
        const Value *v = p->reading[i].value;
        const Node *n = v->from;
        if (!(x->phases >> n->phase & 1) || !(x->phases & RUN_STEP || n->stage == x->stage))
            continue;
        int64_t m = x->phases & RUN_STEP ? 0 : x->microbatch;
        const Tensor *t = &p->tensor[slot * p->graph->n_values + v->id];
        TRY(d->copy(d, &p->cell[i * p->n_microbatches + m], t->data, dtype_size(t->dtype),
                    p->stream[0]));
    }
    return NULL;
}

/* All numbers that tell whether an update is good. */
static Error *gate(Program *p, int slot)
{
    Device *d = p->settings.device;
    Tensor list[2];
    int n = 0;
    for (int i = 0; i < p->n_readings; i++) {
        const Reading *r = &p->reading[i];
        const bool is_loss = !strcmp(r->name, "loss_mean");
        if (!is_loss && strcmp(r->name, "grad_norm") != 0) continue;
        list[n++] = (Tensor){ .dtype = r->value->dtype,
                              .data = &p->cell[i * p->n_microbatches],
                              .n_dims = 1,
                              .size = { is_loss ? p->n_microbatches : 1 } };
    }
    return d->gate(d, &p->slot_now[slot], &p->cell[program_cells(p) - 1], list, n, p->stream[0]);
}

static Error *begin_update(Program *p, int slot, const RunTime *now)
{
    TRY(store_before_change(p->settings.store));
    return now->is_gated ? gate(p, slot) : NULL;
}

/* The readings of a step go to the host at its end, whoever waits for them then or later. */
static Error *tell_readings(Program *p)
{
    Device *d = p->settings.device;
    const size_t bytes = sizeof(double) * (size_t)program_cells(p);
    TRY(d->copy(d, p->read[p->turn], p->cell, bytes, p->stream[0]));
    return p->is_recording ? NULL : d->mark(d, p->stream[0], &p->end[p->turn]);
}

/* The phases of an action that are planned as one. */
static Error *run_segment(Program *p, const Action *x, int slot)
{
    if (x->phases & RUN_UPDATE && p->ahead_after) return ahead_update(p, x, slot);
    const bool in_one = stretches_are_wanted(p);
    for (int64_t i = 0, end; i < p->n_steps; i = end) {
        end = i + 1;
        if (!program_is_due(&p->step[i], x)) continue;
        if (in_one) end = stretch_end(p, x, i);
        TRY(end > i + 1 ? stretch_run(p, x, slot, i, end) : program_run_step(p, &p->step[i], slot));
    }
    return join_streams(p, slot);
}

Action program_with_last(const Program *p, const Action *x)
{
    Action y = *x;
    bool is_last = x->phases >> BACKWARD_WEIGHT & 1 && x->stage < p->n_last &&
                   p->last[x->stage] == x->microbatch;
    if (is_last) y.phases |= RUN_LAST;
    return y;
}

Error *program_run(Program *p, const Action *given, const RunTime *now)
{
    static const unsigned segment[] = { RUN_FORWARD, RUN_BACKWARD | RUN_LAST, RUN_REDUCE,
                                        RUN_UPDATE };
    const Action whole = program_with_last(p, given), *x = &whole;
    CHECK(!(x->phases & RUN_STEP && x->phases & RUN_MICROBATCH));
    TRY(store_settle(p->settings.store, p));
    program_settle(p);
    int slot = program_slot(p, x);
    TRY(program_set_now(p, x, now));
    if (p->is_replaying) {
        if (!(x->phases & RUN_UPDATE)) return NULL;
        store_changed(p->settings.store);
        return store_before_change(p->settings.store); /* it has yet to be given */
    }
    if (x->phases & ~(unsigned)RUN_UPDATE) TRY(program_prepare(p));
    for (size_t i = 0; i < sizeof segment / sizeof *segment; i++) {
        Action part = *x;
        part.phases &= segment[i];
        if (part.phases & RUN_UPDATE) TRY(begin_update(p, slot, now));
        if (part.phases) TRY(run_segment(p, &part, slot));
    }
    if (p->times) TRY(times_tell(p));
    TRY(keep_readings(p, x, slot));
    if (x->phases & RUN_UPDATE && now->is_gated) TRY(tell_readings(p));
    if (x->phases & RUN_UPDATE) store_changed(p->settings.store);
    if (x->phases & RUN_UPDATE && p->ahead_after) ahead_made(p);
    return NULL;
}

/* NULL: the launch is none of this program. */
static const Step *step_of(const Program *p, const Launch *l)
{
    for (int64_t i = 0; i < p->n_steps; i++)
        for (int slot = 0; slot < p->timeline->n_slots; slot++)
            if (step_launch(&p->step[i], slot) == l) return &p->step[i];
    return NULL;
}

Error *program_failure(Program *p, Stream *s)
{
    const Launch *failed = times_launch_of(p, s->failed);
    const Step *step = step_of(p, failed);
    s->failed = NULL;
    CHECK(step != NULL);
    return failure(p, step, failed, s->status);
}

/* Where a device that hangs is, as far as it has told. */
static Error *where_it_hangs(const Program *p, const Stream *s, Error *e)
{
    const Step *step = e && s->reached ? step_of(p, times_launch_of(p, s->reached)) : NULL;
    if (!step) return e;
    Arena *a = arena_new();
    e = error_wrap(e, "microbatch %lld, %s or what follows it", (long long)s->microbatch_reached,
                   step_place(a, step));
    arena_free(a);
    return e;
}

Error *program_wait(Program *p)
{
    Device *d = p->settings.device;
    size_t bytes = sizeof(double) * (size_t)program_cells(p);
    program_settle(p);
    double *read = p->read[p->turn];
    if (bytes && !p->shown) TRY(d->copy(d, read, p->cell, bytes, p->stream[0]));
    for (int i = 0; i < p->n_streams; i++) {
        if (p->is_ahead && p->given[i] && i) continue;
        TRY(where_it_hangs(p, p->stream[i], d->synchronize(d, p->stream[i])));
        if (p->stream[i]->failed) return program_failure(p, p->stream[i]);
    }
    p->shown = read;
    return NULL;
}

Error *program_reach(Program *p, bool before_last)
{
    Device *d = p->settings.device;
    const int turn = before_last ? !p->turn : p->turn;
    Stream *s = p->stream[0];
    s->now = &p->now[turn][p->n_microbatches]; /* for its errors */
    TRY(where_it_hangs(p, s, d->reach(d, s, &p->end[turn])));
    p->shown = p->read[turn];
    return NULL;
}

Error *program_run_phases(Program *p, unsigned phases, const RunTime *now)
{
    const int n = p->timeline->n_stages;
    const unsigned forward = phases & RUN_FORWARD, backward = phases & RUN_BACKWARD;
    for (int i = 0; i < n && forward; i++)
        TRY(program_run(p, &(Action){ .phases = forward, .stage = i }, now));
    for (int i = n - 1; i >= 0 && backward; i--)
        TRY(program_run(p, &(Action){ .phases = backward, .stage = i }, now));
    if (phases & RUN_STEP) TRY(program_run(p, &(Action){ .phases = phases & RUN_STEP }, now));
    return program_wait(p);
}

bool program_has_scalar(const Program *p, const char *name)
{
    for (int i = 0; i < p->n_readings; i++)
        if (!strcmp(p->reading[i].name, name)) return true;
    return false;
}

bool program_can_gate(const Program *p)
{
    return p->settings.device->gate && program_has_scalar(p, "grad_norm");
}

bool program_can_go_ahead(const Program *p)
{
    return program_can_gate(p) && !p->hook && !p->times;
}

bool program_left_out(const Program *p)
{
    CHECK(p->shown && program_can_gate(p));
    bool is_left_out;
    memcpy(&is_left_out, &p->shown[program_cells(p) - 1], sizeof is_left_out);
    return is_left_out;
}

double program_scalar(const Program *p, const char *name, int64_t microbatch)
{
    CHECK(p->shown != NULL);
    for (int i = 0; i < p->n_readings; i++)
        if (!strcmp(p->reading[i].name, name))
            return dtype_get(p->reading[i].value->dtype,
                             &p->shown[i * p->n_microbatches + microbatch], 0);
    return NAN;
}
