/* box.h - rectangles of a tensor: where a part lies in the whole, and copying between parts. */
#ifndef CHECKPOINT_BOX_H
#define CHECKPOINT_BOX_H
#include "base/arena.h"
#include "base/str.h"
#include "tensor/tensor.h"

/* The indices start[d] <= i < start[d] + size[d]. Numbers of a box are dense and row-major. */
typedef struct Box {
    int n_dims;
    int64_t start[MAX_DIMS], size[MAX_DIMS];
} Box;

/* Bytes of a dense tensor; false when they, or the product of the sizes that are not 0, are too
 * many for an int64_t. For sizes that come from files. */
bool dense_bytes(Dtype t, int n_dims, const int64_t *size, int64_t *out);
/* The box of a whole tensor. */
Box box_whole(int n_dims, const int64_t *size);
/* Number of elements. */
int64_t box_count(const Box *b);
bool box_contains(const Box *outer, const Box *inner);
/* Whether it is all of a tensor of these sizes. */
bool box_is_whole(const Box *b, const int64_t *whole);
/* False when they have nothing in common. */
bool box_intersect(const Box *a, const Box *b, Box *out);
/* Copies the elements `what`, which lies in both, from the numbers of box `from` to those of box
 * `to`. */
void box_copy(const Box *what, size_t element_bytes, const Box *from, const void *in, const Box *to,
              void *out);

/* `what` lies in the numbers of box `in` as runs of equal length: their number, and elements of
 * each. */
typedef struct Runs {
    int64_t n, length;
    int split; /* the dimensions before this one count the runs */
} Runs;

Runs box_runs(const Box *what, const Box *in);
/* Where run i begins in the numbers of `in`, in elements. */
int64_t box_run_offset(const Runs *runs, const Box *what, const Box *in, int64_t i);

/* One rectangle of a part: its place in the whole, and the same rectangle counted inside the part.
 */
typedef struct PartBox {
    Box whole, local;
} PartBox;

/* The rectangles that a part of a tensor of these whole sizes is made of (one, unless zig-zag);
 * what lies beyond `whole` is padding and left out. Returns their number. */
int part_boxes(Arena *a, const int64_t *whole, const Tensor *part, PartBox **out);
/* Appends n sizes or places: "[2, 3]". */
void sizes_print(Text *to, const int64_t *x, int n);
#endif
