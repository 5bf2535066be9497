/* float8_grid.c - which scale an element of a factor in eight bits has. */
#include "ops/float8.h"

bool float8_grid(const Operand *of, const Tensor *t, const Operand *scale, Float8Grid *out)
{
    const int last = of->n_dims - 1;
    *out = (Float8Grid){ .rows = last > 0 ? tensor_volume(t, 0, last) : 1,
                         .columns = last >= 0 ? t->size[last] : 1 };
    if (scale->n_dims == 0) return true;
    if (scale->n_dims == 1 && scale->dim[0].slot[0] == of->dim[last].slot[0]) {
        out->column_step = 1;
        return true;
    }
    if (scale->n_dims != last) return false;
    for (int d = 0; d < last; d++)
        if (scale->dim[d].slot[0] != of->dim[d].slot[0]) return false;
    out->row_step = 1;
    return true;
}
