/* box.c - rectangles of a tensor: where a part lies in the whole, and copying between parts. */
#include "checkpoint/box.h"
#include "base/error.h"
#include <inttypes.h>
#include <string.h>

bool dense_bytes(Dtype t, int n_dims, const int64_t *size, int64_t *out)
{
    bool is_empty = false;
    *out = (int64_t)dtype_size(t);
    for (int d = 0; d < n_dims; d++) {
        if (size[d] == 0)
            is_empty = true;
        else if (__builtin_mul_overflow(*out, size[d], out))
            return false;
    }
    if (is_empty) *out = 0;
    return true;
}

Box box_whole(int n_dims, const int64_t *size)
{
    Box b = { .n_dims = n_dims };
    for (int d = 0; d < n_dims; d++) b.size[d] = size[d];
    return b;
}

static int64_t volume(const Box *b, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= b->size[d];
    return n;
}

int64_t box_count(const Box *b)
{
    return volume(b, 0, b->n_dims);
}

bool box_is_whole(const Box *b, const int64_t *whole)
{
    for (int d = 0; d < b->n_dims; d++)
        if (b->size[d] != whole[d]) return false;
    return true;
}

bool box_contains(const Box *outer, const Box *inner)
{
    for (int d = 0; d < outer->n_dims; d++) {
        if (inner->start[d] < outer->start[d]) return false;
        if (inner->start[d] + inner->size[d] > outer->start[d] + outer->size[d]) return false;
    }
    return true;
}

bool box_intersect(const Box *a, const Box *b, Box *out)
{
    Box both = { .n_dims = a->n_dims };
    for (int d = 0; d < a->n_dims; d++) {
        int64_t end_a = a->start[d] + a->size[d], end_b = b->start[d] + b->size[d];
        both.start[d] = a->start[d] > b->start[d] ? a->start[d] : b->start[d];
        both.size[d] = (end_a < end_b ? end_a : end_b) - both.start[d];
        if (both.size[d] <= 0) return false;
    }
    *out = both;
    return true;
}

/* The last dimensions that `what` covers entirely lie together in `in`, and so does a range of the
 * one before them. */
static int split_of(const Box *what, const Box *in)
{
    int d = what->n_dims - 1;
    while (d > 0 && what->size[d] == in->size[d]) d--;
    return d < 0 ? 0 : d;
}

static Runs runs_at(const Box *what, int split)
{
    return (Runs){ .n = volume(what, 0, split),
                   .length = volume(what, split, what->n_dims),
                   .split = split };
}

Runs box_runs(const Box *what, const Box *in)
{
    return runs_at(what, split_of(what, in));
}

int64_t box_run_offset(const Runs *runs, const Box *what, const Box *in, int64_t i)
{
    int64_t offset = 0, stride = 1;
    for (int d = what->n_dims - 1; d >= 0; d--) {
        int64_t at = what->start[d] - in->start[d];
        if (d < runs->split) {
            at += i % what->size[d];
            i /= what->size[d];
        }
        offset += at * stride;
        stride *= in->size[d];
    }
    return offset;
}

void box_copy(const Box *what, size_t element_bytes, const Box *from, const void *in, const Box *to,
              void *out)
{
    int p = split_of(what, from), q = split_of(what, to);
    Runs runs = runs_at(what, p > q ? p : q);
    size_t bytes = (size_t)runs.length * element_bytes;
    if (bytes == 0) return;
    for (int64_t i = 0; i < runs.n; i++)
        memcpy((char *)out + (size_t)box_run_offset(&runs, what, to, i) * element_bytes,
               (const char *)in + (size_t)box_run_offset(&runs, what, from, i) * element_bytes,
               bytes);
}

/* One dimension of a part: up to two ranges, each with its start in the whole and in the part. */
typedef struct Ranges {
    int n;
    int64_t whole[2], local[2], size[2];
} Ranges;

static Ranges ranges_of(const Tensor *t, int d, int64_t whole)
{
    Ranges r = { 0 };
    int n_chunks = t->part[d] && t->part[d]->layout == ZIGZAG ? 2 : 1;
    for (int c = 0; c < n_chunks; c++) {
        int64_t size = t->size[d] / n_chunks, local = c * size;
        int64_t start = size ? global_index(t, d, local) : 0;
        if (start + size > whole) size = whole - start;
        while (size > 0 && global_index(t, d, local + size - 1) != start + size - 1)
            size--; /* padding of an inner part */
        if (size <= 0) continue;
        r.whole[r.n] = start;
        r.local[r.n] = local;
        r.size[r.n++] = size;
    }
    return r;
}

int part_boxes(Arena *a, const int64_t *whole, const Tensor *part, PartBox **out)
{
    Ranges ranges[MAX_DIMS] = { 0 };
    int n = 1;
    for (int d = 0; d < part->n_dims; d++) {
        ranges[d] = ranges_of(part, d, whole[d]);
        n *= ranges[d].n;
    }
    *out = NEW_N(a, PartBox, n);
    for (int i = 0; i < n; i++) {
        PartBox *b = &(*out)[i];
        b->whole.n_dims = b->local.n_dims = part->n_dims;
        for (int d = 0, rest = i; d < part->n_dims; d++) {
            int k = rest % ranges[d].n;
            rest /= ranges[d].n;
            b->whole.start[d] = ranges[d].whole[k];
            b->local.start[d] = ranges[d].local[k];
            b->whole.size[d] = b->local.size[d] = ranges[d].size[k];
        }
    }
    return n;
}

void sizes_print(Text *to, const int64_t *x, int n)
{
    text_putc(to, '[');
    for (int d = 0; d < n; d++) text_printf(to, "%s%" PRId64, d ? ", " : "", x[d]);
    text_putc(to, ']');
}
