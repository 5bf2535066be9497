/* pack_output.c - places of jobs in the packed file, and what a run needs to go on with it. */
#include "data/pack_output.h"
#include <string.h>

/* The numbers of a finished part: where the work goes on, and what it has counted. */
enum { SOURCE, SOURCE_LINES, SOURCE_OFFSET, DOCUMENTS, TOKENS, BAD, BYTES_READ };

/* ---- opening ---- */

/* What the bytes of the output depend on, but for the policy for bad lines. */
static Error *identify(const PackOutput *o, const PathList *inputs, const char *index, Text *out)
{
    const PackSettings *s = o->settings;
    text_printf(out,
                "work: packing\njq_pattern: %s\neod_token: %s\ntoken size: %d\n"
                "max_line_bytes: %lld\n%s",
                s->jq_pattern, s->eod_token, o->summary.token_bytes, (long long)s->max_line_bytes,
                s->tokenizer_identity);
    for (int64_t i = 0; i < inputs->n; i++) TRY(identify_path(out, "input", inputs->item[i]));
    return index && file_exists(index) ? identify_path(out, "index", index) : NULL;
}

static bool can_be_continued(const PackOutput *o, const PathList *inputs)
{
    bool is_again = o->settings->tokenizer_identity;
    for (int64_t i = 0; i < inputs->n; i++) is_again &= strcmp(inputs->item[i], "-") != 0;
    return is_again;
}

static Error *open_file(PackOutput *o, const PathList *inputs, const char *index)
{
    const PackSettings *s = o->settings;
    OutputStream bad_lines;
    Text identity = { 0 };
    bool is_again = can_be_continued(o, inputs);
    TRY(bad_lines_stream(s->bad_line_report, &bad_lines));
    Error *e = is_again ? identify(o, inputs, index, &identity) : NULL;
    if (!e)
        e = pbin_continue(s->dst_path, o->summary.token_bytes, is_again ? identity.ptr : NULL,
                          &bad_lines, 1, &o->writer);
    text_free(&identity);
    return e;
}

/* The counterpart of pack_output_reach: takes the numbers of the last part of an earlier run. */
static void take_found(PackOutput *o)
{
    const int64_t *number = resumable_numbers(o->writer.file);
    o->n_source = number[SOURCE];
    o->n_source_lines = number[SOURCE_LINES];
    o->source_offset = number[SOURCE_OFFSET];
    o->summary = (PackSummary){ .n_documents = number[DOCUMENTS],
                                .n_tokens = number[TOKENS],
                                .n_bad = number[BAD],
                                .n_bytes_read = number[BYTES_READ],
                                .n_tokens_found = number[TOKENS],
                                .bytes_found = number[BYTES_READ],
                                .token_bytes = o->summary.token_bytes };
}

/* Parts in which lines were left out are of no use where a bad line is an error. */
static Error *use_found(PackOutput *o)
{
    take_found(o);
    if (o->summary.n_bad && o->bad->policy == BAD_LINE_STOP) {
        TRY(resumable_discard(o->writer.file, "it left out bad lines"));
        take_found(o);
    }
    return bad_lines_keep(o->bad, o->writer.file, PBIN_STREAMS);
}

Error *pack_output_open(PackOutput *o, const PathList *inputs, const char *index)
{
    TRY(open_file(o, inputs, index));
    Error *e = use_found(o);
    return e ? pbin_abandon(&o->writer, e) : NULL;
}

/* ---- jobs ---- */

/* Names a document that cannot be used; an error when that ends the work. */
static Error *refuse(PackOutput *o, PackSource *s, const Job *job, Refusal *r)
{
    Error *reason = r->reason;
    r->reason = NULL;
    Error *e = bad_lines_add(o->bad, s->lines.path, pack_source_line_number(s, job, r->line),
                             job->line[r->line].offset, job_line(job, r->line), r->column, reason);
    o->summary.n_bad += !e;
    return e;
}

Error *pack_output_place(PackOutput *o, PackSource *s, Job *job)
{
    TRY(pbin_reserve(&o->writer, job->tokens.ptr, job->document_bytes, job->n_documents,
                     &job->place));
    for (int64_t i = 0; i < job->n_refusals; i++) TRY(refuse(o, s, job, &job->refusal[i]));
    for (int64_t i = 0; i < job->n_lines; i++) o->summary.n_bytes_read += job->line[i].length;
    o->summary.n_documents += job->n_documents;
    o->summary.n_tokens += (int64_t)job->tokens.len / o->summary.token_bytes;
    pack_source_done(s, job);
    o->n_source_lines = s->n_lines;
    o->source_offset = s->offset;
    return NULL;
}

Error *pack_output_write(const PackOutput *o, const Job *job)
{
    return pbin_write_reserved(&o->writer, job->tokens.ptr, job->tokens.len, job->place);
}

/* ---- parts ---- */

bool pack_output_is_due(PackOutput *o)
{
    return resumable_is_due(o->writer.file);
}

Error *pack_output_reach(PackOutput *o)
{
    const PackSummary *s = &o->summary;
    const int64_t number[MOST_NUMBERS] = { [SOURCE] = o->n_source,
                                           [SOURCE_LINES] = o->n_source_lines,
                                           [SOURCE_OFFSET] = o->source_offset,
                                           [DOCUMENTS] = s->n_documents,
                                           [TOKENS] = s->n_tokens,
                                           [BAD] = s->n_bad,
                                           [BYTES_READ] = s->n_bytes_read };
    return resumable_reach(o->writer.file, number);
}

Error *pack_output_end_source(PackOutput *o)
{
    o->n_source++;
    o->n_source_lines = o->source_offset = 0;
    return pack_output_reach(o);
}
