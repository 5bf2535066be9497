/* compress.h - tokens of a window as one: keys of compressed attention (DeepSeek-AI 2026). */
#ifndef OPS_COMPRESS_H
#define OPS_COMPRESS_H
#include "graph/op.h"

/* Attributes of "compress", its gradient and "compress_cached". */
typedef struct Compress {
    int64_t rate;  /* tokens of a window; windows begin at multiples of it */
    bool overlaps; /* a window has the tokens of the one before, too, with features of their own */
} Compress;

/* Tokens of a text that are kept for its next windows. */
int64_t compress_tail(const Compress *a);
/* x and gate [b s c], bias [rate c]: of each window [b t d] the mean of its rows of x, each feature
 * weighed by a softmax over them of gate + bias, that of the token's place in the window. With
 * overlaps c is 2 d: a token has the first d in the window behind its own, the others in its own;
 * else c is d. t is the number of windows that are begun; the last one may lack tokens. */
Value *compress(Graph *g, Value *x, Value *gate, Value *bias, const Compress *a);
/* The same of the windows that new tokens lie in, from that of the first one, RunTime.position /
 * rate, on, behind the last tokens of a text, which tail[0] and tail[1] [b 1 compress_tail c] have,
 * and get: of x and of gate. The last of the t may have no token, and be 0. */
Value *compress_cached(Graph *g, Value *const *tail, Value *x, Value *gate, Value *bias,
                       const Compress *a);
/* For each token of x [b s *] the windows [b s t] of so many tokens that it is not before the end
 * of, of keys [b t *] of windows, in ascending order; -1 behind the last (ops/select_keys.h). */
Value *ended_windows(Graph *g, Value *x, Value *keys, int64_t rate);
/* Attributes of "ended_windows". */
typedef struct EndedWindows {
    int64_t rate;
} EndedWindows;
#endif
