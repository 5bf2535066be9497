/* reference.c - conversions around a reference kernel, so that each is written once, in double.
 *
 * A result that shares its memory with an input (an optimizer's parameter) is read before it is
 * written: inputs are converted first, results last. */
#include "ops/reference.h"
#include "base/error.h"
#include "ops/collective_rows.h"

enum { ALIGN = 64 };

static Dtype working_dtype(Dtype t)
{
    return dtype_is_float(t) ? F64 : I32;
}

static size_t working_bytes(const Tensor *t)
{
    size_t bytes = dtype_size(working_dtype(t->dtype)) * (size_t)tensor_count(t);
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool needs_copy(const Launch *l, const Tensor *t, bool is_result, int k)
{
    return t->dtype != working_dtype(t->dtype) || (is_result && launch_adds(l, k));
}

size_t reference_scratch(const OpDef *op, const Launch *l)
{
    if (op->flags & OP_COMM) return op->scratch ? op->scratch(l) : 0;
    size_t bytes = sizeof(Tensor) * (size_t)(l->n_in + l->n_out) + ALIGN;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    for (int k = 0; k < l->n_in; k++)
        if (needs_copy(l, &l->in[k], false, k)) bytes += working_bytes(&l->in[k]);
    for (int k = 0; k < l->n_out; k++)
        if (needs_copy(l, &l->out[k], true, k)) bytes += working_bytes(&l->out[k]);
    return bytes;
}

static void *take(char **scratch, size_t bytes)
{
    void *p = *scratch;
    *scratch += bytes;
    return p;
}

static void write_result(const Launch *l, int k, const Tensor *made)
{
    Tensor *to = &l->out[k];
    int64_t n = tensor_count(to);
    if (launch_adds(l, k))
        for (int64_t i = 0; i < n; i++)
            dtype_set(to->dtype, to->data, i,
                      dtype_get(to->dtype, to->data, i) + ((double *)made->data)[i]);
    else
        dtype_convert(to->dtype, to->data, made->dtype, made->data, n);
}

int reference_run(const OpDef *op, const Launch *l)
{
    CHECK(op->reference != NULL);
    if (l->comm) collective_use(l);
    if (op->flags & OP_COMM) return op->reference(l);
    char *scratch = l->scratch;
    size_t table = (sizeof(Tensor) * (size_t)(l->n_in + l->n_out) + 2 * ALIGN - 1) / ALIGN * ALIGN;
    Tensor *in = take(&scratch, table), *out = in + l->n_in;
    for (int k = 0; k < l->n_in; k++) {
        in[k] = l->in[k];
        if (!needs_copy(l, &l->in[k], false, k)) continue;
        in[k].dtype = working_dtype(in[k].dtype);
        in[k].data = take(&scratch, working_bytes(&l->in[k]));
        dtype_convert(in[k].dtype, in[k].data, l->in[k].dtype, l->in[k].data, tensor_count(&in[k]));
    }
    for (int k = 0; k < l->n_out; k++) {
        out[k] = l->out[k];
        if (!needs_copy(l, &l->out[k], true, k)) continue;
        out[k].dtype = working_dtype(out[k].dtype);
        out[k].data = take(&scratch, working_bytes(&l->out[k]));
    }
    Launch inner = *l;
    inner.in = in;
    inner.out = out;
    inner.add = NULL;
    inner.scratch = NULL;
    int status = op->reference(&inner);
    for (int k = 0; k < l->n_out; k++)
        if (out[k].data != l->out[k].data) write_result(l, k, &out[k]);
    return status;
}
