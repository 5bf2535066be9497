/* cudnn_graph.h - graphs of operations that cuDNN makes one kernel of: built from tensors of four
 * dimensions, planned once, run often. */
#ifndef DEVICE_CUDA_CUDNN_GRAPH_H
#define DEVICE_CUDA_CUDNN_GRAPH_H
#include "device/cuda/cuda_calls.h"

typedef cudnnBackendDescriptor_t CudnnThing;

/* What plans are made for: a GPU that is there, or one that is described (such plans cannot run).
 */
typedef struct CudnnTarget {
    const CudaCalls *calls;
    cudnnHandle_t handle;
    CudnnThing described; /* NULL: that of the handle */
} CudnnTarget;

typedef struct CudnnTensor {
    CudnnThing it;
    int64_t id, size[4], stride[4];
    cudnnDataType_t type;
} CudnnTensor;

enum { CUDNN_MOST_OPS = 48, CUDNN_MOST_BOUND = 24 };

/* After the first failure nothing more is done, and `status` says which. */
typedef struct CudnnGraph {
    const CudnnTarget *target;
    Arena *arena; /* with it, all that was made is freed */
    cudnnStatus_t status;
    CudnnThing op[CUDNN_MOST_OPS];
    int n_ops;
    int64_t n_tensors;
} CudnnGraph;

typedef struct CudnnPlan {
    CudnnThing it;
    size_t workspace_bytes;
} CudnnPlan;

/* What a plan is given when it runs: memory, or for numbers an address of the host. */
typedef struct CudnnBound {
    int64_t id[CUDNN_MOST_BOUND];
    void *data[CUDNN_MOST_BOUND];
    int n;
} CudnnBound;

/* A graph whose things live as long as the arena. */
CudnnGraph *cudnn_graph_new(const CudnnTarget *target, Arena *arena);
/* A tensor in memory, at addresses that are multiples of `align`. */
CudnnTensor *cudnn_tensor(CudnnGraph *g, cudnnDataType_t t, const int64_t size[4],
                          const int64_t stride[4], int64_t align);
/* One that only the graph itself sees; `stride` NULL: dense. */
CudnnTensor *cudnn_inner(CudnnGraph *g, cudnnDataType_t t, const int64_t size[4],
                         const int64_t *stride);
/* One number of the host's. */
CudnnTensor *cudnn_number(CudnnGraph *g, cudnnDataType_t t);
/* y = mode(x, b) of each element, computed as f32; selections take b where t is false. `b` and `t`
 * may be NULL. Returns y. */
CudnnTensor *cudnn_pointwise(CudnnGraph *g, cudnnPointwiseMode_t mode, const CudnnTensor *x,
                             const CudnnTensor *b, const CudnnTensor *t, CudnnTensor *y);
/* The index along one dimension (2 or 3) of x. */
CudnnTensor *cudnn_index(CudnnGraph *g, const CudnnTensor *x, int64_t dim);
CudnnTensor *cudnn_matmul(CudnnGraph *g, const CudnnTensor *a, const CudnnTensor *b,
                          CudnnTensor *y);
/* Over the dimensions in which y has size 1 and x has more. */
CudnnTensor *cudnn_reduce(CudnnGraph *g, cudnnReduceTensorOp_t mode, const CudnnTensor *x,
                          CudnnTensor *y);
/* The same elements with other strides. */
CudnnTensor *cudnn_reshape(CudnnGraph *g, const CudnnTensor *x, CudnnTensor *y);
/* The first plan that the library's heuristic has for the graph. */
cudnnStatus_t cudnn_plan(CudnnGraph *g, CudnnPlan *out);

void cudnn_bind(CudnnBound *b, const CudnnTensor *t, const void *data);
/* Queues the graph's work on the stream of the target's handle. */
cudnnStatus_t cudnn_run(const CudnnTarget *target, const CudnnPlan *plan, const CudnnBound *bound,
                        void *workspace);
/* A GPU as JSON describes it. */
cudnnStatus_t cudnn_describe(const CudaCalls *calls, const char *json, CudnnThing *out);
#endif
