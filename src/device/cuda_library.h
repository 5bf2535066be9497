/* cuda_library.h - what the library that brings GPUs gives to the program, and how it is opened.
 *
 * Neither the program nor libmodalities knows CUDA: modalities-cuda.so, made by `make cuda`,
 * exports one table of these. */
#ifndef DEVICE_CUDA_LIBRARY_H
#define DEVICE_CUDA_LIBRARY_H
#include "device/device.h"

enum { CUDA_LIBRARY_VERSION = 5, MAX_GPUS = 64 };
#define CUDA_LIBRARY_NAME "modalities_cuda"

typedef struct Gpu {
    char name[96];
    size_t bytes, free_bytes;
    int major, minor, n_multiprocessors;
    char problem[160]; /* why it cannot be used; "": it can */
} Gpu;

typedef struct GpuReport {
    bool is_full; /* set by the caller: of all libraries, also of those that are loaded late */
    int n;
    Gpu gpu[MAX_GPUS];  /* those that CUDA_VISIBLE_DEVICES shows */
    char versions[256]; /* of driver and libraries; "": unknown */
    char problem[600];  /* why there is none; "": there are some */
} GpuReport;

/* What a run allows a GPU. */
typedef struct GpuFreedom {
    bool any_order; /* sums in an order that differs from run to run, where that is quicker */
    bool tf32;      /* products of f32 from factors of 11 bits */
    double longest; /* seconds that work may take which the host waits for; 0: as long as it does */
    const char *record; /* a file of the algorithms that products were made by: those that it has
                           are used again, others are added; NULL: none */
    /* Set by gpu_open: the same for all runs; NULL: none. And who hears of what is not as it should
     * be, but no error. */
    const char *cache;
    void (*tell)(const char *text);
} GpuFreedom;

typedef struct CudaLibrary {
    int version;
    size_t device_bytes, launch_bytes; /* of the structs that both know */
    void (*report)(GpuReport *out);
    /* The GPU of this number. `pool` is for work of the host; with the device it is released. */
    struct Error *(*open)(int number, const GpuFreedom *freedom, struct Pool *pool,
                          void (*release)(struct Pool *pool), Device **out);
} CudaLibrary;

/* What GPUs there are, in full; never fails. */
void gpu_report(GpuReport *out);
/* Whether the visible GPU of this number can be used; the error says why not. */
struct Error *gpu_check(int number);
/* For the GPUs that this thread opens from now on; at first nothing is allowed. */
void gpu_allow(const GpuFreedom *freedom);
/* Opens the visible GPU of this number; the error says why it cannot be used. */
struct Error *gpu_open(int number, int n_threads, Device **out);
#endif
