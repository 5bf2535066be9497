/* cuda_ranges.h - names of ops in what NVIDIA's profilers show: NVTX ranges around the launches of
 * each, which cost next to nothing where no profiler has attached itself. */
#ifndef DEVICE_CUDA_CUDA_RANGES_H
#define DEVICE_CUDA_CUDA_RANGES_H
#include "device/cuda/cuda.h"
#include <nvtx3/nvToolsExt.h>

/* From here on what this thread starts belongs to the launch's op, and its block of the model. */
static inline void cuda_range_begin(const Cuda *d, const Launch *l)
{
    nvtxEventAttributes_t range = { .version = NVTX_VERSION,
                                    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                    .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                    .message.ascii = d->op_name && l->op ? d->op_name(l) : "kernel",
                                    .payloadType = NVTX_PAYLOAD_TYPE_INT64,
                                    .payload.llValue = l->block };
    nvtxRangePushEx(&range);
}

static inline void cuda_range_end(void)
{
    nvtxRangePop();
}
#endif
