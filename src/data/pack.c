/* pack.c - a pipeline of threads from JSON lines to packed tokens.
 *
 *   reader -> todo queue -> workers (jq, tokenizer) -> done queue -> writer (the caller), in order
 *      ^------------------------- free queue <---------------------------------/
 *
 * A fixed number of jobs goes round, so memory is bounded however far one worker falls behind,
 * and nothing is allocated once the buffers have grown. Order and content come from the batches'
 * numbers, never from timing. */
#include "data/pack.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/pack_job.h"
#include "data/pbin.h"
#include "data/progress.h"
#include <pthread.h>
#include <string.h>

/* Lines on their way at most (unless each thread has more to do), however large the queues are set.
 */
enum { MOST_LINES = 1 << 18, MOST_THREADS = 1024 };
/* More jobs than that keep no thread busier, but their tokens leave the caches before they are
 * written. */
enum { JOBS_PER_WORKER = 16 };

/* Where the work goes on, and what it has counted: the numbers of a finished part. */
enum { SOURCE, SOURCE_LINES, SOURCE_OFFSET, DOCUMENTS, TOKENS, BAD, BYTES_READ };

typedef struct Packing {
    const PackSettings *settings;
    const Tokenizer *tokenizer;
    Jsonl source;
    uint32_t eod;
    int token_bytes;
    Arena *arena, *source_arena; /* of all; of what belongs to the source at hand */
    int64_t n_workers, lines_per_job;
    Job *job;
    int64_t n_jobs; /* going round */
    Queue *free, *todo, *done;
    PbinWriter writer;
    LineCounter lines;
    BadLines *bad;
    PackSummary summary;
    int64_t n_source, n_source_lines,
        source_offset;  /* the source at hand, and what is done of it */
    int64_t given_back; /* the pages of the source's text before this offset */
    Progress progress;  /* over the inputs as they are stored */
    int64_t stored_before, stored_bytes,
        n_source_bytes; /* earlier sources; this one; of its text */
} Packing;

typedef struct Worker {
    Packing *packing;
    JobEncoder encoder;
    pthread_t thread;
} Worker;

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

/* Sends the lines out as jobs, at last one without lines; ends when the queues are closed, too. */
static void *read_lines(void *arg)
{
    Packing *p = arg;
    void *item;
    for (int64_t number = 0; queue_take(p->free, &item); number++) {
        Job *job = item;
        job->number = number;
        job->n_lines = 0;
        while (job->n_lines < p->lines_per_job && jsonl_next(&p->source, &job->line[job->n_lines]))
            job->n_lines++;
        if (!queue_put(p->todo, job) || !job->n_lines) break;
    }
    return NULL;
}

static void *work(void *arg)
{
    Worker *w = arg;
    void *item;
    while (queue_take(w->packing->todo, &item)) {
        job_encode(&w->encoder, item);
        if (!queue_put(w->packing->done, item)) break;
    }
    return NULL;
}

/* Names a document that cannot be used; an error when that ends the work. */
static Error *refuse(Packing *p, Refusal *r)
{
    Str line = { "", 0 };
    Error *e = jsonl_line(&p->source, r->line, &line);
    if (e) { /* the index is wrong: no line to show, and no policy helps */
        error_free(r->reason);
        r->reason = NULL;
        return e;
    }
    e = bad_lines_add(p->bad, p->source.path, line_at(&p->lines, r->line.offset), r->line.offset,
                      line, r->column, r->reason);
    r->reason = NULL;
    p->summary.n_bad += !e;
    return e;
}

static Error *write_job(Packing *p, Job *job)
{
    TRY(pbin_add_documents(&p->writer, job->tokens.ptr, job->document_bytes, job->n_documents));
    for (int64_t i = 0; i < job->n_refusals; i++) TRY(refuse(p, &job->refusal[i]));
    for (int64_t i = 0; i < job->n_lines; i++) p->n_source_bytes += job->line[i].length;
    for (int64_t i = 0; i < job->n_lines; i++) p->summary.n_bytes_read += job->line[i].length;
    p->summary.n_documents += job->n_documents;
    p->summary.n_tokens += (int64_t)job->tokens.len / p->token_bytes;
    IndexEntry last = job->line[job->n_lines - 1];
    p->n_source_lines += job->n_lines;
    p->source_offset = last.offset + last.length + 1; /* behind the newline, if there is one */
    return NULL;
}

