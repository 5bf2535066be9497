/* pack_job.c - lines to encoded documents. */
#include "data/pack_job.h"
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
    text_free(&job->tokens);
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

/* The tokens of one line, or why there are none. */
static Error *encode_line(JobEncoder *e, IndexEntry entry, int64_t *column)
{
    Str line;
    *column = -1;
    e->ids.n = 0;
    TRY(jsonl_line(e->source, entry, &line));
    TRY(line_too_long(entry.length, e->settings->max_line_bytes));
    TRY(text_query_run(e->query, line, &e->text, column));
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
    for (int64_t i = 0; i < job->n_lines; i++) {
        int64_t column;
        size_t before = job->tokens.len;
        if (i + 1 < job->n_lines) jsonl_ask_for(e->source, job->line[i + 1]);
        Error *failure = encode_line(e, job->line[i], &column);
        if (!failure) failure = pbin_encode(e->ids.id, e->ids.n, e->token_bytes, &job->tokens);
        if (!failure) {
            job->document_bytes[job->n_documents++] = (int64_t)(job->tokens.len - before);
            continue;
        }
        job->refusal[job->n_refusals++] = (Refusal){ job->line[i], column, failure };
        if (e->settings->on_bad_line == BAD_LINE_STOP) return;
    }
}
