/* device.h - what a kernel is given and what a device can do. Also compiles as C++. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H
#include "base/cpu.h"
#include "tensor/tensor.h"

struct DimSpec;
struct Error;
struct Pool;

/* Known only while running, the same for all kernels of one action; never baked into a Launch. */
typedef struct RunTime {
    int64_t step;       /* optimizer steps done before this one; part of dropout keys */
    int64_t updates;    /* those of them that changed the parameters: Adam's bias correction */
    int64_t microbatch; /* of this step; part of dropout keys */
    int64_t position;   /* of the first token of the inputs; above 0 only with a KV cache */
    double lr;          /* learning rate of this step */
    double loss_scale;  /* gradient of the loss: 1 / microbatches, or 1 / tokens of the step */
    uint64_t seed;
} RunTime;

/* A queue of work. On the CPU: a thread pool; calls return when the work is done. */
typedef struct Stream {
    struct Pool *pool;
    void *handle;
} Stream;

/* One call of a kernel; fixed when the plan is made. */
typedef struct Launch {
    const void *attrs;
    const struct DimSpec *dims; /* tells which dimension is which; sizes are those of the tensors */
    const Tensor *in;
    Tensor *out;
    int n_in, n_out;
    unsigned add; /* bit k: add to out[k] what would be written (ops with OP_ADDS only) */
    void *scratch;
    const RunTime *now;
    Stream *stream;
} Launch;

/* A status of its own: an id, target or position lies outside of its table. */
enum { KERNEL_OK, KERNEL_BAD_INDEX };

/* KERNEL_OK (0), or a status that exec reports with op, layer and microbatch. Never prints or
 * exits. */
typedef int Kernel(const Launch *l);

typedef struct Device {
    const char *name; /* "cpu", "cuda" */
    /* 64-byte aligned, zeroed and touched memory. */
    struct Error *(*alloc)(struct Device *d, size_t bytes, void **out);
    void (*release)(struct Device *d, void *p, size_t bytes);
    struct Error *(*copy)(struct Device *d, void *to, const void *from, size_t bytes, Stream *s);
    struct Error *(*stream_new)(struct Device *d, Stream **out);
    void (*stream_free)(struct Device *d, Stream *s);
    struct Error *(*stream_wait)(Stream *later, Stream *earlier);
    struct Error *(*synchronize)(Stream *s);
    size_t (*free_bytes)(const struct Device *d);
} Device;

/* The CPUs of this machine; n_threads 0: all. The caller frees it. */
Device *cpu_device_new(int n_threads);
void cpu_device_free(Device *d);
#endif
