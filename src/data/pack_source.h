/* pack_source.h - the lines of one input, handed out in order: of a mapped text, all of them or
 * those of its index, or of a text that is being decompressed. */
#ifndef DATA_PACK_SOURCE_H
#define DATA_PACK_SOURCE_H
#include "data/jsonl.h"
#include "data/pack_job.h"

typedef struct PackSource {
    Jsonl lines; /* of a stream: only the path */
    TextStream *stream;
    TextChunk *chunk; /* of the stream, whose lines are handed out */
    int64_t at;       /* in the chunk */
    int64_t n_taken;  /* lines handed out, or left to the ranks before */
    bool is_shared;   /* only the lines before `end` are this rank's */
    int64_t end;
    /* of what is done: */
    int64_t n_lines, offset; /* where an interrupted run goes on */
    int64_t n_bytes;
    int64_t given_back;   /* the pages of the text before this offset */
    int64_t stored_bytes; /* of the input, as it is stored */
    int64_t stored_done;  /* of them, of a stream */
    LineCounter counter;
} PackSource;

/* Opens the input, which stays open as long as the source, after the lines that are done.
 * index_path NULL: all lines count. */
Error *pack_source_open(Arena *a, const TextInput *input, const char *index_path,
                        int64_t n_lines_done, int64_t offset_done, PackSource *out);
/* Hands out only this rank's lines of a source with an index; others are its own as a whole. */
Error *pack_source_share(PackSource *s, Share share);
/* How many lines there may be. */
int64_t pack_source_most_lines(const PackSource *s);
/* Fills a job with the next lines; false when there are none. One thread at a time. */
bool pack_source_take(PackSource *s, int64_t most_lines, Job *job);
/* The number of a line, from 1; asked for in order. */
int64_t pack_source_line_number(PackSource *s, const Job *job, int64_t i);
/* Jobs are done in order; their lines are not used any more. */
void pack_source_done(PackSource *s, const Job *job);
/* Bytes of the input as it is stored that are done, for the progress shown. */
int64_t pack_source_stored_done(const PackSource *s);
#endif
