/* cuda_wait.c - waiting for a GPU: until its work is done, cannot come to its end, or takes too
 * long; and what its errors mean. */
#include "base/clock.h"
#include "device/cuda/cuda.h"
#include <time.h>

const char *cuda_advice(cudaError_t status)
{
    switch (status) {
    case cudaErrorECCUncorrectable:
        return "its memory is damaged: `nvidia-smi -q -d ECC,ROW_REMAPPER` shows it, another GPU "
               "is needed until this one was reset";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
        return "with CUDA_LAUNCH_BLOCKING=1 and MODALITIES_CUDA_GRAPH=off the same run names the "
               "operation; `dmesg | grep Xid` tells whether the GPU itself is at fault";
    case cudaErrorUnknown:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorNoDevice:
    case cudaErrorLaunchTimeout:
        return "`nvidia-smi` and `dmesg | grep Xid` tell what is wrong with the GPU";
    default:
        return "";
    }
}

/* Its step, where the host has given it work of one. */
static Error *at_step(const CudaStream *s, Error *e)
{
    const RunTime *now = s->stream.now;
    return now ? error_wrap(e, "step %lld", (long long)now->step + 1) : e;
}

/* What began last is in the memory of a GPU whose copies may still work, though its kernels do not
 * end. */
static void look_where(CudaStream *s)
{
    enum { OFTEN = 1000, PAUSE = 1000000 }; /* nanoseconds */
    const Cuda *d = s->cuda;
    cudaError_t status = d->calls->cudaMemcpyAsync(s->seen, s->fault, sizeof *s->seen,
                                                   cudaMemcpyDeviceToHost, d->aside);
    for (int i = 0; i < OFTEN && status == cudaSuccess; i++) {
        status = d->calls->cudaStreamQuery(d->aside);
        if (status == cudaSuccess) {
            s->stream.reached = s->seen->begun;
            s->stream.microbatch_reached = s->seen->microbatch;
            return;
        }
        if (status == cudaErrorNotReady) status = cudaSuccess;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE }, NULL);
    }
}

/* What it was given does not come to its end, and nothing that waits for it would. */
static Error *hangs(CudaStream *s)
{
    Cuda *d = s->cuda;
    d->is_lost = true;
    look_where(s);
    return at_step(s, error_new("%s (GPU %d) has not finished its work in %g s and is given up "
                                "(settings.comm_timeout or MODALITIES_COMM_TIMEOUT allow more); "
                                "`nvidia-smi` and `dmesg | grep Xid` tell what is wrong with it",
                                d->facts.name, d->number, d->longest));
}

/* By looking, as that can be given up: often at first, as most work is done soon. */
static Error *wait_for(CudaStream *s, cudaEvent_t event)
{
    enum { SHORT = 20000, LONG = 1000000 }; /* nanoseconds */
    Cuda *d = s->cuda;
    const double from = clock_seconds();
    if (d->is_lost) return error_new("the GPU was given up");
    for (;;) {
        const cudaError_t status =
            event ? d->calls->cudaEventQuery(event) : d->calls->cudaStreamQuery(s->queue);
        if (status != cudaErrorNotReady)
            return at_step(s, cuda_error(d->calls, status, "waiting for the GPU"));
        if (d->groups) TRY(d->watch(d));
        const double waited = clock_seconds() - from;
        if (!d->groups && d->longest > 0 && waited > d->longest) return hangs(s);
        const long pause = waited < 10 ? SHORT : LONG;
        nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
    }
}

Error *cuda_wait_for(CudaStream *s)
{
    return wait_for(s, NULL);
}

Error *cuda_wait_until(CudaStream *s, cudaEvent_t event)
{
    return wait_for(s, event);
}