/* What is done need not stay mapped: at the end that would take time. */
static void give_back_pages(Packing *p)
{
    enum { AT_ONCE = 8 << 20 };
    int64_t done = at_most(p->source_offset, (int64_t)p->source.text.len);
    if (done - p->given_back < AT_ONCE) return;
    file_view_done(p->source.text.ptr + p->given_back, p->source.text.ptr + done);
    p->given_back = done;
}

/* All before this place is written. */
static Error *reach(Packing *p)
{
    const PackSummary *s = &p->summary;
    const int64_t number[MOST_NUMBERS] = { [SOURCE] = p->n_source,
                                           [SOURCE_LINES] = p->n_source_lines,
                                           [SOURCE_OFFSET] = p->source_offset,
                                           [DOCUMENTS] = s->n_documents,
                                           [TOKENS] = s->n_tokens,
                                           [BAD] = s->n_bad,
                                           [BYTES_READ] = s->n_bytes_read };
    TRY(resumable_reach(p->writer.file, number));
    if (!signal_stop_requested()) return NULL;
    return error_new("stopped by a signal; %s was not written", p->settings->dst_path);
}

/* The counterpart of reach: takes the numbers of the last part of an earlier run. */
static void take_found(Packing *p)
{
    const int64_t *number = resumable_numbers(p->writer.file);
    p->n_source = number[SOURCE];
    p->n_source_lines = number[SOURCE_LINES];
    p->source_offset = number[SOURCE_OFFSET];
    p->summary = (PackSummary){ .n_documents = number[DOCUMENTS],
                                .n_tokens = number[TOKENS],
                                .n_bad = number[BAD],
                                .n_bytes_read = number[BYTES_READ],
                                .n_tokens_found = number[TOKENS],
                                .bytes_found = number[BYTES_READ] };
}

/* Bytes of the inputs as they are stored that are done, for the progress shown. */
static int64_t stored_done(const Packing *p)
{
    double share = p->source.text.len ? (double)p->n_source_bytes / (double)p->source.text.len : 1;
    return p->stored_before + (int64_t)(share * (double)p->stored_bytes);
}

/* Takes finished jobs as they come and writes them in order, up to the one without lines. */
static Error *write_all(Packing *p)
{
    Job **waiting = NEW_N(p->source_arena, Job *, p->n_jobs);
    for (int64_t next = 0;;) {
        void *item;
        CHECK(queue_take(p->done, &item));
        Job *job = item;
        /* At most n_jobs are out, and the next one is among them: no two share a place. */
        waiting[job->number % p->n_jobs] = job;
        for (Job **at; *(at = &waiting[next % p->n_jobs]); next++) {
            if (!(*at)->n_lines) return NULL;
            TRY(write_job(p, *at));
            TRY(reach(p));
            give_back_pages(p);
            CHECK(queue_put(p->free, *at));
            *at = NULL;
            progress_update(&p->progress, stored_done(p));
        }
    }
}

/* As many jobs as the queues ask for, within MOST_LINES lines on their way, and not many more than
 * the lines of this source, a byte each at least, can need. */
static void make_jobs(Packing *p)
{
    const PackSettings *s = p->settings;
    int64_t n_lines = (int64_t)p->source.text.len;
    if (p->source.index) n_lines = index_count(p->source.index);
    int64_t size = at_most(s->processing_batch_size, at_most(n_lines + 1, MOST_LINES));
    p->lines_per_job = size;
    p->n_jobs = at_most(s->raw_samples_queue_size, MOST_LINES) +
                at_most(s->processed_samples_queue_size, MOST_LINES) + p->n_workers;
    p->n_jobs = at_most(p->n_jobs, p->n_workers + MOST_LINES / size);
    p->n_jobs = at_most(p->n_jobs, p->n_workers * JOBS_PER_WORKER + 1);
    p->n_jobs = at_most(p->n_jobs, n_lines / size + 2);
    p->job = NEW_N(p->source_arena, Job, p->n_jobs);
    p->free = queue_new((int)p->n_jobs);
    p->todo = queue_new((int)p->n_jobs);
    p->done = queue_new((int)p->n_jobs);
    for (int64_t i = 0; i < p->n_jobs; i++) {
        job_open(p->source_arena, size, &p->job[i]);
        queue_put(p->free, &p->job[i]);
    }
}

static void free_jobs(Packing *p)
{
    for (int64_t i = 0; i < p->n_jobs; i++) job_close(&p->job[i]);
    queue_free(p->free);
    queue_free(p->todo);
    queue_free(p->done);
}

