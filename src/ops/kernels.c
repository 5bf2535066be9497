/* kernels.c - finds the best tuned kernel for a launch. */
#include "ops/kernels.h"
#include "ops/through_f32.h"
#include <string.h>

/* Compares one word of a row's `types` with a dtype and steps after it. */
static bool match_type(const char **types, char end, Dtype t)
{
    const char *name = dtype_name(t), *p = *types;
    size_t n = strcspn(p, " >");
    bool same = (n == strlen(name) && !strncmp(p, name, n)) || (n == 3 && !strncmp(p, "any", 3));
    if (!same || (p[n] && p[n] != end && p[n] != ' ')) return false;
    *types = p + n + (p[n] != 0);
    return true;
}

static bool match_types(const char *types, const Launch *l)
{
    if (!strcmp(types, "*")) return true;
    if (l->n_in == 0 && *types++ != '>') return false;
    for (int k = 0; k < l->n_in; k++)
        if (!match_type(&types, '>', l->in[k].dtype)) return false;
    for (int k = 0; k < l->n_out; k++)
        if (!match_type(&types, 0, l->out[k].dtype)) return false;
    return *types == 0;
}

bool kernel_fits_types(const KernelDef *k, const Launch *l)
{
    return match_types(k->types, l);
}

static const KernelDef *find(const KernelDef *const *tables, const char *op, const char *device,
                             CpuLevel level, const Launch *l)
{
    const KernelDef *best = NULL;
    for (int t = 0; tables[t]; t++)
        for (const KernelDef *k = tables[t]; k->op; k++) {
            if (strcmp(k->op, op) || strcmp(k->device, device) || k->level > level) continue;
            if (level == CPU_AMX && k->level == CPU_AVX512_PAIRS) continue; /* see base/cpu.h */
            if (best && best->level >= k->level) continue;
            if (match_types(k->types, l) && (!k->serves || k->serves(l))) best = k;
        }
    return best;
}

const KernelDef *kernel_find(const char *op, const char *device, CpuLevel level, const Launch *l)
{
    return find(all_cpu_kernels, op, device, level, l);
}

const KernelDef *kernel_of_device(const char *op, const Device *d, CpuLevel level, const Launch *l)
{
    const KernelDef *k = find(d->tables ? d->tables : all_cpu_kernels, op, d->kernels, level, l);
    return k || strcmp(d->kernels, "cpu") ? k : kernel_through_f32(op, level, l);
}

const char *kernel_name(const KernelDef *k)
{
    return !k ? "reference" : strcmp(k->device, "cpu") ? k->device : cpu_level_name(k->level);
}
