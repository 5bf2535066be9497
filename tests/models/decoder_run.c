/* decoder_run.c - runs small decoders, at once and token by token. */
#include "models/decoder_run.h"
#include "exec/schedule.h"
#include "models/decoder_model.h"
#include "test.h"
#include <string.h>

OpRun *decoder_run(Arena *a, const char *settings, int64_t n_tokens)
{
    Graph *g = graph_new(a);
    Model *m = NULL;
    ModelOutput out = { 0 };
    const ForwardSettings f = { .batch = 1, .sequence = n_tokens };
    assert_no_error(decoder_model(a, settings, &m));
    assert_no_error(m->forward(m, g, &f, &out));
    OpRun *run = op_run_new(a, g, 0);
    op_run_nodes(run, 0, g->n_nodes);
    return run;
}

double decoder_param(const OpRun *run, const char *name, int64_t i)
{
    const Value *v = graph_find(run->graph, arena_printf(run->arena, "transformer.h.0.%s", name));
    if (!v) fail_msg("there is no %s", name);
    return op_get(&run->tensor[v->id], i);
}

double decoder_product(const OpRun *run, const char *layer, const Value *x, int64_t t, int64_t i)
{
    const int64_t width = value_width(x);
    const char *weight = arena_printf(run->arena, "%s.weight", layer);
    double sum = decoder_param(run, arena_printf(run->arena, "%s.bias", layer), i);
    for (int64_t k = 0; k < width; k++)
        sum +=
            decoder_param(run, weight, i * width + k) * op_get(&run->tensor[x->id], t * width + k);
    return sum;
}

const Value *decoder_read_by(const OpRun *run, const char *weight)
{
    const Graph *g = run->graph;
    const char *name = arena_printf(run->arena, "transformer.h.0.%s", weight);
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i]->n_in == 2 && !strcmp(g->node[i]->in[1]->name, name))
            return g->node[i]->in[0];
    fail_msg("nothing reads %s", weight);
    return NULL;
}

static void run_tokens(Program *p, const int32_t *ids, int64_t position)
{
    assert_no_error(program_write(p, "input_ids", 0, ids));
    assert_no_error(program_run_phases(p, RUN_FORWARD, &(RunTime){ .position = position }));
}

Session *decoder_continues(const Model *m, int64_t n_tokens, int64_t part, Program **next)
{
    enum { MOST_TOKENS = 9, IDS = 16 };
    static const int32_t ids[MOST_TOKENS] = { 3, 1, 4, 1, 5, 9, 2, 6, 5 };
    const int64_t last = n_tokens - 1;
    Session *s;
    Program *whole, *several;
    float all[MOST_TOKENS * IDS], one[IDS];
    assert_int_equal(m->vocab_size, IDS);
    assert_no_error(session_new(&(SessionSettings){ .model = m, .n_threads = 1 }, &s));
    assert_no_error(session_inspection_program(s, NULL, false, 1, n_tokens, &whole));
    assert_no_error(session_generation_program(s, 1, part, 32, &several));
    assert_no_error(session_generation_program(s, 1, 1, 32, next));
    assert_no_error(store_initialize(session_store(s), 1));
    run_tokens(whole, ids, 0);
    assert_no_error(program_read(whole, "logits", 0, all));
    for (int text = 0; text < 2; text++) {
        for (int64_t i = 0; i < last; i += part) run_tokens(several, ids + i, i);
        run_tokens(*next, ids + last, last);
        assert_no_error(program_read(*next, "logits", 0, one));
        for (int64_t i = 0; i < IDS; i++) assert_close(one[i], all[last * IDS + i], 1e-5);
    }
    return s;
}
