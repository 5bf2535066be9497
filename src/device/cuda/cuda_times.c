/* cuda_times.c - when a GPU came to a place of a stream, and how quick it can be at most. */
#include "device/cuda/cuda.h"

Error *cuda_stamp(Device *device, Stream *s, StreamMark *m)
{
    const Cuda *d = (const Cuda *)device;
    const CudaCalls *c = d->calls;
    cudaEvent_t event = m->handle;
    TRY(cuda_error(c, c->cudaSetDevice(d->number), "choosing the GPU"));
    if (!event)
        TRY(cuda_error(c, c->cudaEventCreateWithFlags(&event, cudaEventDefault),
                       "making an event"));
    m->handle = event;
    return cuda_error(c, c->cudaEventRecord(event, cuda_stream_of(s)->queue), "recording an event");
}

Error *cuda_elapsed(Device *device, const StreamMark *from, const StreamMark *to, double *out)
{
    const CudaCalls *c = ((const Cuda *)device)->calls;
    float milliseconds = 0;
    TRY(cuda_error(c, c->cudaEventElapsedTime(&milliseconds, from->handle, to->handle),
                   "reading the time of an event"));
    *out = (double)milliseconds * 1e-3;
    return NULL;
}

/* By datasheet, for dense products: FLOP/s of a multiprocessor and clock, by generation. */
double cuda_peak_flops(const Device *device, Dtype t)
{
    const Cuda *d = (const Cuda *)device;
    const bool is_hopper = d->facts.major >= 9, is_narrow = t == BF16 || t == F16;
    const double hopper = (t == F8_E4M3 || t == F8_E5M2 ? 1978.9e12
                           : is_narrow                  ? 989.4e12
                           : d->tf32                    ? 494.7e12
                                                        : 66.9e12) /
                          132,
                 ampere = (is_narrow ? 311.9e12
                           : d->tf32 ? 155.9e12
                                     : 19.5e12) /
                          108;
    return (is_hopper ? hopper : ampere) * d->facts.multiProcessorCount;
}

/* By the clock of its memory, which gives two bits of each line at a time. */
double cuda_peak_bytes(const Device *device)
{
    const Cuda *d = (const Cuda *)device;
    int kilohertz = 0, bits = 0;
    if (d->calls->cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, d->number) ||
        d->calls->cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, d->number))
        return 0;
    return 2e3 * kilohertz * bits / 8;
}
