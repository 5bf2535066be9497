/* cuda_record.c - work of a stream that is kept as a graph of CUDA, and done again by one call. */
#include "device/cuda/cuda.h"

static CudaStream *begin(Device *device, Stream *s, const CudaCalls **c, Error **e)
{
    const Cuda *d = (const Cuda *)device;
    *c = d->calls;
    *e = cuda_error(d->calls, d->calls->cudaSetDevice(d->number), "choosing the GPU");
    return s ? cuda_stream_of(s) : NULL;
}

/* Other threads may go on with what they do. */
Error *cuda_record(Device *device, Stream *s)
{
    const CudaCalls *c;
    Error *e;
    CudaStream *x = begin(device, s, &c, &e);
    if (!e)
        e = cuda_error(c, c->cudaStreamBeginCapture(x->queue, cudaStreamCaptureModeThreadLocal),
                       "recording a step");
    x->is_recorded = e == NULL;
    return e;
}

Error *cuda_record_end(Device *device, Stream *s, void **out)
{
    const CudaCalls *c;
    Error *e;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    CudaStream *x = begin(device, s, &c, &e);
    if (e) return e;
    x->is_recorded = false;
    e = cuda_error(c, c->cudaStreamEndCapture(x->queue, &graph), "recording a step");
    if (!e) e = cuda_error(c, c->cudaGraphInstantiate(&ready, graph, 0), "recording a step");
    if (graph) c->cudaGraphDestroy(graph);
    *out = ready;
    return e;
}

Error *cuda_replay(Device *device, void *recording, Stream *s)
{
    const CudaCalls *c;
    Error *e;
    const CudaStream *x = begin(device, s, &c, &e);
    if (e) return e;
    return cuda_error(c, c->cudaGraphLaunch(recording, x->queue), "running a recorded step");
}

void cuda_recording_free(Device *device, void *recording)
{
    const CudaCalls *c;
    Error *e;
    begin(device, NULL, &c, &e);
    error_free(e);
    if (recording && !((const Cuda *)device)->is_lost) c->cudaGraphExecDestroy(recording);
}
