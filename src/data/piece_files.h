/* piece_files.h - .pbin files seen as documents, or text files seen as lines: what can be put into
 * another order, whatever the format. */
#ifndef DATA_PIECE_FILES_H
#define DATA_PIECE_FILES_H
#include "base/arena.h"
#include "data/bad_lines.h"
#include "data/pieces.h"

typedef enum { PIECES_PBIN, PIECES_JSONL } PieceFormat;

typedef struct PieceFiles PieceFiles;

/* Opens all files; those of packed tokens must have one token size. They stay mapped as long as the
 * arena; the paths stay the caller's. `bad` is for lines that are too long; NULL: the first one is
 * an error. */
Error *piece_files_open(Arena *a, PieceFormat format, const char *const *path, int64_t n,
                        BadLines *bad, PieceFiles **out);
/* Documents or lines of file i. */
int64_t piece_file_count(const PieceFiles *f, int64_t i);
/* Pieces [from, to) of file i, *n of them: less when lines are left out. Asked for once per file. A
 * last line without newline gets one. */
Error *piece_file_get(PieceFiles *f, int64_t i, int64_t from, int64_t to, Str *out, int64_t *n);
/* Writes a new file of the same format; `what` names the work in the progress shown. An interrupted
 * run is continued if its files and `order` were the same: lines that say which pieces of the files
 * are written, in which order. */
Error *piece_files_write(const PieceFiles *f, const char *target, const char *order,
                         const Pieces *p, const char *what);
#endif
