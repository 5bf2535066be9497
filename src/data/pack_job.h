/* pack_job.h - consecutive lines on their way through packing, and what makes tokens of them. */
#ifndef DATA_PACK_JOB_H
#define DATA_PACK_JOB_H
#include "base/arena.h"
#include "base/text_stream.h"
#include "data/index.h"
#include "data/pack.h"
#include "data/text_query.h"

/* A document that cannot be used. */
typedef struct Refusal {
    int64_t line, column; /* which line of the job; or -1 */
    Error *reason;
} Refusal;

typedef struct Job {
    struct Job *next; /* in the list that it is in */
    int64_t number;   /* among the jobs of its source */
    /* the lines, which pack_source.h gives */
    IndexEntry *line;
    int64_t n_lines;
    Str text; /* they lie in it; it begins at byte text_offset of the source */
    int64_t text_offset;
    TextChunk *chunk;   /* of a stream, whose last job it is; else NULL */
    int64_t first_line; /* number of the first one, from 1; 0: not known */
    Error *end;         /* why no lines follow, unless the source has an end here */
    /* what is made of them */
    Text tokens; /* encoded documents back to back */
    int64_t *document_bytes, n_documents;
    Refusal *refusal;
    int64_t n_refusals;
    int64_t place; /* of the tokens, in the output */
} Job;

/* Makes room for so many lines; the arena holds it, but for the tokens. */
void job_open(Arena *a, int64_t most_lines, Job *job);
void job_close(Job *job);
/* A line, as far as its text is there. */
Str job_line(const Job *job, int64_t i);

/* Of one thread. */
typedef struct JobEncoder {
    const PackSettings *settings;
    const Tokenizer *tokenizer;
    uint32_t eod;
    int token_bytes;
    TextQuery *query;
    Encoder *encoder;
    Text text;
    Ids ids;
} JobEncoder;

/* Opens what depends on the fields down to token_bytes, which are set; to be closed, also after a
 * failure. */
Error *job_encoder_open(JobEncoder *e);
void job_encoder_close(JobEncoder *e);
/* Makes the documents of the lines, and the refusals; where bad lines stop, up to the first. */
void job_encode(JobEncoder *e, Job *job);
#endif