static Error *open_workers(Packing *p, Worker *worker, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        worker[i] = (Worker){ .packing = p,
                              .encoder = { .settings = p->settings,
                                           .tokenizer = p->tokenizer,
                                           .source = &p->source,
                                           .eod = p->eod,
                                           .token_bytes = p->token_bytes } };
        TRY(job_encoder_open(&worker[i].encoder));
    }
    return NULL;
}

static void close_workers(Worker *worker, int64_t n)
{
    for (int64_t i = 0; i < n; i++) job_encoder_close(&worker[i].encoder);
}

/* Runs the threads and writes what they make; all have ended when it returns. */
static Error *run_pipeline(Packing *p, Worker *worker, int64_t n)
{
    pthread_t reader;
    CHECK(pthread_create(&reader, NULL, read_lines, p) == 0);
    for (int64_t i = 0; i < n; i++)
        CHECK(pthread_create(&worker[i].thread, NULL, work, &worker[i]) == 0);
    Error *e = write_all(p);
    queue_close(p->free);
    queue_close(p->todo);
    queue_close(p->done);
    pthread_join(reader, NULL);
    for (int64_t i = 0; i < n; i++) pthread_join(worker[i].thread, NULL);
    return e;
}

/* An index is for one plain file; it is beside the file where none is named. Other texts may have
 * one if it is named, else all their lines count. */
static const char *index_of(Packing *p)
{
    const PackSettings *s = p->settings;
    if (s->index_path || !text_input_is_plain_file(s->src_path)) return s->index_path;
    return path_with_suffix(p->arena, s->src_path, ".idx");
}

/* The reader goes on behind the lines that are done. */
static Error *skip_done(Packing *p)
{
    IndexEntry line;
    if (!p->source.index) p->source.at = at_most(p->source_offset, (int64_t)p->source.text.len);
    for (int64_t i = 0; p->source.index && i < p->n_source_lines; i++)
        if (!jsonl_next(&p->source, &line))
            return error_new("%s: %lld lines are packed already, but the index has only %lld",
                             p->source.path, (long long)p->n_source_lines, (long long)i);
    p->given_back = p->n_source_bytes = at_most(p->source_offset, (int64_t)p->source.text.len);
    if (p->source_offset) p->progress.found = stored_done(p);
    return NULL;
}

/* All lines of one text but those that are done. */
static Error *pack_source(Packing *p, const TextInput *input, Worker *worker, int64_t n)
{
    p->source_arena = arena_new();
    p->stored_bytes = input->stored_bytes;
    Error *e = jsonl_open_text(p->source_arena, input, index_of(p), &p->source);
    if (!e) e = skip_done(p);
    if (!e) {
        p->lines = (LineCounter){ .text = p->source.text };
        make_jobs(p);
        e = run_pipeline(p, worker, n);
        free_jobs(p);
    }
    p->stored_before += p->stored_bytes;
    p->n_source++;
    p->n_source_lines = p->source_offset = 0;
    arena_free(p->source_arena);
    return e ? e : reach(p);
}

/* The sources from the one at hand on; those before are not opened. */
static Error *pack_sources(Packing *p, const PathList *files, Worker *worker, int64_t n)
{
    PathList rest = { files->item + p->n_source, files->n - p->n_source, 0 };
    TextInputs *inputs = text_inputs_open(&rest, p->settings->dst_path, (int)n);
    int64_t total = text_inputs_bytes(files), left = text_inputs_bytes(&rest);
    TextInput input;
    Error *e = NULL;
    bool some = true;
    p->stored_before = total - left;
    p->progress = progress_start("packing", total, PROGRESS_BYTES);
    p->progress.found = p->stored_before;
    while (!e && some) {
        e = text_inputs_next(inputs, &input, &some);
        if (!e && some) e = pack_source(p, &input, worker, n);
    }
    if (!e) progress_end(&p->progress);
    text_inputs_close(inputs);
    return e;
}

/* What the bytes of the output depend on, but for the policy for bad lines. */
static Error *identify(Packing *p, const PathList *files, Text *out)
{
    const PackSettings *s = p->settings;
    text_printf(out,
                "work: packing\njq_pattern: %s\neod_token: %s\ntoken size: %d\n"
                "max_line_bytes: %lld\n%s",
                s->jq_pattern, s->eod_token, p->token_bytes, (long long)s->max_line_bytes,
                s->tokenizer_identity);
    for (int64_t i = 0; i < files->n; i++) TRY(identify_path(out, "input", files->item[i]));
    const char *index = index_of(p);
    return index && file_exists(index) ? identify_path(out, "index", index) : NULL;
}

