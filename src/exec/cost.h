/* cost.h - how long the nodes of a program take, roughly: enough to see which of them lack a tuned
 * kernel and will be felt. */
#ifndef EXEC_COST_H
#define EXEC_COST_H
#include "graph/op.h"

/* Seconds that a node would take, to an order of magnitude: a tuned kernel on all threads, the
 * reference kernel on one. */
double node_seconds(const Node *n, const Launch *l, bool is_reference, int n_threads);
#endif
