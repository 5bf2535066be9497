/* device_calls.h - a group of GPUs as a group whose memory is the host's, so that the tests of
 * every transport try it, too. */
#ifndef TESTS_CUDA_DEVICE_CALLS_H
#define TESTS_CUDA_DEVICE_CALLS_H
#include "comm/comm.h"
#include "device/device.h"

/* A group that copies what it is given to memory of the device, calls `there`, and copies back.
 * `out` frees `there` with itself; the device stays. */
Error *device_calls_new(Device *d, Comm *there, Comm **out);
#endif
