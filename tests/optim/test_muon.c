/* test_muon.c - Muon against its formulas, and on ranks that have parts of a matrix. */
#include "exec/program.h"
#include "graph/op.h"
#include "graph/split.h"
#include "layouts/layout.h"
#include "models/decoder.h"
#include "models/decoder_model.h"
#include "optim/made_optimizer.h"
#include "passes/all_passes.h"
#include "passes/optimize.h"
#include "test.h"
#include <math.h>
#include <string.h>

#define MUON(rest)                                                                                 \
    "{component_key: optimizer, variant_key: muon, config: {lr: 0.02, wrapped_model: "             \
    "{instance_key: model, pass_type: BY_REFERENCE}" rest "}}"

/* ---- one matrix ---- */

/* z = x y (or x y' where `across`) of square or oblong matrices. */
static void product(const double *x, const double *y, int64_t n, int64_t k, int64_t m, bool across,
                    double *z)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            z[i * m + j] = 0;
            for (int64_t l = 0; l < k; l++)
                z[i * m + j] += x[i * k + l] * (across ? y[j * k + l] : y[l * m + j]);
        }
}

static void transpose(const double *x, int64_t rows, int64_t columns, double *y)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) y[j * rows + i] = x[i * columns + j];
}

enum { MOST = 64 };

/* As torch has it: wide matrices only, others are transposed. */
static void newton_schulz(double *x, int64_t rows, int64_t columns)
{
    double wide[MOST], a[MOST], aa[MOST], b[MOST], bx[MOST], norm = 0;
    const bool tall = rows > columns;
    const int64_t n = tall ? columns : rows, k = tall ? rows : columns;
    if (tall)
        transpose(x, rows, columns, wide);
    else
        memcpy(wide, x, sizeof *x * (size_t)(n * k));
    for (int64_t i = 0; i < n * k; i++) norm += wide[i] * wide[i];
    norm = fmax(sqrt(norm), 1e-7);
    for (int64_t i = 0; i < n * k; i++) wide[i] /= norm;
    for (int step = 0; step < 5; step++) {
        product(wide, wide, n, k, n, true, a);
        product(a, a, n, n, n, false, aa);
        for (int64_t i = 0; i < n * n; i++) b[i] = -4.775 * a[i] + 2.0315 * aa[i];
        product(b, wide, n, n, k, false, bx);
        for (int64_t i = 0; i < n * k; i++) wide[i] = 3.4445 * wide[i] + bx[i];
    }
    if (tall)
        transpose(wide, n, k, x);
    else
        memcpy(x, wide, sizeof *x * (size_t)(n * k));
}

/* What a case expects of Muon. */
typedef struct MuonCase {
    const char *settings;
    int64_t experts, rows, columns; /* experts 0: a matrix alone */
    double momentum, decay, scale;
    bool nesterov;
} MuonCase;

typedef struct Numbers {
    double param[MOST], momentum[MOST];
} Numbers;

static double gradient(int step, int64_t i)
{
    return sin(1.7 * (double)i + step) + 0.1 * (double)(i % 3);
}

static void expected_step(const MuonCase *c, int step, Numbers *n)
{
    const int64_t size = c->rows * c->columns, all = size * (c->experts ? c->experts : 1);
    double direction[MOST];
    for (int64_t i = 0; i < all; i++) {
        const double g = gradient(step, i);
        n->momentum[i] += (1 - c->momentum) * (g - n->momentum[i]);
        direction[i] = c->nesterov ? g + c->momentum * (n->momentum[i] - g) : n->momentum[i];
    }
    for (int64_t i = 0; i < all; i += size) newton_schulz(direction + i, c->rows, c->columns);
    for (int64_t i = 0; i < all; i++)
        n->param[i] = n->param[i] * (1 - 0.02 * c->decay) - 0.02 * c->scale * direction[i];
}

static void set(Tensor *t, const double *x)
{
    for (int64_t i = 0; i < tensor_count(t); i++) dtype_set(t->dtype, t->data, i, x[i]);
}

static void assert_numbers(const Tensor *t, const double *x)
{
    for (int64_t i = 0; i < tensor_count(t); i++)
        assert_close(dtype_get(t->dtype, t->data, i), x[i], 2e-5);
}

