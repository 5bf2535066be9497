/* op_sheet.c - typed-in inputs, and comparison with typed-in results. */
#include "op_sheet.h"
#include "test.h"
#include <string.h>

typedef struct Given {
    const Value *value;
    const double *content;
    struct Given *next;
} Given;

Sheet *sheet_new(void)
{
    Arena *a = arena_new();
    Sheet *s = NEW(a, Sheet);
    *s = (Sheet){ .arena = a, .graph = graph_new(a) };
    s->now = (RunTime){ .step = 5,
                        .updates = 3,
                        .microbatch = 1,
                        .loss_scale = 0.25,
                        .gradient_scale = 8,
                        .seed = 7,
                        .rate = { { .lr = 0.01 } } };
    return s;
}

void sheet_free(Sheet *s)
{
    arena_free(s->arena);
}

static Value *give_as(Sheet *s, Dtype t, const char *name, const int64_t *size,
                      const double *content)
{
    Given *given = NEW(s->arena, Given);
    Value *v = op_input(s->graph, name, t, size);
    given->value = v;
    given->content = arena_copy(s->arena, content, sizeof *content * (size_t)value_count(v));
    given->next = s->given;
    s->given = given;
    return v;
}

Value *give(Sheet *s, const char *name, const int64_t *size, const double *content)
{
    return give_as(s, F64, name, size, content);
}

Value *give_ints(Sheet *s, const char *name, const int64_t *size, const double *content)
{
    return give_as(s, I32, name, size, content);
}

static void start(Sheet *s)
{
    assert_no_error(graph_finish(s->graph));
    assert_no_error(graph_verify(s->graph));
    s->run = op_run_new(s->arena, s->graph, 0);
    s->run->now = s->now;
    for (const Given *g = s->given; g; g = g->next) {
        Tensor *t = &s->run->tensor[g->value->id];
        for (int64_t i = 0; i < tensor_count(t); i++)
            dtype_set(t->dtype, t->data, i, g->content[i]);
    }
}

void expect(Sheet *s, const Value *v, int64_t n, const double *expected)
{
    if (!s->run) {
        start(s);
        op_run_nodes(s->run, 0, s->graph->n_nodes);
    }
    const Tensor *t = &s->run->tensor[v->id];
    assert_int_equal(tensor_count(t), n);
    for (int64_t i = 0; i < n; i++) {
        double x = op_get(t, i), e = expected[i];
        if (x == e || (isnan(x) && isnan(e)) || fabs(x - e) <= 1e-12 * (1 + fabs(e))) continue;
        fail_msg("%s: element %d is %.15g, expected %.15g", v->from ? v->from->op->name : v->name,
                 (int)i, x, e);
    }
}

int sheet_status(Sheet *s)
{
    start(s);
    const Node *n = s->graph->node[s->graph->n_nodes - 1];
    Tensor *in = NEW_N(s->arena, Tensor, n->n_in), *out = NEW_N(s->arena, Tensor, n->n_out);
    for (int k = 0; k < n->n_in; k++) in[k] = s->run->tensor[n->in[k]->id];
    for (int k = 0; k < n->n_out; k++) out[k] = s->run->tensor[n->out[k]->id];
    return op_reference(s->arena, n->op, op_launch(n, in, out, &s->run->now));
}
