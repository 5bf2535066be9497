/* pack_job.c - lines to encoded documents. */
#include "data/pack_job.h"
#include "base/signal.h"
#include "data/pbin.h"

void job_open(Arena *a, int64_t most_lines, Job *job)
{
    *job = (Job){ .line = NEW_N(a, IndexEntry, most_lines),
                  .document_bytes = NEW_N(a, int64_t, most_lines),
                  .refusal = NEW_N(a, Refusal, most_lines) };
}

void job_close(Job *job)
{
    for (int64_t i = 0; i < job->n_refusals; i++) error_free(job->refusal[i].reason);
    error_free(job->end);
    text_free(&job->tokens);
}

Str job_line(const Job *job, int64_t i)
{
    size_t from = (size_t)(job->line[i].offset - job->text_offset), left = job->text.len - from;
    size_t length = (size_t)job->line[i].length;
    return (Str){ job->text.ptr + from, length < left ? length : left };
}

Error *job_encoder_open(JobEncoder *e)
{
    TRY(text_query_new(e->settings->jq_pattern, &e->query));
    e->encoder = e->tokenizer->encoder_new(e->tokenizer);
    return NULL;
}

void job_encoder_close(JobEncoder *e)
{
    text_query_free(e->query);
    if (e->encoder) e->tokenizer->encoder_free(e->encoder);
    text_free(&e->text);
    ids_free(&e->ids);
}

/* Asks the memory for a line, so that it is near when the work on the one before is done. */
static void ask_for(Str line)
{
    enum { MOST = 16 << 10, CACHE_LINE = 64 };
    for (size_t at = 0; at < line.len && at < MOST; at += CACHE_LINE)
        __builtin_prefetch(line.ptr + at, 0, 2);
}

/* The tokens of a line, or why there are none. */
static Error *encode_line(JobEncoder *e, const Job *job, int64_t i, int64_t *column)
{
    *column = -1;
    e->ids.n = 0;
    TRY(line_too_long(job->line[i].length, e->settings->max_line_bytes));
    TRY(text_query_run(e->query, job_line(job, i), &e->text, column));
    TRY(e->tokenizer->encode(e->encoder, (Str){ e->text.len ? e->text.ptr : "", e->text.len }, true,
                             &e->ids));
    if (!e->ids.n) return error_new("the text is empty: it has no tokens");
    if (e->ids.id[e->ids.n - 1] != e->eod) ids_add(&e->ids, e->eod);
    return NULL;
}

void job_encode(JobEncoder *e, Job *job)
{
    job->n_documents = job->n_refusals = 0;
    text_clear(&job->tokens);
    /* After a stop nothing of this job is placed. */
    for (int64_t i = 0; i < job->n_lines && !signal_stop_requested(); i++) {
        int64_t column;
        size_t before = job->tokens.len;
        if (i + 1 < job->n_lines) ask_for(job_line(job, i + 1));
        Error *failure = encode_line(e, job, i, &column);
        if (!failure) failure = pbin_encode(e->ids.id, e->ids.n, e->token_bytes, &job->tokens);
        if (!failure) {
            job->document_bytes[job->n_documents++] = (int64_t)(job->tokens.len - before);
            continue;
        }
        job->refusal[job->n_refusals++] = (Refusal){ i, column, failure };
        if (e->settings->on_bad_line == BAD_LINE_STOP) return;
    }
}
