/* contract_pieces.c - products of which ranks make one piece while another travels between them. */
#include "ops/contract_pieces.h"
#include "ops/collective_rows.h"
#include "ops/contract.h"
#include "ops/reference.h"

/* The references are those of contract, in pieces. */
static int run_alone(const Launch *l)
{
    return reference_run(&op_contract, l);
}

static size_t scratch_alone(const Launch *l, int n_threads)
{
    (void)n_threads;
    return reference_scratch(&op_contract, l);
}

static const PieceKernel references = { &op_contract, run_alone, scratch_alone };

static int gather_reference(const Launch *l)
{
    return gather_contract(l, &references);
}

static int scatter_reference(const Launch *l)
{
    return contract_scatter(l, &references);
}

static size_t scratch(const Launch *l)
{
    return contract_pieces_scratch(l, &references, 1);
}

static double gather_sent(const Launch *l)
{
    return (double)tensor_bytes(&l->in[0]) * (collective_size(l) - 1);
}

static double scatter_sent(const Launch *l)
{
    return (double)dtype_size(contract_pieces_wire(l)) * (double)tensor_count(&l->out[0]) *
           (collective_size(l) - 1);
}

/* The nodes' results were there before them. */
static void dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]) out[k] = n->out[k]->dtype;
}

/* Twice the product of all letters that two factors have. */
static int64_t flops_of(const Node *n, const Operand *a, const Operand *b)
{
    int64_t all = 2;
    for (int s = 0; s < N_SLOTS; s++)
        if (dims_uses(a, s) || dims_uses(b, s)) all *= n->slot_size[s];
    return all;
}

static int64_t gather_flops(const Node *n)
{
    int64_t all = 0;
    for (int k = 1; k < n->n_in; k++) all += flops_of(n, &n->dims->in[0], &n->dims->in[k]);
    return all;
}

static int64_t scatter_flops(const Node *n)
{
    int64_t all = 0;
    for (int k = 0; k < n->n_in; k += 2) all += flops_of(n, &n->dims->in[k], &n->dims->in[k + 1]);
    return all;
}

static const Field attrs[] = {
    FIELD_INT(Pieces, dim, "0", 0, MAX_DIMS, "the dimension that the ranks divide"),
    FIELD_INT(Pieces, second, "0", 0, 255,
              "by bits: products whose second factor is what is gathered"),
    FIELD_CHOICE(Pieces, wire, "f32", dtype_choices,
                 "sums of f32: the dtype in which parts travel"),
    { 0 },
};

const OpDef op_gather_contract = {
    .name = "gather_contract",
    .doc = "products with what ranks gather, each made while the next rows come",
    .attrs = attrs,
    .attrs_size = sizeof(Pieces),
    .dtypes = dtypes,
    .flops = gather_flops,
    .reference = gather_reference,
    .sent = gather_sent,
    .scratch = scratch,
    .flags = OP_COMM | OP_ADDS,
};

const OpDef op_contract_scatter = {
    .name = "contract_scatter",
    .doc = "the sum of products over ranks, each with its part, made while others travel",
    .attrs = attrs,
    .attrs_size = sizeof(Pieces),
    .dtypes = dtypes,
    .flops = scatter_flops,
    .reference = scatter_reference,
    .sent = scatter_sent,
    .scratch = scratch,
    .flags = OP_COMM,
};

const OpDef *const contract_pieces_ops[] = { &op_gather_contract, &op_contract_scatter, NULL };
