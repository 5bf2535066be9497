/* growing_file.h - one file that grows until it is put in place, after a buffer. */
#ifndef DATA_GROWING_FILE_H
#define DATA_GROWING_FILE_H
#include "base/block_sum.h"
#include "base/buffer.h"
#include "data/resumable.h"

typedef struct GrowingFile {
    const char *growing, *path; /* its name now; in the end, or NULL */
    int fd;                     /* -1: not open */
    int64_t header, n_bytes;    /* n_bytes counts those in the buffer */
    Buffer buffer;
    size_t n_buffered;
    uint64_t sum;   /* of the part at hand, without what is in the buffer or in `block` */
    BlockSum block; /* of the block under way where bytes are reserved */
} GrowingFile;

/* An error "cannot WHAT PATH: " and what errno means. */
Error *file_failed(const char *what, const char *path);
const char *growing_name(const GrowingFile *s);
/* Opens the file and locks it against other runs. */
Error *growing_open(GrowingFile *s);
/* Whether its file is still there under the name that it grows by. */
bool growing_has_its_name(const GrowingFile *s);
/* Leaves out the first bytes after the header. */
Error *growing_cut(GrowingFile *s, int64_t n_bytes);
/* Writes bytes at an offset of the file. */
Error *growing_write(const GrowingFile *s, const void *bytes, size_t n, int64_t at);
/* Appends after the buffer; makes what it holds, or what was reserved last, a block. */
Error *growing_add(GrowingFile *s, const void *bytes, size_t n);
Error *growing_flush(GrowingFile *s);
/* Counts and sums bytes that the caller writes at the offset that is returned. */
int64_t growing_reserve(GrowingFile *s, const void *bytes, size_t n);
/* Makes durable what was written; the names in the folder of a path. */
Error *sync_file(int fd, const char *name);
Error *sync_folder_of(const char *path);
/* Whether bytes `from` to `to` have this sum, read by blocks into the buffer. */
bool growing_is_whole(const GrowingFile *s, int64_t from, int64_t to, uint64_t expected,
                      char *buffer);
#endif
