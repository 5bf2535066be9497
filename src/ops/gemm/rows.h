/* rows.h - the rows of the kernel table: whatever ops are made of matrix products.
 *
 * Who includes this has defined how one product is made (`multiply`), the scratch that it takes
 * (`multiply_scratch`), and for which of floats (`product_fits`). */
#ifndef OPS_GEMM_ROWS_H
#define OPS_GEMM_ROWS_H
#include "base/thread.h"
#include "ops/contract.h"
#include "ops/contract_pieces.h"
#include "ops/gemm/product.h"
#include "ops/grouped_linear.h"
#include "ops/kernels.h"
#include "ops/panels.h"
#include "ops/vector/chunks.h"
#include "tensor/dtype.h"
#include <string.h>

static void multiply(const Product *p, void *scratch, struct Pool *pool);
static size_t multiply_scratch(const Product *p, int n_threads);
static bool product_fits(const Product *p);

static int run_contract(const Launch *l)
{
    Product p;
    if (!product_of(l, &p)) return 1;
    for (int64_t i = 0; i < p.n_batches; i++) {
        Product one = product_in_batch(&p, i);
        multiply(&one, l->scratch, l->stream->pool);
    }
    return 0;
}

static size_t contract_scratch(const Launch *l, int n_threads)
{
    Product p;
    return product_of(l, &p) ? multiply_scratch(&p, n_threads) : 0;
}

static bool contract_serves(const Launch *l)
{
    Product p;
    bool empty = tensor_count(&l->in[0]) == 0 || tensor_count(&l->in[1]) == 0;
    return !empty && floats_fit(l) && product_of(l, &p) && product_fits(&p) &&
           !(p.add && p.c_dtype != F32);
}

/* ---- products with weights in panels (ops/panels.h) ---- */

static Product of_panels(const Launch *l)
{
    const Tensor *x = &l->in[0], *weight = &l->in[1];
    const int64_t n = weight->size[0], k = weight->size[1];
    return (Product){ .m = k ? tensor_count(x) / k : 0,
                      .n = n,
                      .k = k,
                      .a = { x->data, k, x->dtype, .k_inner = true },
                      .b = { weight->data, k, weight->dtype, .in_panels = true },
                      .c = l->out[0].data,
                      .c_stride = n,
                      .c_dtype = l->out[0].dtype,
                      .n_batches = 1 };
}

static int run_contract_panels(const Launch *l)
{
    const Product p = of_panels(l);
    multiply(&p, l->scratch, l->stream->pool);
    return KERNEL_OK;
}

static size_t panels_scratch(const Launch *l, int n_threads)
{
    const Product p = of_panels(l);
    return multiply_scratch(&p, n_threads);
}

static bool panels_serve(const Launch *l)
{
    const bool pairs = ((const Panels *)l->attrs)->pairs;
    const bool empty = tensor_count(&l->in[0]) == 0 || tensor_count(&l->in[1]) == 0;
    const Product p = of_panels(l);
    return !empty && floats_fit(l) && product_fits(&p) && p.b.dtype == (pairs ? BF16 : F32);
}

/* ---- products in pieces that travel between ranks (ops/contract_pieces.h) ---- */

static const PieceKernel alone = { &op_contract, run_contract, contract_scratch };

static int run_gather_contract(const Launch *l)
{
    return gather_contract(l, &alone);
}

static int run_contract_scatter(const Launch *l)
{
    return contract_scatter(l, &alone);
}

static size_t pieces_scratch(const Launch *l, int n_threads)
{
    return contract_pieces_scratch(l, &alone, n_threads);
}

static bool pieces_serve(const Launch *l)
{
    return contract_pieces_serve(l, &op_contract, contract_serves);
}

/* ---- products over groups of rows (ops/grouped_linear.h) ---- */

