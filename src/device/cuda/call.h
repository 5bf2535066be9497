/* call.h - what a kernel on a GPU is given: a Launch as one block of plain numbers.
 *
 * Every kernel has this one parameter, so that launching, looking kernels up and running them
 * without a GPU need no further code per kernel. Compiles as C, C++ and CUDA. */
#ifndef DEVICE_CUDA_CALL_H
#define DEVICE_CUDA_CALL_H
#include "device/device.h"

enum { CALL_IN = 10, CALL_OUT = 7, CALL_PARTS = 8, CALL_ATTRS = 320, CALL_NUMBERS = 4 };

/* Which indices of a dimension this rank has (tensor.h, Part), in a form that is quick to follow:
 * local index i is `shift + i` of an outer part of `outer` indices, whose first `chunk` ones begin
 * at `first` in the whole, and the others at `second`. */
typedef struct CallPart {
    int64_t whole, size, shift, outer, chunk, first, second;
} CallPart;

typedef struct CallTensor {
    void *data;
    int64_t size[MAX_DIMS];
    int64_t count;
    int32_t dtype, n_dims;
    int8_t part[MAX_DIMS]; /* by dimension: which of Call.part; -1: whole */
    int8_t add;            /* a result is added to what is there */
} CallTensor;

/* What a stream's kernels tell, in memory of the device. */
typedef struct CallFault {
    int32_t status; /* of the first that failed; KERNEL_OK: none */
    int32_t padding;
    const Launch *launch; /* that one's, its step, and its microbatch */
    int64_t step_failed, microbatch_failed;
    const Launch *begun; /* the last that began, and its microbatch */
    int64_t microbatch;
} CallFault;

typedef struct Call {
    CallTensor in[CALL_IN], out[CALL_OUT];
    CallPart part[CALL_PARTS];
    const RunTime *now;
    void *scratch;
    CallFault *fault;
    const Launch *launch;
    int64_t number[CALL_NUMBERS]; /* what a launcher tells its kernel beside the rest */
    int32_t n_in, n_out;
    char attrs[CALL_ATTRS]; /* of the op; or what the launcher puts there */
} Call;
#endif
