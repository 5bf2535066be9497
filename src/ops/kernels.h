/* kernels.h - tuned kernels are rows of tables; without one, the CPU falls back to the reference.
 */
#ifndef OPS_KERNELS_H
#define OPS_KERNELS_H
#include "graph/op.h"

/* `types` lists the dtypes of inputs and results a row serves, "f32 f32>f32", as dtype_name spells
 * them; "any" in a place accepts all, and "*" any number of any operands. Rows are tried from the
 * highest level that the machine has.
 */
typedef struct KernelDef {
    const char *op, *device, *types;
    CpuLevel level; /* KERNEL_PLAIN: by far not as fast as the device could be, which is told where
                       it is felt, and only taken where there is no other row */
    Kernel *run;
    /* Bytes of scratch; NULL: what the op says. */
    size_t (*scratch)(const Launch *l, int n_threads);
    /* False when this row cannot serve these shapes (an odd head size ...); NULL: always true. */
    bool (*serves)(const Launch *l);
} KernelDef;

/* All tables of tuned CPU kernels, ending with NULL; each ends with an empty row. */
extern const KernelDef *const all_cpu_kernels[];
/* The best row for this launch among the program's own, or NULL. */
const KernelDef *kernel_find(const char *op, const char *device, CpuLevel level, const Launch *l);
/* The best row that the device has for this launch, or NULL. */
const KernelDef *kernel_of_device(const char *op, const Device *d, CpuLevel level, const Launch *l);
/* What runs, as people are told: "avx512", "cuda"; NULL is the reference. */
const char *kernel_name(const KernelDef *k);
/* Whether a row is for operands of these dtypes. */
bool kernel_fits_types(const KernelDef *k, const Launch *l);
#endif