/* The product of all rows with the first expert. */
static Product of_all_rows(const Launch *l, bool is_outer)
{
    const Tensor *x = &l->in[0], *second = &l->in[1], *out = &l->out[0];
    const int64_t rows = tensor_count(&l->in[2]);
    if (is_outer)
        return (Product){ .m = x->size[2],
                          .n = second->size[2],
                          .k = rows,
                          .a = { x->data, x->size[2], x->dtype, false },
                          .b = { second->data, second->size[2], second->dtype, false },
                          .c = out->data,
                          .c_stride = second->size[2],
                          .c_dtype = out->dtype,
                          .add = launch_adds(l, 0),
                          .n_batches = 1 };
    const bool transposed = ((const GroupedLinear *)l->attrs)->transposed;
    return (Product){ .m = rows,
                      .n = out->size[2],
                      .k = x->size[2],
                      .a = { x->data, x->size[2], x->dtype, true },
                      .b = { second->data, second->size[2], second->dtype, !transposed },
                      .c = out->data,
                      .c_stride = out->size[2],
                      .c_dtype = out->dtype,
                      .n_batches = 1 };
}

static void *moved(const void *data, Dtype t, int64_t elements)
{
    return (char *)data + elements * (int64_t)dtype_size(t);
}

/* Rows that no expert has. */
static void clear_rows(const Tensor *t, int64_t from, int64_t n)
{
    const int64_t each = t->size[2] * (int64_t)dtype_size(t->dtype);
    memset((char *)t->data + from * each, 0, (size_t)((n - from) * each));
}

/* How many rows of a group are multiplied at a time: plans, and their scratch, are known for each
 * number up to here. */
enum { GROUP_ROWS = 1024 };

static int run_grouped_linear(const Launch *l)
{
    const Tensor *weight = &l->in[1], *of = &l->in[2];
    const Product all = of_all_rows(l, false);
    int64_t from = 0;
    for (int64_t e = 0; e < weight->size[0]; e++)
        for (int64_t end = grouped_end(of, e, from); from < end;) {
            Product p = all;
            p.m = end - from < GROUP_ROWS ? end - from : GROUP_ROWS;
            p.a.data = moved(p.a.data, p.a.dtype, from * p.k);
            p.b.data = moved(p.b.data, p.b.dtype, e * p.n * p.k);
            p.c = moved(p.c, p.c_dtype, from * p.n);
            multiply(&p, l->scratch, l->stream->pool);
            from += p.m;
        }
    clear_rows(&l->out[0], from, all.m);
    return 0;
}

static int run_grouped_outer(const Launch *l)
{
    const Tensor *of = &l->in[2], *out = &l->out[0];
    const Product all = of_all_rows(l, true);
    int64_t from = 0;
    for (int64_t e = 0; e < out->size[0]; e++) {
        void *c = moved(all.c, F32, e * all.m * all.n);
        if (!all.add) memset(c, 0, sizeof(float) * (size_t)(all.m * all.n));
        for (int64_t end = grouped_end(of, e, from); from < end;) {
            Product p = all;
            p.k = end - from < GROUP_ROWS ? end - from : GROUP_ROWS;
            p.a.data = moved(p.a.data, p.a.dtype, from * p.m);
            p.b.data = moved(p.b.data, p.b.dtype, from * p.n);
            p.c = c;
            p.add = true;
            multiply(&p, l->scratch, l->stream->pool);
            from += p.k;
        }
    }
    return 0;
}

static size_t grouped_scratch(const Launch *l, int n_threads)
{
    const bool is_outer = l->dims->in[1].dim[0].n == 1;
    Product p = of_all_rows(l, is_outer);
    const int64_t n_rows = tensor_count(&l->in[2]);
    const int64_t rows = n_rows < GROUP_ROWS ? n_rows : GROUP_ROWS;
    size_t most = 0;
    for (int64_t n = 1; n <= rows; n++) {
        *(is_outer ? &p.k : &p.m) = n;
        const size_t bytes = multiply_scratch(&p, n_threads);
        if (bytes > most) most = bytes;
    }
    return most;
}

static bool grouped_serves(const Launch *l)
{
    const bool is_outer = l->dims->in[1].dim[0].n == 1;
    const int64_t experts = is_outer ? l->out[0].size[0] : l->in[1].size[0];
    if (!floats_fit(l) || tensor_count(&l->in[0]) == 0 || tensor_count(&l->in[1]) == 0 ||
        (is_outer && l->out[0].dtype != F32))
        return false;
    Product p = of_all_rows(l, is_outer); /* those of an expert, on average */
    *(is_outer ? &p.k : &p.m) /= experts;
    return product_fits(&p);
}

#endif
