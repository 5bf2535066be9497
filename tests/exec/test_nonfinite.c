/* test_nonfinite.c - the node that makes the first NaN or infinity is found, whichever it is. */
#include "exec/schedule.h"
#include "graph/op.h"
#include "passes/all_passes.h"
#include "passes/precision.h"
#include "passes/recompute.h"
#include "passes/tiny_model.h"
#include "test.h"
#include <math.h>
#include <string.h>

static const Precision in_bf16 = { .compute = BF16 };
static const Recompute every_block = { .every = 1 };
static const Action whole = { .phases = RUN_MICROBATCH };

/* Writes a NaN into the first result of one node. */
typedef struct Poison {
    const Node *at;
    double value;
} Poison;

static Error *poison(void *ctx, const Node *n, const Launch *l, double seconds)
{
    (void)seconds;
    const Poison *p = ctx;
    const Tensor *t = &l->out[0];
    if (n == p->at) dtype_set(t->dtype, t->data, tensor_count(t) - 1, p->value);
    return NULL;
}

static NonfinitePlace find_place(TinyRun *t)
{
    NonfinitePlace found;
    assert_no_error(store_clear_gradients(t->store));
    assert_no_error(program_find_nonfinite(t->program, &whole, &t->now, &found, t->arena));
    return found;
}

static const char *find(TinyRun *t)
{
    return find_place(t).text;
}

static void poison_every_node(const PassDef *pass, const void *settings, double value)
{
    Gpt2Settings s = tiny_settings(true);
    Arena *a = arena_new();
    PassList list = { .arena = a };
    if (pass) passes_add(&list, pass, settings);
    passes_add(&list, pass_find("fuse"), NULL);
    TinyRun t = tiny_run_new(&s, &list, false, true);
    assert_null(find(&t));
    Poison p = { .value = value };
    program_set_hook(t.program, poison, &p);
    int n_poisoned = 0, n_fused = 0;
    for (int64_t i = 0; i < t.graph->n_nodes; i++) {
        const Node *n = p.at = t.graph->node[i];
        bool is_float = dtype_is_float(n->out[0]->dtype);
        if (n->op->flags & OP_VIEW || n->phase == PREPARE || !is_float) continue;
        const NonfinitePlace at = find_place(&t);
        const char *found = at.text;
        if (!found) fail_msg("nothing found after %s", n->op->name);
        const char *place = n->block < 0
                                ? arena_printf(a, "%s (%s)", n->op->name, phase_name(n->phase))
                                : arena_printf(a, "%s in block %d (%s)", n->op->name, n->block,
                                               phase_name(n->phase));
        if (strncmp(found, place, strlen(place))) fail_msg("\"%s\" is not %s", found, place);
        assert_int_equal(at.node, i + 1); /* by it ranks tell whose was first */
        n_poisoned++;
        n_fused += n->out[0]->kind == VALUE_ACCUMULATOR;
    }
    assert_true(n_poisoned > 60 && n_fused > 10);
    tiny_run_free(&t);
    arena_free(a);
}

TEST(nonfinite_result_of_any_node_is_found)
{
    poison_every_node(NULL, NULL, NAN);
}
TEST(nonfinite_result_of_any_node_is_found_in_bf16)
{
    poison_every_node(&pass_precision, &in_bf16, INFINITY);
}
TEST(nonfinite_result_of_any_node_is_found_with_recomputation)
{
    poison_every_node(&pass_recompute, &every_block, -INFINITY);
}

TEST(nonfinite_parameter_is_named)
{
    Gpt2Settings s = tiny_settings(false);
    TinyRun t = tiny_run_new(&s, NULL, false, true);
    Stored *p = store_find(t.store, "transformer.h.1.mlp.c_fc.weight");
    ((float *)p->tensor.data)[3] = NAN;
    assert_string_equal(find(&t), "the parameter transformer.h.1.mlp.c_fc.weight");
    tiny_run_free(&t);
}

/* The largest float is a number, its bf16 copy is none. */
TEST(nonfinite_copy_of_a_parameter_is_named)
{
    Gpt2Settings s = tiny_settings(false);
    PassList list = { .arena = arena_new() };
    passes_add(&list, &pass_precision, &in_bf16);
    TinyRun t = tiny_run_new(&s, &list, false, true);
    Stored *p = store_find(t.store, "transformer.h.1.mlp.c_fc.weight");
    ((float *)p->tensor.data)[3] = 3.4e38f;
    store_changed(t.store);
    assert_string_equal(find(&t), "high_half (prepare) with transformer.h.1.mlp.c_fc.weight");
    tiny_run_free(&t);
    arena_free(list.arena);
}

TEST(nonfinite_search_names_an_id_outside_of_its_table)
{
    Gpt2Settings s = tiny_settings(false);
    TinyRun t = tiny_run_new(&s, NULL, false, true);
    ((int32_t *)program_input(t.program, "input_ids", 0)->data)[2] = 13;
    t.now.step = 4;
    Error *e = program_run_phases(t.program, RUN_FORWARD, &t.now);
    assert_error_has(e, "step 5, microbatch 0: embed (forward): an id or target lies outside of");
    tiny_run_free(&t);
}