static void check_case(const MuonCase *c, bool reference_only)
{
    Arena *a = arena_new();
    Device *device = cpu_device_new(2);
    ParamStore *store = store_new(device);
    Graph *g = graph_new(a);
    const Dim all[] = { { .size = c->experts }, { .size = c->rows }, { .size = c->columns } };
    const int n_dims = c->experts ? 3 : 2;
    graph_accumulator(g, graph_param(g, "w", n_dims, all + 3 - n_dims));
    const Optimize o = { .optimizer = made_optimizer(a, c->settings), .norm_type = 2 };
    PassList passes = { .arena = a };
    Program *p;
    passes_add(&passes, &pass_optimize, &o);
    assert_no_error(passes_run(g, NULL, &passes, NULL));
    const ProgramSettings settings = { .device = device,
                                       .store = store,
                                       .level = cpu_level_available(),
                                       .reference_only = reference_only,
                                       .name = "update" };
    assert_no_error(program_new(g, &settings, &p));
    Numbers n = { { 0 }, { 0 } };
    for (int i = 0; i < MOST; i++) n.param[i] = cos(i);
    set(&store_find(store, "w")->tensor, n.param);
    for (int step = 0; step < 3; step++) {
        double grad[MOST];
        RunTime now = { .step = step, .updates = step, .rate = { { .lr = 0.02 } } };
        for (int i = 0; i < MOST; i++) grad[i] = gradient(step, i);
        set(&store_find(store, "grad.w")->tensor, grad);
        assert_no_error(program_run_phases(p, RUN_REDUCE | RUN_UPDATE, &now));
        expected_step(c, step, &n);
        assert_numbers(&store_find(store, "w")->tensor, n.param);
        assert_numbers(&store_find(store, "momentum_buffer.w")->tensor, n.momentum);
        assert_true(dtype_get(F32, store_find(store, "grad.w")->tensor.data, 0) == 0);
    }
    program_free(p);
    store_free(store);
    device->free(device);
    arena_free(a);
}

TEST(muon_follows_its_formulas)
{
    static const MuonCase cases[] = {
        { "optimizer: " MUON(""), 0, 4, 6, 0.95, 0.1, 1, true },
        { "optimizer: " MUON(""), 0, 6, 4, 0.95, 0.1, 1.2247448713915890, true },
        { "optimizer: " MUON(", nesterov: false, momentum: 0.9, weight_decay: 0.0"), 0, 5, 5, 0.9,
          0, 1, false },
        { "optimizer: " MUON(", adjust_lr_fn: match_rms_adamw"), 0, 4, 9, 0.95, 0.1, 0.6, true },
        { "optimizer: " MUON(", adjust_lr_fn: none"), 0, 9, 4, 0.95, 0.1, 1, true },
        { "optimizer: " MUON(""), 3, 3, 5, 0.95, 0.1, 1, true },
        { "optimizer: " MUON(""), 3, 5, 3, 0.95, 0.1, 1.2909944487358056, true },
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) check_case(&cases[i / 2], i % 2);
}

TEST(muon_refuses_what_is_no_matrix_by_name)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a);
    graph_accumulator(g, graph_param(g, "norm.weight", 1, &(const Dim){ .size = 4 }));
    const Optimize o = { .optimizer = made_optimizer(a, "optimizer: " MUON("")), .norm_type = 2 };
    PassList passes = { .arena = a };
    passes_add(&passes, &pass_optimize, &o);
    assert_error_has(passes_run(g, NULL, &passes, NULL),
                     "updates matrices, but norm.weight has 1 dimension; optimizer.combined gives "
                     "@matrices");
    Optimizer *made;
    assert_error_has(
        made_optimizer_try(a, "optimizer: " MUON(", ns_coefficients: [1.0, 2.0]"), &made),
        "ns_coefficients: a list of 2; allowed: a list of 3 numbers");
    arena_free(a);
}

/* ---- on ranks ---- */

static const char combined[] = "muon: " MUON(
    "") "\n"
        "adam: {component_key: optimizer, variant_key: adam_w, config: {lr: 0.01, betas: [0.9, "
        "0.95], eps: 1e-3, weight_decay: 0.1, weight_decay_groups_excluded: [], wrapped_model: "
        "{instance_key: model, pass_type: BY_REFERENCE}}}\n"
        "optimizer: {component_key: optimizer, variant_key: combined, config: {wrapped_model: "
        "{instance_key: model, pass_type: BY_REFERENCE}, parts: [{optimizer: {instance_key: "
        "muon, pass_type: BY_REFERENCE}, parameters: [\"@matrices\"]}, {optimizer: "
        "{instance_key: adam, pass_type: BY_REFERENCE}, parameters: [\"*\"]}]}}\n";

static void equals_one_rank(LayoutCase l, double most)
{
    Arena *a = arena_new();
    l.optimizer = made_optimizer(a, combined);
    layout_equals_one_rank(l, most);
    arena_free(a);
}

TEST(muon_on_two_ranks_with_copies_or_parts_equals_one)
{
    equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2, .compute = F64 }, 1e-8);
    for (int stage = ZERO_STATES; stage <= ZERO_PARAMETERS; stage++)
        equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                      .accumulation = 2,
                                      .data_parallel.stage = (ZeroStage)stage,
                                      .compute = F64 },
                        1e-8);
}

TEST(muon_on_padded_rows_and_in_bf16_equals_one)
{
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 3,
                                  .llama_like = true,
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .compute = F64 },
                    1e-8);
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .compute = BF16 },
                    5e-2);
}

