/* pack_source.c - lines of a mapped text or of a stream. */
#include "data/pack_source.h"
#include "base/file.h"
#include <string.h>

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

/* Goes on after the lines that are done. */
static Error *skip_done(PackSource *s)
{
    IndexEntry line;
    int64_t offset = at_most(s->offset, (int64_t)s->lines.text.len);
    if (!s->lines.index) s->lines.at = offset;
    for (int64_t i = 0; s->lines.index && i < s->n_lines; i++)
        if (!jsonl_next(&s->lines, &line))
            return error_new("%s: %lld lines are packed already, but the index has only %lld",
                             s->lines.path, (long long)s->n_lines, (long long)i);
    s->given_back = s->n_bytes = offset;
    return NULL;
}

Error *pack_source_open(Arena *a, const TextInput *input, const char *index_path,
                        int64_t n_lines_done, int64_t offset_done, PackSource *out)
{
    *out = (PackSource){ .n_lines = n_lines_done,
                         .offset = offset_done,
                         .n_taken = n_lines_done,
                         .stored_bytes = input->stored_bytes,
                         .stream = input->stream,
                         .counter = { .text = input->text } };
    TRY(jsonl_open_text(a, input, index_path, &out->lines));
    CHECK(!input->stream || !index_path);
    if (!input->stream) return skip_done(out);
    text_stream_skip(input->stream, offset_done);
    return NULL;
}

Error *pack_source_share(PackSource *s, Share share)
{
    int64_t from, to;
    IndexEntry line;
    if (!s->lines.index) return NULL;
    share_range(share, index_count(s->lines.index), &from, &to);
    for (; s->n_taken < from; s->n_taken++)
        if (!jsonl_next(&s->lines, &line))
            return error_new("%s: its index has less than %lld lines", s->lines.path,
                             (long long)from);
    if (s->n_lines < from) s->n_lines = from;
    s->end = to;
    s->is_shared = true;
    return NULL;
}

/* A line has a byte at least. */
int64_t pack_source_most_lines(const PackSource *s)
{
    if (s->stream) return INT32_MAX;
    return s->lines.index ? index_count(s->lines.index) : (int64_t)s->lines.text.len;
}

/* Lines of a mapped text. */
static void take_lines(PackSource *s, int64_t most_lines, Job *job)
{
    Str line;
    job->text = s->lines.text;
    if (s->is_shared) most_lines = at_most(most_lines, s->end - s->n_taken);
    while (!job->end && job->n_lines < most_lines &&
           jsonl_next(&s->lines, &job->line[job->n_lines])) {
        job->end = jsonl_line(&s->lines, job->line[job->n_lines], &line);
        job->n_lines += !job->end;
    }
}

/* The next line of the chunk, which may have a last line that is not all there. */
static IndexEntry next_in_chunk(PackSource *s)
{
    const TextChunk *c = s->chunk;
    int64_t left = (int64_t)c->text.len - s->at;
    const char *line = c->text.ptr + s->at, *end = memchr(line, '\n', (size_t)left);
    IndexEntry e = { c->offset + s->at, end ? end - line : left + c->left_out };
    s->at += end ? end - line + 1 : left;
    return e;
}

static void take_from_stream(PackSource *s, int64_t most_lines, Job *job)
{
    if (!s->chunk) {
        s->at = 0;
        job->end = text_stream_next(s->stream, &s->chunk);
    }
    if (!s->chunk) return;
    job->text = s->chunk->text;
    job->text_offset = s->chunk->offset;
    while (job->n_lines < most_lines && s->at < (int64_t)s->chunk->text.len)
        job->line[job->n_lines++] = next_in_chunk(s);
    if (s->at < (int64_t)s->chunk->text.len) return;
    job->chunk = s->chunk;
    s->chunk = NULL;
}

bool pack_source_take(PackSource *s, int64_t most_lines, Job *job)
{
    job->n_lines = 0;
    job->chunk = NULL;
    job->first_line = s->lines.index ? 0 : s->n_taken + 1;
    if (s->stream)
        take_from_stream(s, most_lines, job);
    else
        take_lines(s, most_lines, job);
    s->n_taken += job->n_lines;
    return job->n_lines || job->end;
}

int64_t pack_source_line_number(PackSource *s, const Job *job, int64_t i)
{
    return job->first_line ? job->first_line + i : line_at(&s->counter, job->line[i].offset);
}

/* What is done need not stay mapped: at the end that would take time. */
static void give_back_pages(PackSource *s)
{
    enum { AT_ONCE = 8 << 20 };
    const char *text = s->lines.text.ptr;
    int64_t done = at_most(s->offset, (int64_t)s->lines.text.len);
    if (done - s->given_back < AT_ONCE) return;
    file_view_done(text + s->given_back, text + done);
    s->given_back = done;
}

void pack_source_done(PackSource *s, const Job *job)
{
    if (!job->n_lines) return;
    for (int64_t i = 0; i < job->n_lines; i++) s->n_bytes += job->line[i].length;
    IndexEntry last = job->line[job->n_lines - 1];
    s->n_lines += job->n_lines;
    s->offset = last.offset + last.length + 1; /* after the newline, if there is one */
    if (!s->stream) give_back_pages(s);
    if (!job->chunk) return;
    s->stored_done = job->chunk->stored;
    text_stream_give_back(s->stream, job->chunk);
}

int64_t pack_source_stored_done(const PackSource *s)
{
    if (s->stream) return s->stored_done;
    size_t size = s->lines.text.len;
    return (int64_t)((size ? (double)s->n_bytes / (double)size : 1) * (double)s->stored_bytes);
}
