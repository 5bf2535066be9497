/* waiting.c - what a rank waits for, in words. */
#include "comm/waiting.h"
#include "base/environment.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

double waiting_timeout(void)
{
    const char *set = environment_get("MODALITIES_COMM_TIMEOUT");
    return set && atof(set) > 0 ? atof(set) : COMM_TIMEOUT;
}

void waiting_text(const Comm *c, const char *op, char *out, size_t size)
{
    char layer[32] = "", step[32] = "", number[60] = "";
    if (c->layer >= 0) snprintf(layer, sizeof layer, ", layer %" PRId64, c->layer);
    if (c->step >= 0) snprintf(step, sizeof step, ", step %" PRId64, c->step);
    if (c->origin)
        snprintf(number, sizeof number, ", in node %" PRId64 " of this group: ", c->n_nodes);
    snprintf(out, size, "%s over %s%s%s%s%s", op, c->label ? c->label : "all ranks", layer, step,
             number, c->origin ? c->origin : "");
}

Error *waiting_ended(const Comm *c, int rank, const char *op, const char *why)
{
    char place[WAITING_TEXT];
    waiting_text(c, op, place, sizeof place);
    return error_new("%s; rank %d waited in %s", why, rank, place);
}

void waiting_too_long(const Comm *c, int rank, int missing, char *out, size_t size)
{
    snprintf(out, size, "rank %d has waited %g s for rank %d", rank, c->timeout, missing);
}
