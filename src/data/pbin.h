/* pbin.h - packed tokens on disk: u64 data length, u32 token size (1, 2 or 4), the tokens back to
 * back, then the index of documents (index.h) with byte offsets inside the data. All little-endian.
 */
#ifndef DATA_PBIN_H
#define DATA_PBIN_H
#include "base/file.h"
#include "data/index.h"
#include "data/pieces.h"
#include "data/resumable.h"
#include "data/share.h"

enum { PBIN_HEADER = 12 };

/* An open file; `tokens` is mapped and valid as long as the arena. */
typedef struct Pbin {
    const char *path;
    const uint8_t *tokens;
    int64_t n_tokens;
    int token_bytes;
    Str index; /* not read yet */
} Pbin;

/* Opens a file in constant time: checks the header, and that the index is there and has an end. */
Error *pbin_open(Arena *a, const char *path, Pbin *out);
/* An error if the file has become shorter since it was opened: even within its last page, whose
 * rest reads as zeros without a signal. Costs one byte. */
Error *pbin_check_length(const Pbin *p);
/* Its documents one by one, in memory that does not grow with their number: they lie back to back
 * and cover the data, which pbin_documents_open checks. Old files, whose offsets count the header,
 * and files that the original merged, whose offsets lack 12 bytes per file before, are read as they
 * were meant. */
typedef struct PbinDocuments {
    IndexReader *index;
    int64_t n, end;     /* documents; where the last one read ends */
    bool is_miscounted; /* merged by the original */
} PbinDocuments;

Error *pbin_documents_open(Arena *a, const Pbin *p, PbinDocuments *out);
/* What that checks, for a reader of the tokens alone. */
Error *pbin_check_index(const Pbin *p);
/* The next document; false after the last one. */
bool pbin_documents_next(PbinDocuments *d, IndexEntry *out);
/* Documents [from, to) as pieces of the file, with a reader that was not used before. */
void pbin_documents_get(const Pbin *p, PbinDocuments *d, int64_t from, int64_t to, Str *out);
/* All of them, in an array that the arena owns. */
Error *pbin_documents(Arena *a, const Pbin *p, IndexEntry **out, int64_t *n);
/* The ids of tokens, into an array of their number. */
void pbin_decode(Str tokens, int token_bytes, uint32_t *out);
uint32_t pbin_token(const Pbin *p, int64_t i);
/* The first token outside [0, vocab_size) as an error that names its place. Reads everything. */
Error *pbin_check_ids(const Pbin *p, int64_t vocab_size);

/* The largest id of a share of the tokens, 0 without any. Reads all of it, with all cores. */
Error *pbin_largest_id(const Pbin *p, Share share, uint32_t *largest);

/* Bytes per token for a vocabulary: ceil(log2(vocab_size) / 8), and 4 where that is 3 or 0. */
Error *pbin_token_bytes(int64_t vocab_size, int *out);
/* Appends ids as tokens of this size; an id that does not fit is an error. */
Error *pbin_encode(const uint32_t *id, int64_t n, int token_bytes, Text *out);

/* A file in the making; nothing appears under its name before pbin_commit. */
typedef struct PbinWriter {
    Resumable *file; /* streams: the tokens, the lengths of documents, what the caller asked for */
    int token_bytes;
    FILE *tail; /* of the index, once there is one */
    IndexWriter index;
    int64_t indexed_bytes;
} PbinWriter;

enum { PBIN_STREAMS = 2 }; /* the number of the caller's first stream */

/* A new file, from its beginning. */
Error *pbin_create(const char *path, int token_bytes, PbinWriter *out);
/* Goes on with what an earlier run of the same identity left (resumable.h); `more` streams are the
 * caller's. */
Error *pbin_continue(const char *path, int token_bytes, const char *identity,
                     const OutputStream *more, int n_more, PbinWriter *out);
/* Appends one document of whole tokens. Takes 8 bytes on the disk for its length, and no memory. */
Error *pbin_add(PbinWriter *w, const void *document, size_t n_bytes);
/* For threads, instead of pbin_add: n documents, whose tokens lie one after the other, get their
 * place, in order, and are written there, in any order (resumable_reserve). */
Error *pbin_reserve(PbinWriter *w, const void *tokens, const int64_t *n_bytes, int64_t n,
                    int64_t *place);
Error *pbin_write_reserved(const PbinWriter *w, const void *tokens, size_t n_bytes, int64_t place);
/* The other way: all tokens go to stream 0 of the file, then the lengths of all documents here. */
Error *pbin_add_length(PbinWriter *w, int64_t n_bytes);
Error *pbin_commit(PbinWriter *w);
/* After a failure: resumable_abandon. */
Error *pbin_abandon(PbinWriter *w, Error *e);
/* A whole file whose documents are these pieces of other files (pieces.h). */
Error *pbin_write(const char *path, int token_bytes, const char *identity, const Pieces *document,
                  const char *what);
#endif
