/* text_stream.h - the text of a compressed file or of standard input, made by a thread of its own
 * some megabytes ahead of its reader; nothing of it is kept. */
#ifndef BASE_TEXT_STREAM_H
#define BASE_TEXT_STREAM_H
#include "base/buffer.h"
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

/* Whole lines of the text. */
typedef struct TextChunk {
    Str text;
    int64_t offset;   /* of its beginning, in all of the text */
    int64_t left_out; /* bytes of its last line, which is too long and not all there */
    int64_t stored;   /* bytes of the file that were read for what is up to its end */
    Buffer memory;
} TextChunk;

typedef struct TextStream TextStream;

/* Of lines with more than most_line_bytes, no more than that and one byte is kept. */
Error *text_stream_open(const char *path, int64_t most_line_bytes, TextStream **out);
/* The first chunk begins at this byte of the text, where a line begins. Before the first one. */
void text_stream_skip(TextStream *s, int64_t n_bytes);
/* Waits for the next chunk; NULL at the end. An error comes after the text before it. One thread
 * at a time. */
Error *text_stream_next(TextStream *s, TextChunk **out);
/* Without this for all but a few chunks, the next ones are not made; for any thread. */
void text_stream_give_back(TextStream *s, TextChunk *chunk);
/* Ends it at any time; NULL is allowed. */
void text_stream_close(TextStream *s);
#endif