TEST(muon_under_tensor_parallelism_and_in_products_equals_one)
{
    const Sharding tensor = { .tensor = true, .sequence = true };
    equals_one_rank(
        (LayoutCase){ .size[MESH_TP] = 2, .llama_like = true, .sharding = tensor, .compute = F64 },
        1e-8);
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                  .size[MESH_TP] = 2,
                                  .sharding = tensor,
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .compute = F64 },
                    1e-8);
    equals_one_rank((LayoutCase){ .size[MESH_PP] = 2, .accumulation = 2, .compute = F64 }, 1e-8);
}

/* Of ten rows that a rank of tp has four others of cp and dp_shard have 3, 3, 3 and 1. */
TEST(muon_on_rows_that_three_axes_divide_equals_one)
{
    static const char text[] = "sample_key: input_ids, prediction_key: logits, vocab_size: 13, "
                               "sequence_length: 8, n_embd: 16, n_head_q: 2, n_head_kv: 2, "
                               "head_width: 6, ffn_hidden: 20, rope: {}, n_layer: %d";
    for (int n = 1; n <= 3; n++) {
        Arena *a = arena_new();
        Model *m;
        assert_no_error(decoder_model(a, arena_printf(a, text, n), &m));
        equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                      .size[MESH_CP] = 2,
                                      .size[MESH_DP_SHARD] = 2,
                                      .sharding = { .tensor = true, .context = true },
                                      .data_parallel.stage = ZERO_STATES,
                                      .decoder = decoder_of(m),
                                      .vocabulary = 13,
                                      .compute = F64 },
                        1e-8);
        arena_free(a);
    }
}

/* Copies alone, a rank more than there are like matrices, and groups of ranks in a group of copies.
 */
TEST(muon_of_matrices_that_ranks_divide_equals_one)
{
    const Sharding tensor = { .tensor = true, .sequence = true };
    equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 3, .layers = 2, .compute = F64 },
                    1e-8);
    equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                                  .size[MESH_DP_SHARD] = 2,
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .llama_like = true,
                                  .compute = F64 },
                    1e-8);
    equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                                  .size[MESH_TP] = 2,
                                  .llama_like = true,
                                  .sharding = tensor,
                                  .compute = F64 },
                    1e-8);
    equals_one_rank((LayoutCase){ .size[MESH_CP] = 2,
                                  .sharding = { .context = true, .method = CONTEXT_RING },
                                  .compute = F64 },
                    1e-8);
}

typedef struct Products {
    double flops;
    int n_whole; /* matrices that are gathered for a step of their own */
} Products;

/* Of the update, on rank 0. */
static void count_products(const Graph *g, void *to)
{
    Products *p = to;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (n->phase != UPDATE || !(n->op->flags & OP_MATMUL)) continue;
        double flops = 2;
        Shape sizes[2] = { value_shape(n->in[0]), value_shape(n->out[0]) };
        const bool is_stack = sizes[0].n_dims == 3;
        for (int d = is_stack; d < sizes[0].n_dims; d++) flops *= (double)sizes[0].size[d];
        flops *= (double)sizes[1].size[sizes[1].n_dims - 1];
        if (is_stack) flops *= (double)(sizes[0].size[0] / dim_parts(&n->in[0]->dim[0], g->mesh));
        p->flops += flops;
        p->n_whole += !is_stack;
    }
}

/* The products of Newton-Schulz steps are divided, too, not only what is sent. */
TEST(ranks_divide_the_steps_of_newton_and_schulz)
{
    Arena *a = arena_new();
    Products alone = { 0, 0 }, divided = { 0, 0 };
    LayoutCase l = { .size[MESH_DP_SHARD] = 2,
                     .layers = 2,
                     .data_parallel = { .stage = ZERO_PARAMETERS, .blocks_per_unit = 1 },
                     .optimizer = made_optimizer(a, combined),
                     .inspect = count_products,
                     .inspect_to = &divided,
                     .compute = F64 };
    layout_run(a, &l);
    l.size[MESH_DP_SHARD] = 1;
    l.inspect_to = &alone;
    layout_run(a, &l);
    assert_int_equal(divided.n_whole, 0);
    assert_close(divided.flops, alone.flops / 2, 1e-9 * alone.flops);
    arena_free(a);
}

/* Each rank has whole matrices of its experts. */
TEST(muon_of_experts_on_ranks_equals_one)
{
    static const Moe four = {
        .n_experts = 4, .top_k = 2, .hidden = 6, .normalize = true, .activation = ACTIVATE_SILU
    };
    LayoutCase l = { .llama_like = true, .moe = &four, .compute = F64 };
    l.size[MESH_DP_SHARD] = 2;
    l.data_parallel.stage = ZERO_PARAMETERS;
    equals_one_rank(l, 1e-7);
    l.size[MESH_DP_SHARD] = 1;
    l.size[MESH_EP] = 2;
    equals_one_rank(l, 1e-7);
}
