/* op_cases.c - the list of families of cases, and the graph of a case. */
#include "op_cases.h"
#include "op_run.h"
#include <stdio.h>
#include <string.h>

extern const OpCase element_cases[], product_cases[], attention_cases[], delta_cases[],
    expert_cases[], loss_cases[], update_cases[];

/* Each ends with a row without a name. */
static const OpCase *const families[] = { element_cases, product_cases, attention_cases,
                                          delta_cases,   expert_cases,  loss_cases,
                                          update_cases };

const OpCase *op_case_at(int i)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const OpCase *c = families[f]; c->name; c++)
            if (i-- == 0) return c;
    return NULL;
}

int op_case_count(void)
{
    int n = 0;
    while (op_case_at(n)) n++;
    return n;
}

static void must(Error *e)
{
    if (e) fprintf(stderr, "%s\n", error_text(e));
    CHECK(e == NULL);
}

CaseGraph op_case_build(Arena *a, const OpCase *c, const int64_t *n)
{
    Graph *g = graph_new(a);
    CaseGraph made = { .graph = g, .result = c->build(g, c, n), .n_forward = g->n_nodes };
    g->phase = BACKWARD_INPUT;
    if (made.result) {
        Value *y = made.result;
        made.result_grad = graph_input(g, "result_grad", F64, y->n_dims, y->dim);
        made.grad = op_differentiate(g, y, made.result_grad);
    }
    must(graph_finish(g));
    must(graph_verify(g));
    return made;
}

bool op_needs_ranks(const OpDef *op)
{
    return op->flags & OP_COMM || !strncmp(op->name, "ring_", 5);
}
