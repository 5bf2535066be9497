/* contract.c - products summed over the letters that the result lacks; a linear layer is
 * "*k,nk->*n".
 *
 * The gradient of a contraction is a contraction: dA = C' with B, over the letters that A lacks. So
 * the dims strings of the gradients are those of the op with the operands swapped. */
#include "ops/contract.h"
#include "ops/elementwise.h"
#include <string.h>

/* "*k,nk->*n" with operands in the order given: swapped(0) is "*n,nk->*k" (dA from dC, B). */
static const char *gradient_dims(Graph *g, const char *dims, int wanted)
{
    const char *comma = strchr(dims, ','), *arrow = strstr(dims, "->");
    CHECK(comma && arrow);
    char *a = arena_string_n(g->arena, dims, (size_t)(comma - dims));
    char *b = arena_string_n(g->arena, comma + 1, (size_t)(arrow - comma - 1));
    const char *c = arrow + 2;
    return wanted == 0 ? arena_printf(g->arena, "%s,%s->%s", c, b, a)
                       : arena_printf(g->arena, "%s,%s->%s", c, a, b);
}

Value *contract(Graph *g, const char *dims, Value *a, Value *b)
{
    return graph_add_dims(g, &op_contract, dims, NULL, NULL, 2, (Value *[]){ a, b })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = contract(g, gradient_dims(g, n->dims->text, 0), dout[0], n->in[1]);
    din[1] = contract(g, gradient_dims(g, n->dims->text, 1), dout[0], n->in[0]);
}

/* All letters of one role, as offsets into the three operands: entry i belongs to the i-th
 * combination. */
typedef struct Offsets {
    int64_t n;
    int64_t *a, *b, *c;
} Offsets;

static int64_t stride_of(const Operand *o, const Tensor *t, int slot, int64_t *size)
{
    for (int d = 0; d < o->n_dims; d++) {
        CHECK(o->dim[d].n == 1);
        if (o->dim[d].slot[0] != slot) continue;
        *size = t->size[d];
        return tensor_volume(t, d + 1, t->n_dims);
    }
    return 0;
}

/* Letters that occur in a, b and c exactly as told, combined with the last one running fastest. */
static Offsets offsets_of(Arena *arena, const Launch *l, bool in_a, bool in_b, bool in_c)
{
    const DimSpec *spec = l->dims;
    Offsets o = {
        .n = 1, .a = NEW(arena, int64_t), .b = NEW(arena, int64_t), .c = NEW(arena, int64_t)
    };
    for (int s = N_SLOTS - 1; s >= 0; s--) {
        if (dims_uses(&spec->in[0], s) != in_a || dims_uses(&spec->in[1], s) != in_b ||
            dims_uses(&spec->out[0], s) != in_c)
            continue;
        int64_t size = 0;
        int64_t a = stride_of(&spec->in[0], &l->in[0], s, &size),
                b = stride_of(&spec->in[1], &l->in[1], s, &size);
        int64_t c = stride_of(&spec->out[0], &l->out[0], s, &size);
        Offsets wide = { .n = o.n * size,
                         .a = NEW_N(arena, int64_t, o.n * size),
                         .b = NEW_N(arena, int64_t, o.n * size),
                         .c = NEW_N(arena, int64_t, o.n * size) };
        for (int64_t i = 0; i < wide.n; i++) {
            wide.a[i] = i / o.n * a + o.a[i % o.n];
            wide.b[i] = i / o.n * b + o.b[i % o.n];
            wide.c[i] = i / o.n * c + o.c[i % o.n];
        }
        o = wide;
    }
    return o;
}

static int reference(const Launch *l)
{
    Arena *arena = arena_new();
    Offsets both = offsets_of(arena, l, true, true, true),
            rows = offsets_of(arena, l, true, false, true);
    Offsets columns = offsets_of(arena, l, false, true, true),
            sum = offsets_of(arena, l, true, true, false);
    const double *a = l->in[0].data, *b = l->in[1].data;
    double *c = l->out[0].data;
    for (int64_t z = 0; z < both.n; z++)
        for (int64_t i = 0; i < rows.n; i++)
            for (int64_t j = 0; j < columns.n; j++) {
                const double *x = a + both.a[z] + rows.a[i], *y = b + both.b[z] + columns.b[j];
                double total = 0;
                for (int64_t k = 0; k < sum.n; k++) total += x[sum.a[k]] * y[sum.b[k]];
                c[both.c[z] + rows.c[i] + columns.c[j]] = total;
            }
    arena_free(arena);
    return 0;
}

const OpDef op_contract = {
    .name = "contract",
    .doc = "product of two values, summed over the letters that the result lacks",
    .grad = grad,
    .reference = reference,
    .flags = OP_MATMUL | OP_ADDS,
};

const OpDef *const contract_ops[] = { &op_contract, NULL };
