/* test_ring.c - attention on two ranks that divide queries and keys equals attention on the whole,
 * for every case of it: groups of heads, windows, documents, soft caps, dropout. */
#include "base/thread.h"
#include "comm/rank_threads.h"
#include "noted_comm.h"
#include "op_cases.h"
#include "op_run.h"
#include "op_split.h"
#include "ops/attention.h"
#include "ops/attention_ring.h"
#include "ops/kernels.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { RANKS = 2 };

typedef struct Ringed {
    const char *name;
    const NodeRun *whole;
    Layout layout;
    int level; /* of kernels; -1: references */
    double most;
} Ringed;

/* What a rank holds: its share of every dimension of tokens. Results are empty. */
static Tensor share(Arena *a, const Ringed *c, const Tensor *whole, const Operand *o, int rank,
                    bool is_result)
{
    const DimSpec *dims = c->whole->node->dims;
    const int tokens[] = { dims->in[0].dim[1].slot[0], dims->in[1].dim[1].slot[0] };
    int64_t size[MAX_DIMS];
    const Part *part[MAX_DIMS] = { NULL };
    memcpy(size, whole->size, sizeof size);
    for (int i = 0; i < 2; i++) {
        const int d = op_dim_of(o, tokens[i]);
        if (d < 0 || part[d]) continue;
        Part *p = NEW(a, Part);
        *p =
            (Part){ .n_parts = RANKS, .index = rank, .layout = c->layout, .whole = whole->size[d] };
        part[d] = p;
        size[d] /= RANKS;
    }
    Dtype t = c->level < 0 || whole->dtype == I32 ? whole->dtype : F32;
    Tensor made = op_tensor(a, t, whole->n_dims, size);
    memcpy(made.part, part, sizeof part);
    for (int64_t i = 0; i < tensor_count(&made) && !is_result; i++)
        dtype_set(t, made.data, i, op_get(whole, global_element(&made, i)));
    return made;
}

static int run_ring(Arena *a, const Ringed *c, Launch l)
{
    const OpDef *op =
        c->whole->node->op == &op_attention ? &op_ring_attention : &op_ring_attention_grad;
    l.op = op;
    if (c->level < 0) return op_reference(a, op, l);
    const KernelDef *k = kernel_find(op->name, "cpu", (CpuLevel)c->level, &l);
    assert_non_null(k);
    Stream stream = { .pool = pool_new(2) };
    l.stream = &stream;
    l.scratch = arena_alloc(a, k->scratch(&l, 2));
    int status = k->run(&l);
    pool_free(stream.pool);
    return status;
}

static Error *on_rank(Comm *comm, void *arg)
{
    const Ringed *c = arg;
    const Node *n = c->whole->node;
    Arena *a = arena_new();
    Tensor in[8], out[3];
    for (int k = 0; k < n->n_in; k++)
        in[k] = share(a, c, &c->whole->in[k], &n->dims->in[k], comm->rank, false);
    for (int k = 0; k < n->n_out; k++)
        out[k] = share(a, c, &c->whole->out[k], &n->dims->out[k], comm->rank, true);
    Launch l = op_launch(n, in, out, &c->whole->run->now);
    l.comm = comm;
    assert_int_equal(run_ring(a, c, l), KERNEL_OK);
    for (int k = 0; k < n->n_out; k++) {
        double largest = 0;
        for (int64_t i = 0; i < tensor_count(&c->whole->out[k]); i++)
            if (isfinite(op_get(&c->whole->out[k], i)))
                largest = fmax(largest, fabs(op_get(&c->whole->out[k], i)));
        for (int64_t i = 0; i < tensor_count(&out[k]); i++) {
            const double x = op_get(&out[k], i),
                         y = op_get(&c->whole->out[k], global_element(&out[k], i));
            if (x != y && !(fabs(x - y) <= c->most * largest))
                fail_msg("%s: result %d[%d] is %.9g, not %.9g", c->name, k, (int)i, x, y);
        }
    }
    arena_free(a);
    return NULL;
}

static int check_node(const char *name, const NodeRun *w)
{
    const int64_t s = w->in[0].size[1], t = w->in[1].size[1];
    int n = 0;
    for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++) {
        const int64_t pieces = layout == ZIGZAG ? 2 * RANKS : RANKS;
        if (s % pieces || t % pieces) continue;
        for (int level = -1; level <= (int)cpu_level_available(); level++) {
            Ringed c = { name, w, (Layout)layout, level, level < 0 ? 1e-12 : 2e-5 };
            on_ranks(RANKS, on_rank, &c, NULL);
            n++;
        }
    }
    return n;
}

TEST(attention_on_a_ring_equals_attention_on_the_whole)
{
    int n = 0;
    for (int k = 0; k < op_case_count(); k++) {
        Arena *a = arena_new();
        CaseGraph made = op_case_build(a, op_case_at(k), op_case_at(k)->n);
        OpRun *run = op_run_new(a, made.graph, 0);
        for (int64_t i = 0; i < made.graph->n_nodes; i++) {
            NodeRun w = op_run_node(run, a, i);
            if (w.node->op == &op_attention || w.node->op == &op_attention_grad)
                n += check_node(op_case_at(k)->name, &w);
        }
        arena_free(a);
    }
    test_note("%d rings", n);
    assert_true(n > 20);
}

/* ---- transfers go on while a rank attends ---- */

static int attend_noted(const Launch *l)
{
    (void)l;
    noted_add('a');
    return KERNEL_OK;
}

static Error *note_order(Comm *comm, void *arg)
{
    const bool is_grad = *(const bool *)arg;
    Arena *a = arena_new();
    const Part part = { .n_parts = RANKS, .index = comm->rank, .whole = 4 * RANKS };
    Tensor in[6], out[3];
    for (int k = 0; k < 6; k++) {
        in[k] = op_tensor(a, F32, 4, (const int64_t[]){ 1, 4, 1, 2 });
        in[k].part[1] = &part;
    }
    for (int k = 0; k < 3; k++) out[k] = op_tensor(a, F32, 4, (const int64_t[]){ 1, 4, 1, 2 });
    if (!is_grad) out[1] = op_tensor(a, F32, 3, (const int64_t[]){ 1, 4, 1 });
    const Launch l = { .in = in,
                       .n_in = is_grad ? 6 : 3,
                       .out = out,
                       .n_out = is_grad ? 3 : 2,
                       .comm = comm,
                       .block = -1 };
    NotedComm mine;
    noted_begin(comm, &mine);
    void *room = arena_alloc(a, attention_ring_bytes(&l));
    int status = is_grad ? attention_ring_grad(&l, attend_noted, room, NULL)
                         : attention_ring(&l, attend_noted, attention_ring_join, room, NULL);
    assert_int_equal(status, KERNEL_OK);
    /* keys; with gradients, the sums of a step travel during the next one, and home at the end */
    assert_string_equal(mine.did, is_grad ? "safsafsf" : "safa");
    noted_end(comm);
    arena_free(a);
    return NULL;
}

TEST(keys_and_their_gradients_travel_while_a_rank_attends)
{
    for (int is_grad = 0; is_grad < 2; is_grad++) {
        bool arg = is_grad;
        on_ranks(RANKS, note_order, &arg, NULL);
    }
}
