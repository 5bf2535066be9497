/* all_ops.c - the list of built-in ops and of tuned CPU kernels. */
#include "ops/all_ops.h"
#include "ops/kernels.h"
#include <string.h>

const OpDef *const all_ops[] = {
    &op_contract,
    NULL,
};

const KernelDef *const all_cpu_kernels[] = {
    NULL,
};

const OpDef *op_find(const char *name)
{
    for (int i = 0; all_ops[i]; i++)
        if (!strcmp(all_ops[i]->name, name)) return all_ops[i];
    return NULL;
}
