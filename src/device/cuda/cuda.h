/* cuda.h - a GPU as a device, for the launchers of kernels (src/ops, *_cuda.c). */
#ifndef DEVICE_CUDA_CUDA_H
#define DEVICE_CUDA_CUDA_H
#include "base/map.h"
#include "device/cuda/call.h"
#include "device/cuda/cudnn_graph.h"
#include "device/cuda_library.h"

struct Matmuls;

/* Another program that uses the GPU. */
typedef struct CudaNeighbour {
    char name[96];
    size_t bytes;
} CudaNeighbour;

enum { CUDA_NEIGHBOURS = 8 };

/* What a GPU's memory goes to beside what a program asks for; measured when it is opened, cuDNN's
 * when that is. */
typedef enum {
    TAKEN_CONTEXT,
    TAKEN_KERNELS,
    TAKEN_PRODUCTS,
    TAKEN_ATTENTION,
    TAKEN_OTHERS, /* programs that the driver does not name */
    N_TAKEN
} Taken;

typedef struct CudaBefore {
    size_t free_bytes; /* 0: not known */
    CudaNeighbour neighbour[CUDA_NEIGHBOURS];
    int n_neighbours;
} CudaBefore;

typedef struct Cuda {
    Device device;
    const CudaCalls *calls;
    Arena *arena;
    int number; /* among the visible GPUs */
    struct cudaDeviceProp facts;
    cudaLibrary_t *library; /* images of kernels */
    int n_libraries;
    Map *kernel;             /* cudaKernel_t by name */
    struct Matmuls *matmuls; /* products through cuBLASLt */
    CudnnTarget cudnn;       /* see cuda_cudnn */
    bool is_cudnn_sought;
    bool any_order, tf32; /* as GpuFreedom */
    double longest;       /* likewise */
    bool is_lost;         /* it hangs: whatever would wait for it is left as it is */
    cudaStream_t aside;   /* for looking at a GPU that hangs */
    char described[256];  /* the last status that was described */
    Map *kept; /* what launchers keep as long as the device is there, by a key of theirs */
    size_t taken[N_TAKEN];
    const CudaBefore *before; /* this process used it */
    size_t workspace_bytes;   /* of all streams */
    struct Pool *pool;
    void (*release_pool)(struct Pool *pool);
    /* The name of a launch's op, for profilers; NULL: none. */
    const char *(*op_name)(const Launch *l);
    /* Groups of ranks (comm/cuda); NULL: there is none. */
    struct NcclGroup *groups;
    /* Whether work that is waited for will still come to its end: an error tells why not. */
    Error *(*watch)(struct Cuda *d);
    /* Keeps an error in the group of a launch and gives the status that says so. */
    int (*keep_error)(struct Comm *c, Error *e);
    void (*free_groups)(struct Cuda *d);
} Cuda;

/* What Stream.handle points to. */
typedef struct CudaStream {
    Stream stream;
    Cuda *cuda;
    cudaStream_t queue;
    CallFault *fault; /* in memory of the device */
    CallFault *seen;  /* pinned: a copy of it */
    void *workspace;  /* of products; NULL: not needed yet */
    bool is_recorded; /* what it is given goes to a graph */
} CudaStream;

enum { CUDA_WORKSPACE = 64 << 20 };

/* The GPU of this number, with these images of kernels (ended by NULL) and these rows. */
Error *cuda_device_new(const CudaCalls *calls, int number, const void *const *images,
                       const struct KernelDef *const *tables, Cuda **out);
CudaStream *cuda_stream_of(const Stream *s);
/* Waits for all that the stream was given. Where ranks work together, looks now and then whether it
 * can come to an end. */
Error *cuda_wait_for(CudaStream *s);
/* The same for what it was given before the event. */
Error *cuda_wait_until(CudaStream *s, cudaEvent_t event);
/* What to do about an error of the GPU or its driver; "": nothing is known. */
const char *cuda_advice(cudaError_t status);
extern const Moves cuda_moves;
/* Times that the GPU itself keeps (device.h, stamp). */
Error *cuda_stamp(Device *d, Stream *s, StreamMark *m);
Error *cuda_elapsed(Device *d, const StreamMark *from, const StreamMark *to, double *out);
/* What it reaches at most (device.h, peak_flops). */
double cuda_peak_flops(const Device *device, Dtype t);
double cuda_peak_bytes(const Device *device);
/* What a stream is given as a graph of CUDA (device.h, record). */
Error *cuda_record(Device *d, Stream *s);
Error *cuda_record_end(Device *d, Stream *s, void **out);
Error *cuda_replay(Device *d, void *recording, Stream *s);
void cuda_recording_free(Device *d, void *recording);
/* A status for what a call of CUDA gave; KERNEL_OK for success. */
int cuda_status(cudaError_t status);
/* Bytes for products of this stream, which are made at the first call. */
Error *cuda_workspace(CudaStream *s, void **out);

/* A GPU before this process used it: must be looked at before it does, as in a container it may not
 * know itself by number. It stays. */
const CudaBefore *cuda_before(const CudaCalls *c, int number, const struct cudaDeviceProp *facts);
/* cuDNN on this GPU, started at the first call; NULL where there is none. */
const CudnnTarget *cuda_cudnn(Cuda *d);
/* A status for what a call of cuDNN gave. */
int cuda_cudnn_status(cudnnStatus_t status);

/* What a kernel needs to know of a launch. */
Call cuda_call(const Launch *l);
/* What it needs to know of one tensor; `part` counts the parts taken so far. */
CallTensor cuda_call_tensor(Call *c, int *part, const Tensor *t);
/* Starts `blocks` blocks of `threads` threads in the order of the launch's stream. `shared`: bytes
 * of dynamic shared memory. Returns a status. Nothing is started for 0 blocks. */
int cuda_start(const Launch *l, const char *kernel, const Call *c, int64_t blocks, int threads,
               size_t shared);
/* The same for kernels that need no more than the launch and its attributes, of which it takes so
 * many bytes. */
int cuda_run(const Launch *l, const char *kernel, size_t attrs_bytes, int64_t blocks, int threads);
/* A kernel whose threads take elements of result 0 in turns, eight at a time. */
int cuda_run_elements(const Launch *l, const char *kernel, size_t attrs_bytes);
/* The blocks of `threads` threads that n items need, but no more than fill the GPU a few times. */
int64_t cuda_blocks(const Launch *l, int64_t n, int threads);
/* Multiprocessors of the GPU that a launch runs on. */
int cuda_multiprocessors(const Launch *l);
/* Copies a few bytes of the host, which may change at once, to the device in the stream's order. */
int cuda_upload(const Launch *l, void *to, const void *from, size_t bytes);
/* Copies within the device. */
int cuda_move(const Launch *l, void *to, const void *from, size_t bytes);
int cuda_clear(const Launch *l, void *to, size_t bytes);
/* Sets every byte. */
int cuda_fill(const Launch *l, void *to, int byte, size_t bytes);
/* Whether all floats are of dtypes that kernels read: f32, bf16, f16. */
bool cuda_floats_fit(const Launch *l);
#endif
