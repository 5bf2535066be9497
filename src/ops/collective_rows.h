/* collective_rows.h - which rows of a tensor each rank of a group has. */
#ifndef OPS_COLLECTIVE_ROWS_H
#define OPS_COLLECTIVE_ROWS_H
#include "comm/comm.h"
#include "device/device.h"
#include "ops/moves.h"

/* A dimension that a group of ranks divides: `wide` before, `narrow` after. */
typedef struct Rows {
    const Tensor *wide, *narrow;
    int dim, size;
    int64_t before, after; /* products of the dimensions around `dim` */
    bool in_order;         /* the ranks' rows are one block each, one after the other */
} Rows;

/* The group of a launch; size 1 where there is none. */
int collective_size(const Launch *l);
/* Tells the group what it is used for, so that whoever waits can say so. */
void collective_use(const Launch *l);
/* Memory of the host for n numbers, which the caller frees: a launch's may be a device's. */
int64_t *collective_numbers(int n);
/* Keeps the error in the group and makes a status of it. */
int collective_status(Comm *c, Error *e);

Rows rows_of(const Launch *l, const Tensor *wide, const Tensor *narrow, int dim);
/* Rows of `member` that are not padding. */
int64_t rows_count(const Rows *r, int member);
/* Elements of each member, padding left out; counts[size]. */
void rows_counts(const Rows *r, int64_t *counts);
/* Copies between `wide` and `packed`, which is laid out like `narrow`; what is padding in `packed`
 * becomes zero. Return statuses. */
int rows_pack(const Launch *l, const Rows *r, int member, char *packed);
int rows_unpack(const Launch *l, const Rows *r, int member, const char *packed);
#endif
