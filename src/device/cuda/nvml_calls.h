/* nvml_calls.h - the few calls of NVIDIA's management library that this program makes; it comes
 * with the driver, and no toolkit has a header of it. */
#ifndef DEVICE_CUDA_NVML_CALLS_H
#define DEVICE_CUDA_NVML_CALLS_H

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlProcessInfo {
    unsigned pid;
    unsigned long long usedGpuMemory; /* all bits set: unknown */
    unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo;

typedef struct nvmlMemory {
    unsigned long long total, free, used;
} nvmlMemory;

/* Each returns 0 where all is well. */
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *out);
/* *n: room before, number of processes after. */
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *n, nvmlProcessInfo *out);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory *out);
#endif
