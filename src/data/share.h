/* share.h - which part of a work one of several ranks does. */
#ifndef DATA_SHARE_H
#define DATA_SHARE_H
#include <stdint.h>

/* Zeros: the only rank. */
typedef struct Share {
    int64_t rank, n;
} Share;

/* The items [*from, *to) of `total` that are this rank's; the shares of all ranks lie one after
 * the other. */
static inline void share_range(Share s, int64_t total, int64_t *from, int64_t *to)
{
    int64_t n = s.n > 1 ? s.n : 1, each = total / n, more = total % n;
    *from = s.rank * each + (s.rank < more ? s.rank : more);
    *to = *from + each + (s.rank < more);
}
#endif
