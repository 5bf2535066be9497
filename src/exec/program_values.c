/* program_values.c - the inputs and outputs of a program: this rank's part is written and read. */
#include "exec/program_parts.h"
#include <string.h>

const Tensor *program_input(Program *p, const char *name, int64_t microbatch)
{
    program_settle(p);
    const Value *v = graph_find(p->graph, name);
    if (!v || v->kind != VALUE_INPUT) return NULL;
    return program_tensor(p, p->timeline->slot_of[microbatch], v);
}

const Tensor *program_output(Program *p, const char *name, int64_t microbatch)
{
    program_settle(p);
    const Value *v = graph_find_output(p->graph, name);
    if (!v) return NULL;
    bool is_of_step = v->from && !node_is_of_microbatch(v->from);
    return program_tensor(p, is_of_step ? p->timeline->n_slots : p->timeline->slot_of[microbatch],
                          v);
}

static bool is_split(const Tensor *t)
{
    for (int d = 0; d < t->n_dims; d++)
        if (t->part[d]) return true;
    return false;
}

static void take_part(void *to, const Tensor *t, const void *whole)
{
    size_t bytes = dtype_size(t->dtype);
    for (int64_t i = 0; i < tensor_count(t); i++) {
        int64_t at = global_element(t, i);
        if (at >= 0)
            memcpy((char *)to + (size_t)i * bytes, (const char *)whole + (size_t)at * bytes, bytes);
    }
}

/* This rank's part of an input, in memory for copies. */
static Error *keep_input(Program *p, const char *input, int64_t microbatch, const Tensor *t,
                         const void **data)
{
    const Value *v = graph_find(p->graph, input);
    const int64_t at = microbatch * p->graph->n_values + v->id;
    for (int turn = 0; turn < 2; turn++) {
        void ***sent = &p->sent[turn];
        if (!*sent) *sent = NEW_N(p->arena, void *, p->n_microbatches * p->graph->n_values);
        if (!(*sent)[at]) TRY(device_host_alloc(p->settings.device, tensor_bytes(t), &(*sent)[at]));
    }
    void **kept = &p->sent[p->turn][at];
    if (is_split(t))
        take_part(*kept, t, *data);
    else
        memcpy(*kept, *data, tensor_bytes(t));
    *data = *kept;
    return NULL;
}

Error *program_write(Program *p, const char *input, int64_t microbatch, const void *data)
{
    Device *d = p->settings.device;
    TRY(store_settle(p->settings.store, p)); /* what another left under way uses this memory */
    const Tensor *t = program_input(p, input, microbatch);
    CHECK(t != NULL);
    if (is_split(t) || !d->is_host) TRY(keep_input(p, input, microbatch, t, &data));
    if (p->is_replaying) return NULL;
    return d->copy(d, t->data, data, tensor_bytes(t), p->stream[0]);
}

Error *program_read(Program *p, const char *output, int64_t microbatch, void *data)
{
    const Tensor *t = program_output(p, output, microbatch);
    CHECK(t != NULL);
    TRY(program_wait(p));
    return device_copy_now(p->settings.device, data, t->data, tensor_bytes(t), p->stream[0]);
}