static bool can_be_continued(const Packing *p, const PathList *files)
{
    bool is_again = p->settings->tokenizer_identity;
    for (int64_t i = 0; i < files->n; i++) is_again &= strcmp(files->item[i], "-") != 0;
    return is_again;
}

static Error *open_output(Packing *p, const PathList *files)
{
    const PackSettings *s = p->settings;
    OutputStream bad_lines;
    Text identity = { 0 };
    bool is_again = can_be_continued(p, files);
    TRY(bad_lines_stream(s->bad_line_report, &bad_lines));
    Error *e = is_again ? identify(p, files, &identity) : NULL;
    if (!e)
        e = pbin_continue(s->dst_path, p->token_bytes, is_again ? identity.ptr : NULL, &bad_lines,
                          1, &p->writer);
    text_free(&identity);
    return e;
}

/* Parts in which lines were left out are of no use where a bad line is an error. */
static Error *use_found(Packing *p)
{
    take_found(p);
    if (p->summary.n_bad && p->bad->policy == BAD_LINE_STOP) {
        TRY(resumable_discard(p->writer.file, "it left out bad lines"));
        take_found(p);
    }
    return bad_lines_keep(p->bad, p->writer.file, PBIN_STREAMS);
}

static Error *write_file(Packing *p, Worker *worker, int64_t n)
{
    const PackSettings *s = p->settings;
    PathList files = { 0 };
    TRY(text_inputs_list(p->arena, &s->src_path, 1, &files));
    if (s->index_path && files.n > 1)
        return error_new("index_path %s is the index of one file, but src_path %s stands for %lld",
                         s->index_path, s->src_path, (long long)files.n);
    TRY(make_directories(path_folder(p->arena, s->dst_path)));
    TRY(open_output(p, &files));
    Error *e = use_found(p);
    if (!e) e = pack_sources(p, &files, worker, n);
    return e ? pbin_abandon(&p->writer, e) : pbin_commit(&p->writer);
}

/* What can be known to be wrong before any line is read. */
static Error *check_tokens(Packing *p)
{
    const char *eod_token = p->settings->eod_token;
    TRY(pbin_token_bytes(p->tokenizer->vocab_size, &p->token_bytes));
    int64_t eod = p->tokenizer->token_id(p->tokenizer, str_of(eod_token));
    if (eod < 0)
        return error_new(
            "eod_token '%s' is no token of the tokenizer (a %s vocabulary of %lld tokens)",
            eod_token, p->tokenizer->kind, (long long)p->tokenizer->vocab_size);
    int64_t n_fitting = INT64_C(1) << 8 * p->token_bytes;
    if (eod >= n_fitting)
        return error_new("eod_token '%s' has the id %lld, which does not fit into %d bytes, the "
                         "token size that the "
                         "base vocabulary of %lld tokens gives",
                         eod_token, (long long)eod, p->token_bytes,
                         (long long)p->tokenizer->vocab_size);
    if (p->tokenizer->n_ids > n_fitting)
        log_warning("the base vocabulary of %lld tokens gives %d bytes per token, but added tokens "
                    "have ids up to "
                    "%lld; documents that use them cannot be packed",
                    (long long)p->tokenizer->vocab_size, p->token_bytes,
                    (long long)p->tokenizer->n_ids - 1);
    p->eod = (uint32_t)eod;
    return NULL;
}

static Error *pack(Packing *p)
{
    const PackSettings *s = p->settings;
    if (!s->dst_path) return error_new("dst_path is null; it must name the .pbin file to write");
    int64_t n = p->n_workers = at_most(s->num_cpus, MOST_THREADS);
    Worker *worker = NEW_N(p->arena, Worker, n);
    TRY(check_tokens(p));
    Error *e = open_workers(p, worker, n);
    if (!e) e = write_file(p, worker, n);
    close_workers(worker, n);
    return e;
}

Error *pack_jsonl(const PackSettings *settings, const Tokenizer *tokenizer, PackSummary *out)
{
    double start = clock_seconds();
    BadLines bad;
    TRY(bad_lines_open((BadLinePolicy)settings->on_bad_line, NULL, &bad));
    Packing p = { .settings = settings, .tokenizer = tokenizer, .arena = arena_new(), .bad = &bad };
    Error *e = pack(&p);
    arena_free(p.arena);
    *out = p.summary;
    out->token_bytes = p.token_bytes;
    out->seconds = clock_seconds() - start;
    if (!e) bad_lines_tell(&bad, settings->dst_path, out->n_bad + out->n_documents);
    return error_join(e, bad_lines_close(&bad, !e));
}
