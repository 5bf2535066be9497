/* attention_graph_cuda.h - attention as graphs of cuDNN. */
#ifndef OPS_ATTENTION_GRAPH_CUDA_H
#define OPS_ATTENTION_GRAPH_CUDA_H
#include "device/cuda/cudnn_graph.h"

/* What tells graphs apart; zeroed before it is filled, since it is compared byte by byte. */
typedef struct AttentionShape {
    int64_t n_batch, n_groups, n_repeat, n_tokens, d; /* of one call */
    int64_t all_groups;                               /* of the tensors, whose part a call sees */
    int64_t window;
    int32_t type; /* cudnnDataType_t of q */
    bool causal, documents, backward;
    bool any_order; /* backward: dq is added up in an order that differs from run to run */
} AttentionShape;

/* Numbers that a graph is given when it runs. */
typedef struct AttentionNumbers {
    float scale, nothing, one; /* `nothing`: the score of a key that is not seen */
    int32_t window;
} AttentionNumbers;

/* Tensors of a graph that are bound when it runs; NULL: it has none of that name. */
typedef struct AttentionGraph {
    AttentionShape shape;
    CudnnTensor *q, *k, *v, *o, *lse, *query_document, *key_document;
    CudnnTensor *out_grad, *q_grad, *k_grad, *v_grad;
    CudnnTensor *flow;   /* backward, scratch: of each row of q the sum of do * o, f32, dense */
    CudnnTensor *q_sum;  /* backward in any order, scratch: dq in f32, dense */
    CudnnTensor *hidden; /* backward over documents, scratch [batch][queries][keys]: 0, or -inf
                            where a query does not see a key */
    CudnnTensor *scale, *one, *nothing, *window;
    CudnnPlan plan;
} AttentionGraph;

/* Makes the shape that of a part, of sequences or of groups of heads, for which no more than so
 * many bytes are kept per query and key: scores, for gradients in a fixed order, and `hidden`. One
 * group of one sequence is taken whatever it has. */
void attention_shape_fit(AttentionShape *s, int64_t most_bytes);
/* Builds and plans; what is made lives as long as the arena. */
cudnnStatus_t attention_graph_make(const CudnnTarget *target, Arena *a, const AttentionShape *shape,
                                   AttentionGraph *out);
/* Scratch beside the plan's own workspace. */
size_t attention_flow_bytes(const AttentionShape *s);
size_t attention_sum_bytes(const AttentionShape *s);
size_t attention_hidden_bytes(const AttentionShape *s);
#endif
