/* product.c - recognises matrix products in the dimensions of a contraction.
 *
 * Letters fall into four groups by the operands that have them: batch (all three), rows (a and c),
 * columns (b and c), sum (a and b). It is a product if every operand is the batch and its two
 * groups, each in one piece and with its letters in the same order everywhere; the batch comes
 * first, or between the two (heads of a token). */
#include "ops/gemm/product.h"
#include "tensor/dims.h"

typedef enum Group { BATCH, ROWS, COLUMNS, SUM, N_GROUPS } Group;

typedef struct Runs {
    int n;
    Group group[MAX_DIMS];
} Runs;

static bool group_of(const DimSpec *s, int slot, Group *out)
{
    bool a = dims_uses(&s->in[0], slot), b = dims_uses(&s->in[1], slot);
    bool c = dims_uses(&s->out[0], slot);
    *out = a && b && c ? BATCH : a && c ? ROWS : b && c ? COLUMNS : SUM;
    return a + b + c >= 2;
}

/* The groups of one operand in the order in which they lie; dimensions of size 1 do not matter. */
static bool find_runs(const DimSpec *s, const Operand *o, const Tensor *t, Runs *out)
{
    *out = (Runs){ 0 };
    bool seen[N_GROUPS] = { false };
    for (int d = 0; d < o->n_dims; d++) {
        Group g;
        if (o->dim[d].n != 1 || !group_of(s, o->dim[d].slot[0], &g)) return false;
        if (t->size[d] == 1 || (out->n && out->group[out->n - 1] == g)) continue;
        if (seen[g]) return false;
        seen[g] = true;
        out->group[out->n++] = g;
    }
    for (int r = 1; r < out->n; r++)
        if (out->group[r] == BATCH && r + 1 == out->n) return false;
    return true;
}

static bool splits_groups(const Runs *r)
{
    return r->n == 3 && r->group[1] == BATCH;
}

/* The letters that two operands share come in the same order in both. */
static bool same_order(const Operand *x, const Operand *y, const Tensor *t)
{
    int at = -1;
    for (int d = 0; d < x->n_dims; d++)
        for (int e = 0; e < y->n_dims; e++) {
            if (x->dim[d].slot[0] != y->dim[e].slot[0] || t->size[d] == 1) continue;
            if (e < at) return false;
            at = e;
        }
    return true;
}

static int64_t volume(const DimSpec *s, const Operand *o, const Tensor *t, Group wanted)
{
    int64_t n = 1;
    Group g;
    for (int d = 0; d < o->n_dims; d++)
        if (group_of(s, o->dim[d].slot[0], &g) && g == wanted) n *= t->size[d];
    return n;
}

/* Whether `inner` comes after `outer`; either may be absent. */
static bool lies_behind(const Runs *r, Group inner, Group outer)
{
    for (int i = 0; i < r->n; i++) {
        if (r->group[i] == outer) return true;
        if (r->group[i] == inner) return i + 1 == r->n;
    }
    return true;
}

/* Elements from one row (or column) of an operand to the next where a row in one piece has `inner`,
 * and from one product of the batch to the next where one has `size`. */
static int64_t row_step(const Runs *r, int64_t inner, int64_t n_batches)
{
    return splits_groups(r) ? n_batches * inner : inner;
}

static int64_t batch_step(const Runs *r, int64_t inner, int64_t size)
{
    return splits_groups(r) ? inner : size;
}

static bool fill(const Launch *l, Product *p)
{
    const DimSpec *s = l->dims;
    const Tensor *a = &l->in[0], *b = &l->in[1], *c = &l->out[0];
    Runs runs_a, runs_b, runs_c;
    if (!find_runs(s, &s->in[0], a, &runs_a) || !find_runs(s, &s->in[1], b, &runs_b) ||
        !find_runs(s, &s->out[0], c, &runs_c))
        return false;
    if (!same_order(&s->in[0], &s->in[1], a) || !same_order(&s->in[0], &s->out[0], a) ||
        !same_order(&s->in[1], &s->out[0], b))
        return false;
    p->n_batches = volume(s, &s->out[0], c, BATCH);
    p->m = volume(s, &s->out[0], c, ROWS);
    p->n = volume(s, &s->out[0], c, COLUMNS);
    p->k = volume(s, &s->in[0], a, SUM);
    p->a =
        (Factor){ .data = a->data, .dtype = a->dtype, .k_inner = lies_behind(&runs_a, SUM, ROWS) };
    p->b = (Factor){ .data = b->data,
                     .dtype = b->dtype,
                     .k_inner = lies_behind(&runs_b, SUM, COLUMNS) };
    const bool is_turned = !lies_behind(&runs_c, COLUMNS, ROWS);
    const int64_t inner_a = p->a.k_inner ? p->k : p->m, inner_b = p->b.k_inner ? p->k : p->n,
                  inner_c = is_turned ? p->m : p->n;
    p->a.stride = row_step(&runs_a, inner_a, p->n_batches);
    p->b.stride = row_step(&runs_b, inner_b, p->n_batches);
    p->c_stride = row_step(&runs_c, inner_c, p->n_batches);
    p->a_batch = batch_step(&runs_a, inner_a, p->m * p->k);
    p->b_batch = batch_step(&runs_b, inner_b, p->n * p->k);
    p->c_batch = batch_step(&runs_c, inner_c, p->m * p->n);
    p->c = c->data;
    p->c_dtype = c->dtype;
    p->add = launch_adds(l, 0);
    if (is_turned) { /* C is stored [n][m]: exchange the factors */
        Factor f = p->a;
        p->a = p->b;
        p->b = f;
        int64_t size = p->m, distance = p->a_batch;
        p->m = p->n;
        p->n = size;
        p->a_batch = p->b_batch;
        p->b_batch = distance;
    }
    return true;
}

bool product_of(const Launch *l, Product *out)
{
    *out = (Product){ 0 };
    return fill(l, out);
}

static const void *element(const void *data, Dtype t, int64_t i)
{
    return (const char *)data + (int64_t)dtype_size(t) * i;
}

Product product_in_batch(const Product *p, int64_t i)
{
    Product one = *p;
    one.n_batches = 1;
    one.a.data = element(p->a.data, p->a.dtype, i * p->a_batch);
    one.b.data = element(p->b.data, p->b.dtype, i * p->b_batch);
    one.c = (char *)p->c + (int64_t)dtype_size(p->c_dtype) * i * p->c_batch;
    return one;
}
