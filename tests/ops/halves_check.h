/* halves_check.h - whether kernels are exact with numbers in two halves (tensor/halves.h). */
#ifndef TESTS_OPS_HALVES_CHECK_H
#define TESTS_OPS_HALVES_CHECK_H
#include "kernel_check.h"

/* Bits of f32 numbers: every high half with low ones around where rounding changes. */
enum { HALVES_HIGH = 1 << 16, HALVES_LOW = 7, HALVES_ALL = HALVES_HIGH * HALVES_LOW };
float halves_number(int64_t i);

/* The kernels of these tables and this level split and join all of them as tensor/halves.h does,
 * and a step of Adam gives the same bits for parameters in halves and whole ones. */
void halves_assert_exact(const KernelDef *const *tables, CpuLevel level, const KernelRunner *how);
#endif
