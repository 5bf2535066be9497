/* compress_windows.h - where the rows of a window lie, for all kernels; on a GPU as well. */
#ifndef OPS_COMPRESS_WINDOWS_H
#define OPS_COMPRESS_WINDOWS_H
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define COMPRESS_INLINE __host__ __device__ static inline
#else
#define COMPRESS_INLINE static inline
#endif

/* A window of a text. Tokens are counted from its beginning; [from, to) are those that there are.
 */
typedef struct Window {
    int64_t rate, from, to, first; /* first: its own first token */
    bool overlaps;
} Window;

/* Rows that a window may have: row i is token `token` at place `place`, with the features of its
 * own window or, where `before`, those of the next. False: there is no such token. */
COMPRESS_INLINE int64_t window_rows(const Window *w)
{
    return w->overlaps ? 2 * w->rate : w->rate;
}

COMPRESS_INLINE bool window_row(const Window *w, int64_t i, int64_t *token, int64_t *place,
                                bool *before)
{
    *before = w->overlaps && i < w->rate;
    *place = i % w->rate;
    *token = w->first + *place - (*before ? w->rate : 0);
    return *token >= w->from && *token < w->to;
}
#endif
