/* xielu.h - an activation with two learned numbers (Huang and Schlag 2024, Apertus). */
#ifndef OPS_XIELU_H
#define OPS_XIELU_H
#include "graph/op.h"

/* With p = softplus(alpha_p), n = 0.5 + softplus(alpha_n), both scalars of [1]:
 * p x^2 + x / 2 above 0, and n (e^x - 1 - x) + x / 2 below. */
Value *xielu(Graph *g, Value *x, Value *alpha_p, Value *alpha_n);

#define XIELU_BETA 0.5
#define XIELU_EPS (-1e-6) /* e^x - 1 is taken of no larger x */
#endif
