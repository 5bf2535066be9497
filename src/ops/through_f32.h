/* through_f32.h - tuned kernels of F32 serve F16, with conversions around them. */
#ifndef OPS_THROUGH_F32_H
#define OPS_THROUGH_F32_H
#include "ops/kernels.h"

/* A row for a launch on the CPU with operands of F16 that no row fits; NULL where there is none for
 * the same launch in F32, either. */
const KernelDef *kernel_through_f32(const char *op, CpuLevel level, const Launch *l);
#endif
