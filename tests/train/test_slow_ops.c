/* test_slow_ops.c - ops without a tuned kernel are named before the first step when they will be
 * felt.
 */
#include "cli/command_line.h"
#include "graph/op.h"
#include "models/model.h"
#include "train/small_job.h"
#include <string.h>

static int pass_on(const Launch *l)
{
    memcpy(l->out[0].data, l->in[0].data, tensor_bytes(&l->in[0]));
    return KERNEL_OK;
}

/* An op as its author has just written it: right, and slow. */
static void new_op_grad(Graph *g, const Node *n, Value *const *dout, Value **din);
static const OpDef new_op = {
    .name = "new_op", .doc = "x", .dims = "*->*", .grad = new_op_grad, .reference = pass_on
};

static void new_op_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, n->op, NULL, 1, &dout[0])->out[0];
}

static Error *(*inner_forward)(const Model *, Graph *, const ForwardSettings *, ModelOutput *);

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    TRY(inner_forward(self, g, f, out));
    out->hidden = graph_add(g, &new_op, NULL, 1, &out->hidden)->out[0];
    return NULL;
}

typedef struct Notices {
    Subscriber base;
    Text text;
    int n_results, n_slow; /* n_slow counts only before the first results */
} Notices;

static Error *hear(Subscriber *self, const Event *e)
{
    Notices *n = (Notices *)self;
    if (e->kind == EVENT_RESULTS) n->n_results++;
    if (e->kind != EVENT_NOTICE || !strstr(e->text, "slow")) return NULL;
    n->n_slow += n->n_results == 0;
    text_printf(&n->text, "%s\n", e->text);
    return NULL;
}

static Notices train(bool with_new_op)
{
    SmallJob *s = small_job_new("x", NULL);
    Model *m = (Model *)s->job.state->model;
    if (with_new_op) {
        inner_forward = m->forward;
        m->forward = forward;
    }
    Notices n = { .base.on_event = hear };
    text_puts(&n.text, "");
    events_subscribe(&s->events, &n.base);
    TrainingEnd end;
    assert_no_error(trainer_run(&s->job, &end));
    arena_free(s->bench.arena);
    return n;
}

TEST(an_op_without_a_tuned_kernel_is_named_once_before_the_first_step)
{
    Notices n = train(true);
    assert_int_equal(n.n_slow, 1);
    assert_contains(n.text.ptr, "new_op (reference kernel, about ");
    assert_null(strchr(strchr(n.text.ptr, '\n') + 1, '\n'));
    text_free(&n.text);
}

TEST(nothing_is_called_slow_where_all_that_counts_has_tuned_kernels)
{
    Notices n = train(false);
    assert_string_equal(n.text.ptr, "");
    text_free(&n.text);
}

/* No kernel is tuned for f64. */
TEST(model_inspect_marks_the_kernels_that_will_be_felt)
{
    Arena *a = arena_new();
    const char *inspect = "model inspect --config_file_path configs/training/small.yaml --kernels";
    const char *said;
    assert_int_equal(command_line_run(a, inspect, &said), 0);
    assert_contains(said, "reference  mean_valid ");
    assert_contains(said, "parameters\n");
    assert_contains(said, "  transformer.h.*.attn.q_attn\n");
    assert_null(strstr(said, "slow"));
    assert_int_equal(command_line_run(a, arena_printf(a, "%s --precision f64", inspect), &said), 0);
    assert_contains(said, "<- slow: all contract about ");
    arena_free(a);
}
