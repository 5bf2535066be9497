/* cpu_stream.h - work of the CPU that a thread of its own does, in the order given, beside the
 * caller's. */
#ifndef DEVICE_CPU_STREAM_H
#define DEVICE_CPU_STREAM_H
#include "device/device.h"

/* One piece of work: a kernel, or a copy, or (from NULL) a clearing of memory. */
typedef struct CpuWork {
    Kernel *kernel;
    const Launch *launch;
    void *to;
    const void *from;
    size_t bytes;
} CpuWork;

/* A stream with a thread; its kernels have a pool of their own, of one thread. An error where the
 * system allows no further thread. */
struct Error *cpu_stream_new(Stream **out);
/* Waits until all that it was given is done. */
void cpu_stream_free(Stream *s);
void cpu_stream_give(Stream *s, const CpuWork *w);
/* The end of all that the stream was given so far. */
void cpu_stream_mark(Stream *s, StreamMark *m);
/* What `later` is given from now on waits for the mark of another such stream; with `later` NULL
 * the caller waits. */
void cpu_stream_wait(Stream *later, const StreamMark *m);
#endif
