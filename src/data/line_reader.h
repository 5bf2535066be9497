/* line_reader.h - from a line of JSON to the tokens of its text, for datasets that threads share.
 */
#ifndef DATA_LINE_READER_H
#define DATA_LINE_READER_H
#include "data/text_query.h"
#include "tokenizer/tokenizer.h"

/* One thread's query and encoder, and the tokens it made last. */
typedef struct LineReader {
    struct LineReader *next;
    struct LineReaders *pool;
    TextQuery *query;
    Encoder *encoder;
    Text text;
    Ids ids;
    int64_t line; /* that `ids` belong to, or -1; for the caller to set */
} LineReader;

typedef struct LineReaders LineReaders;

/* Readers of one pattern and tokenizer; freed with the arena. A line of more than max_line_bytes
 * (0: the default) is an error. With eod >= 0, that token ends every text, as in packing, and a
 * text without tokens is an error. */
Error *line_readers_new(Arena *a, const Tokenizer *tokenizer, const char *jq_pattern, int64_t eod,
                        int64_t max_line_bytes, LineReaders **out);
/* A reader for this thread alone, if possible the one that holds the tokens of `line`; made when
 * all are in use. */
Error *line_reader_take(LineReaders *pool, int64_t line, LineReader **out);
void line_reader_give_back(LineReader *r);
/* The tokens of a line in r->ids. The error says why there are none; *column is the byte of the
 * line it is about, or -1. */
Error *line_reader_run(LineReader *r, Str line, int64_t *column);
#endif
