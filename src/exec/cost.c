/* cost.c - how long the nodes of a program take, roughly.
 *
 * A tuned kernel is bound by arithmetic or by memory, whichever takes longer; a reference kernel
 * does one element of its loops after the other, in double, and converts its operands before and
 * after. The rates are those of one core of a server of these years. Between the two kinds lie
 * factors of ten to a hundred, so being wrong by two or three decides nothing. */
#include "exec/cost.h"

static const double TUNED_FLOPS = 5e10, TUNED_BYTES = 5e9; /* per second and thread */
static const double REFERENCE_ELEMENTS = 5e8;              /* per second */

static double reference_seconds(const Node *n, const Launch *l)
{
    double elements = node_flops(n) / 2;
    for (int k = 0; k < l->n_in; k++) elements += (double)tensor_count(&l->in[k]);
    for (int k = 0; k < l->n_out; k++) elements += (double)tensor_count(&l->out[k]);
    return elements / REFERENCE_ELEMENTS;
}

static double tuned_seconds(const Node *n, const Launch *l)
{
    double bytes = 0, flops = node_flops(n) / TUNED_FLOPS;
    for (int k = 0; k < l->n_in; k++) bytes += (double)tensor_bytes(&l->in[k]);
    for (int k = 0; k < l->n_out; k++) bytes += (double)tensor_bytes(&l->out[k]);
    return flops > bytes / TUNED_BYTES ? flops : bytes / TUNED_BYTES;
}

double node_seconds(const Node *n, const Launch *l, bool is_reference, int n_threads)
{
    if (n->op->flags & OP_VIEW) return 0;
    return is_reference ? reference_seconds(n, l) : tuned_seconds(n, l) / n_threads;
}
