/* cuda_calls.h - every call of CUDA's libraries that this program makes, in one table.
 *
 * The libraries are opened by soname at run time; a test may fill the table with functions of its
 * own, so that all that calls them runs without a GPU. */
#ifndef DEVICE_CUDA_CUDA_CALLS_H
#define DEVICE_CUDA_CUDA_CALLS_H
#include "base/arena.h"
#include "base/error.h"
#include "device/cuda/nvml_calls.h"
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

/* clang-format off */
#define CUDA_RUNTIME_CALLS(CALL) \
    CALL(cudaDriverGetVersion) CALL(cudaRuntimeGetVersion) CALL(cudaGetErrorString) \
    CALL(cudaGetDeviceCount) CALL(cudaGetDeviceProperties) CALL(cudaSetDevice) CALL(cudaMemGetInfo) \
    CALL(cudaMalloc) CALL(cudaFree) CALL(cudaMallocHost) CALL(cudaFreeHost) \
    CALL(cudaMemcpyAsync) CALL(cudaMemcpy2DAsync) CALL(cudaMemsetAsync) \
    CALL(cudaStreamCreateWithPriority) CALL(cudaStreamDestroy) CALL(cudaStreamSynchronize) CALL(cudaStreamQuery) \
    CALL(cudaStreamWaitEvent) CALL(cudaEventCreateWithFlags) CALL(cudaEventDestroy) CALL(cudaEventRecord) CALL(cudaEventQuery) \
    CALL(cudaEventElapsedTime) CALL(cudaDeviceGetAttribute) \
    CALL(cudaStreamBeginCapture) CALL(cudaStreamEndCapture) CALL(cudaGraphInstantiate) \
    CALL(cudaGraphLaunch) CALL(cudaGraphExecDestroy) CALL(cudaGraphDestroy) \
    CALL(cudaLibraryLoadData) CALL(cudaLibraryUnload) CALL(cudaLibraryGetKernel) \
    CALL(cudaLibraryGetKernelCount) CALL(cudaLibraryEnumerateKernels) CALL(cudaFuncGetAttributes) \
    CALL(cudaKernelSetAttributeForDevice) CALL(cudaLaunchKernelExC)
#define CUBLASLT_CALLS(CALL) \
    CALL(cublasLtGetVersion) CALL(cublasLtGetStatusString) CALL(cublasLtCreate) CALL(cublasLtDestroy) \
    CALL(cublasLtMatmulDescCreate) CALL(cublasLtMatmulDescDestroy) CALL(cublasLtMatmulDescSetAttribute) \
    CALL(cublasLtMatrixLayoutCreate) CALL(cublasLtMatrixLayoutDestroy) CALL(cublasLtMatrixLayoutSetAttribute) \
    CALL(cublasLtMatmulPreferenceCreate) CALL(cublasLtMatmulPreferenceDestroy) \
    CALL(cublasLtMatmulPreferenceSetAttribute) CALL(cublasLtMatmulAlgoGetHeuristic) \
    CALL(cublasLtMatmulAlgoCheck) CALL(cublasLtMatmul)
#define CUDNN_CALLS(CALL) \
    CALL(cudnnGetVersion) CALL(cudnnGetErrorString) CALL(cudnnGetLastErrorString) \
    CALL(cudnnCreate) CALL(cudnnDestroy) CALL(cudnnSetStream) \
    CALL(cudnnBackendCreateDescriptor) CALL(cudnnBackendDestroyDescriptor) CALL(cudnnBackendSetAttribute) \
    CALL(cudnnBackendGetAttribute) CALL(cudnnBackendFinalize) CALL(cudnnBackendExecute)
#define NCCL_CALLS(CALL) \
    CALL(ncclGetVersion) CALL(ncclGetErrorString) CALL(ncclGetUniqueId) CALL(ncclCommInitRankConfig) \
    CALL(ncclCommGetAsyncError) CALL(ncclCommFinalize) CALL(ncclCommDestroy) CALL(ncclCommAbort) \
    CALL(ncclGroupStart) CALL(ncclGroupEnd) CALL(ncclAllReduce) CALL(ncclAllGather) \
    CALL(ncclReduceScatter) CALL(ncclBroadcast) CALL(ncclReduce) CALL(ncclSend) CALL(ncclRecv)
#define NVML_CALLS(CALL) \
    CALL(nvmlInit_v2) CALL(nvmlShutdown) CALL(nvmlDeviceGetHandleByPciBusId_v2) \
    CALL(nvmlDeviceGetComputeRunningProcesses_v3) CALL(nvmlDeviceGetMemoryInfo)
/* clang-format on */

#define CUDA_CALL_MEMBER(name) __typeof__(&(name)) name;
typedef struct CudaCalls {
    CUDA_RUNTIME_CALLS(CUDA_CALL_MEMBER)
    CUBLASLT_CALLS(CUDA_CALL_MEMBER)
    CUDNN_CALLS(CUDA_CALL_MEMBER) /* all NULL where there is no cuDNN */
    NVML_CALLS(CUDA_CALL_MEMBER)  /* likewise */
    NCCL_CALLS(CUDA_CALL_MEMBER)  /* after nccl_calls_get */
} CudaCalls;
#undef CUDA_CALL_MEMBER

/* The table, filled once per process; an error names the library that is missing and where it was
 * looked for. */
Error *cuda_calls_get(const CudaCalls **out);
/* The same, with NCCL's calls, which only several ranks need. */
Error *nccl_calls_get(const CudaCalls **out);
/* NULL for cudaSuccess; else "what: reason". */
Error *cuda_error(const CudaCalls *c, cudaError_t status, const char *what);
#endif
