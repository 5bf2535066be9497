/* moves.h - copies, sums and conversions between places in the memory of a launch's device.
 *
 * For kernels of transfers, which are the same on every device. All work in the order of the
 * launch's stream and return statuses of kernels. */
#ifndef OPS_MOVES_H
#define OPS_MOVES_H
#include "device/device.h"

/* n rows of `bytes` bytes, which lie `to_step` and `from_step` bytes apart. */
int move_rows(const Launch *l, void *to, size_t to_step, const void *from, size_t from_step,
              size_t bytes, int64_t n);
int move_bytes(const Launch *l, void *to, const void *from, size_t bytes);
int move_clear(const Launch *l, void *to, size_t bytes);
/* to[i] += from[i]. Sums of F32 are made in F32, others in F64. */
int move_add(const Launch *l, void *to, Dtype to_type, const void *from, Dtype from_type,
             int64_t n);
/* to[i] = from[i]. */
int move_convert(const Launch *l, void *to, Dtype to_type, const void *from, Dtype from_type,
                 int64_t n);
/* Between the host and the device; done on return. */
int move_now(const Launch *l, void *to, const void *from, size_t bytes);
#endif
