/* test_gradients.c - every gradient against central finite differences in double precision. */
#include "op_cases.h"
#include "op_run.h"
#include "ops/all_ops.h"
#include "ops/elementwise.h"
#include "test.h"
#include <string.h>

enum { MAX_PROBES = 40 }; /* elements of an input that are varied */

/* The sum of the result's elements, each times that of result_grad. */
static double weighted_sum(OpRun *r, const CaseGraph *c)
{
    op_run_nodes(r, 0, c->n_forward);
    const Tensor *y = &r->tensor[c->result->id], *w = &r->tensor[c->result_grad->id];
    double sum = 0;
    for (int64_t i = 0; i < tensor_count(y); i++) sum += op_get(y, i) * op_get(w, i);
    return sum;
}

static void check_leaf(OpRun *r, const CaseGraph *c, const OpCase *op_case, const Value *x)
{
    Tensor *t = &r->tensor[x->id];
    const Tensor *grad = &r->tensor[c->grad[x->id]->id];
    double *data = t->data, h = 1e-5, largest = 1e-3;
    int64_t n = tensor_count(t), step = n / MAX_PROBES + 1;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(op_get(grad, i)));
    for (int64_t i = 0; i < n; i += step) {
        double kept = data[i];
        data[i] = kept + h;
        double above = weighted_sum(r, c);
        data[i] = kept - h;
        double below = weighted_sum(r, c);
        data[i] = kept;
        double expected = (above - below) / (2 * h), found = op_get(grad, i);
        if (!(fabs(expected - found) <= 1e-7 * largest))
            fail_msg("%s: gradient of %s[%d] is %.12g, by differences %.12g", op_case->name,
                     x->name, (int)i, found, expected);
    }
}

static bool is_small(const CaseGraph *c)
{
    int64_t n = 0;
    for (int64_t k = 0; k < c->graph->n_values; k++) n += value_count(c->graph->value[k]);
    return n < 2000;
}

/* Number of inputs whose gradient was checked. */
static int check_case(const OpCase *op_case)
{
    Arena *a = arena_new();
    CaseGraph c = op_case_build(a, op_case, op_case->n);
    int n_checked = 0;
    if (c.result && is_small(&c)) {
        OpRun *r = op_run_new(a, c.graph, op_case->position);
        op_run_nodes(r, 0, c.graph->n_nodes);
        for (int64_t k = 0; k < c.graph->n_values; k++) {
            const Value *x = c.graph->value[k];
            if (x == c.result_grad || x->kind == VALUE_RESULT || !c.grad[x->id]) continue;
            check_leaf(r, &c, op_case, x);
            n_checked++;
        }
    }
    arena_free(a);
    return n_checked;
}

TEST(gradients_agree_with_finite_differences)
{
    int n_checked = 0;
    for (int i = 0; i < op_case_count(); i++) n_checked += check_case(op_case_at(i));
    assert_true(n_checked > op_case_count() / 2);
}

/* Ops of small cases whose result is differentiated. */
static bool is_checked(const OpDef *op)
{
    bool found = false;
    for (int i = 0; i < op_case_count() && !found; i++) {
        Arena *a = arena_new();
        CaseGraph c = op_case_build(a, op_case_at(i), op_case_at(i)->n);
        for (int64_t k = 0; c.result && is_small(&c) && k < c.n_forward; k++)
            found |= c.graph->node[k]->op == op;
        arena_free(a);
    }
    return found;
}

/* Those that move data between ranks are checked by tests/layouts. */
TEST(every_op_with_a_gradient_has_it_checked)
{
    for (int i = 0; op_at(i); i++)
        if (op_at(i)->grad && !op_needs_ranks(op_at(i)) && !is_checked(op_at(i)))
            fail_msg("%s has a gradient but no small case in tests/ops", op_at(i)->name);
}

/* A check that cannot fail is worth nothing: with the slope of gelu for silu it must. */
TEST(a_wrong_gradient_is_found)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    Value *x = op_input(g, "x", F64, SIZES(5));
    Value *dy = op_input(g, "dy", F64, SIZES(5));
    Value *y = silu(g, x);
    Value *wrong = graph_add(g, op_find("gelu_grad"), NULL, 2, (Value *[]){ x, dy })->out[0];
    OpRun *r = op_run_new(a, g, 0);
    op_run_nodes(r, 0, g->n_nodes);
    double *at = r->tensor[x->id].data, *w = r->tensor[dy->id].data, h = 1e-5;
    const double *z = r->tensor[y->id].data, *grad = r->tensor[wrong->id].data, before = z[2];
    double found = grad[2] / w[2];
    at[2] += h;
    op_run_nodes(r, 0, 1);
    assert_true(fabs((z[2] - before) / h - found) > 0.01);
    arena_free(a);
}

TEST(every_op_occurs_in_a_case)
{
    for (int i = 0; op_at(i); i++) {
        bool found = op_needs_ranks(op_at(i));
        for (int k = 0; k < op_case_count() && !found; k++) {
            Arena *a = arena_new();
            CaseGraph c = op_case_build(a, op_case_at(k), op_case_at(k)->n);
            for (int64_t j = 0; j < c.graph->n_nodes; j++)
                found |= c.graph->node[j]->op == op_at(i);
            arena_free(a);
        }
        if (!found) fail_msg("%s occurs in no case of tests/ops", op_at(i)->name);
    }
}
