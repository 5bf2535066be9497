/* described_gpu.c - stands in for the driver while cuDNN plans for a GPU that is only described.
 *
 * It accepts compiled kernels and runs nothing; the name of the last one can be asked for. What
 * cuDNN looks up and does not call there only has to exist. */
#include <stdio.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))
#define EXISTS(name)                                                                               \
    SHOWN int name(void);                                                                          \
    int name(void)                                                                                 \
    {                                                                                              \
        return 0;                                                                                  \
    }

/* clang-format off */
EXISTS(cuInit) EXISTS(cuCtxGetCurrent) EXISTS(cuCtxGetDevice) EXISTS(cuCtxGetLimit)
EXISTS(cuCtxPopCurrent) EXISTS(cuCtxPushCurrent) EXISTS(cuCtxSetCurrent) EXISTS(cuCtxSetLimit) EXISTS(cuDeviceGet)
EXISTS(cuDeviceGetAttribute) EXISTS(cuDevicePrimaryCtxRelease) EXISTS(cuDevicePrimaryCtxReset)
EXISTS(cuDevicePrimaryCtxRetain) EXISTS(cuDriverGetVersion) EXISTS(cuFuncGetAttribute) EXISTS(cuFuncSetAttribute)
EXISTS(cuGetErrorName) EXISTS(cuGetErrorString) EXISTS(cuGetProcAddress_v2) EXISTS(cuKernelGetAttribute)
EXISTS(cuKernelSetAttribute) EXISTS(cuLaunchCooperativeKernel) EXISTS(cuLaunchKernel) EXISTS(cuLaunchKernelEx)
EXISTS(cuLibraryLoadFromFile) EXISTS(cuLibraryUnload) EXISTS(cuLinkAddData) EXISTS(cuLinkAddData_v2)
EXISTS(cuLinkAddFile_v2) EXISTS(cuLinkComplete) EXISTS(cuLinkCreate) EXISTS(cuLinkCreate_v2) EXISTS(cuLinkDestroy)
EXISTS(cuMemcpyDtoH_v2) EXISTS(cuModuleGetFunction) EXISTS(cuModuleGetGlobal_v2) EXISTS(cuModuleLoadData)
EXISTS(cuModuleLoadDataEx) EXISTS(cuModuleLoadFatBinary) EXISTS(cuModuleUnload)
EXISTS(cuOccupancyMaxActiveBlocksPerMultiprocessor) EXISTS(cuOccupancyMaxPotentialClusterSize)
EXISTS(cuOccupancyMaxActiveClusters) EXISTS(cuOccupancyAvailableDynamicSMemPerBlock)
EXISTS(cuStreamGetCtx) EXISTS(cuStreamSynchronize) EXISTS(cuTensorMapEncodeTiled) EXISTS(cuTensorMapEncodeIm2col)
EXISTS(cuMemsetD32Async) EXISTS(cuMemsetD8Async) EXISTS(cuMemcpyDtoHAsync_v2) EXISTS(cuMemcpyHtoDAsync_v2)
EXISTS(cuMemcpyHtoD_v2) EXISTS(cuKernelGetFunction) EXISTS(cuLibraryGetModule) EXISTS(cuDeviceGetName)
    /* clang-format on */

    static char last_kernel[256];

SHOWN const char *described_gpu_kernel(void);
const char *described_gpu_kernel(void)
{
    return last_kernel;
}

SHOWN int cuDeviceGetCount(int *n);
int cuDeviceGetCount(int *n)
{
    *n = 1;
    return 0;
}

SHOWN int cuGetExportTable(const void **table, const void *id);
int cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return 500;
}

SHOWN int cuLibraryLoadData(void **out, ...);
int cuLibraryLoadData(void **out, ...)
{
    *out = last_kernel;
    return 0;
}

SHOWN int cuLibraryGetKernel(void **out, void *library, const char *name);
int cuLibraryGetKernel(void **out, void *library, const char *name)
{
    *out = library;
    snprintf(last_kernel, sizeof last_kernel, "%s", name);
    return 0;
}
