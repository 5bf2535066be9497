/* program_record.c - a whole step, recorded once and then given to the device in one.
 *
 * What differs from step to step is read by the device: RunTime and inputs, from memory that stays
 * where it is. Steps take turns at two places of the host for it, and so at two recordings: one is
 * filled while the device is busy with the other. Preparing for the step is part of it, every time.
 */
#include "base/environment.h"
#include "base/log.h"
#include "exec/program_parts.h"
#include <string.h>

/* Who looks on wants to see each node. */
bool program_can_record(const Program *p)
{
    const char *asked = environment_get("MODALITIES_CUDA_GRAPH");
    return p->settings.device->record && !p->cannot_record && !p->hook && !p->times &&
           !(asked && !strcmp(asked, "off"));
}

/* Further streams join the first one after each action, unless the next step begins there. */
static bool can_record(const Program *p)
{
    return program_can_record(p) && !p->ahead_after;
}

void program_forget_step(Program *p)
{
    Device *d = p->settings.device;
    for (int turn = 0; turn < 2; turn++) {
        if (p->recording[turn]) d->recording_free(d, p->recording[turn]);
        p->recording[turn] = NULL;
    }
    stretches_forget(p);
    p->has_stepped = false;
}

/* It goes on without. */
static void give_up(Program *p, Error *e)
{
    log_info("steps are not recorded as graphs of CUDA: %s", error_text(e));
    error_free(e);
    p->cannot_record = true;
}

Error *program_begin_step(Program *p)
{
    Device *d = p->settings.device;
    program_settle(p);
    p->turn = !p->turn;
    if (!can_record(p)) {
        program_forget_step(p);
        return NULL;
    }
    p->is_replaying = p->recording[p->turn] != NULL;
    p->is_recording = !p->is_replaying && p->has_stepped;
    p->has_stepped = true;
    if (!p->is_recording) return NULL;
    Error *e = d->record(d, p->stream[0]);
    if (!e) {
        store_changed(p->settings.store); /* so that it prepares, as later ones have to */
        return NULL;
    }
    p->is_recording = false;
    give_up(p, e);
    return NULL;
}

Error *program_end_step(Program *p, Error *failed, bool *again)
{
    Device *d = p->settings.device;
    const bool was_recording = p->is_recording, replays = p->is_replaying || was_recording;
    *again = p->is_recording = p->is_replaying = false;
    if (was_recording) {
        Error *e = d->record_end(d, p->stream[0], &p->recording[p->turn]);
        if (failed)
            error_free(e);
        else
            failed = e;
        if (failed) {
            program_forget_step(p);
            store_changed(p->settings.store); /* what was to be prepared was not */
            give_up(p, failed);
            *again = true;
            return NULL;
        }
    }
    if (failed || !replays) return failed;
    TRY(d->replay(d, p->recording[p->turn], p->stream[0]));
    return d->mark(d, p->stream[0], &p->end[p->turn]);
}
