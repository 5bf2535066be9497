/* pack_job.h - consecutive lines on their way through packing, and what makes tokens of them. */
#ifndef DATA_PACK_JOB_H
#define DATA_PACK_JOB_H
#include "data/jsonl.h"
#include "data/pack.h"
#include "data/text_query.h"

/* A document that cannot be used. */
typedef struct Refusal {
    IndexEntry line;
    int64_t column; /* or -1 */
    Error *reason;
} Refusal;

typedef struct Job {
    int64_t number, n_lines;
    IndexEntry *line;
    Text tokens; /* encoded documents back to back */
    int64_t *document_bytes, n_documents;
    Refusal *refusal;
    int64_t n_refusals;
} Job;

/* Makes room for so many lines; the arena holds it, but for the tokens. */
void job_open(Arena *a, int64_t most_lines, Job *job);
void job_close(Job *job);

/* Of one thread. */
typedef struct JobEncoder {
    const PackSettings *settings;
    const Tokenizer *tokenizer;
    const Jsonl *source; /* of the lines */
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
