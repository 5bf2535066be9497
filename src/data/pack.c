/* pack.c - from the JSON lines of one or many inputs to one .pbin file. */
#include "data/pack.h"
#include "base/clock.h"
#include "base/log.h"
#include "data/pack_pipeline.h"

enum { MOST_THREADS = 1024 };

typedef struct Packing {
    const PackSettings *settings;
    const Tokenizer *tokenizer;
    Arena *arena;
    uint32_t eod;
    JobEncoder *encoder; /* per thread */
    int64_t n_threads;
    PackOutput output;
    CommandProgress progress; /* over the inputs as they are stored */
} Packing;

/* ---- one thread's tokenizer ---- */

static Error *open_encoders(Packing *p)
{
    p->encoder = NEW_N(p->arena, JobEncoder, p->n_threads);
    for (int64_t i = 0; i < p->n_threads; i++) {
        p->encoder[i] = (JobEncoder){ .settings = p->settings,
                                      .tokenizer = p->tokenizer,
                                      .eod = p->eod,
                                      .token_bytes = p->output.summary.token_bytes };
        TRY(job_encoder_open(&p->encoder[i]));
    }
    return NULL;
}

static void close_encoders(Packing *p)
{
    for (int64_t i = 0; i < p->n_threads; i++) job_encoder_close(&p->encoder[i]);
}

/* ---- inputs ---- */

/* An index is for one plain file; it is beside the file where none is named. Other texts may have
 * one if it is named, else all their lines count. */
static const char *index_of(const Packing *p)
{
    const PackSettings *s = p->settings;
    if (s->index_path || !text_input_is_plain_file(s->src_path)) return s->index_path;
    return path_with_suffix(p->arena, s->src_path, ".idx");
}

/* All lines of one input but those that are done. */
static Error *pack_source(Packing *p, const TextInput *input, int64_t stored_before)
{
    Arena *a = arena_new();
    PackOutput *o = &p->output;
    PackSource source;
    PackPipeline pipeline = { .settings = p->settings,
                              .output = o,
                              .encoder = p->encoder,
                              .n_threads = p->n_threads,
                              .progress = &p->progress,
                              .progress_before = stored_before };
    Error *e =
        pack_source_open(a, input, index_of(p), o->n_source_lines, o->source_offset, &source);
    if (!e && p->settings->share.n > 1) e = pack_source_share(&source, p->settings->share);
    if (!e && o->source_offset)
        p->progress.found = stored_before + pack_source_stored_done(&source);
    if (!e) e = pack_pipeline_run(&pipeline, &source);
    arena_free(a);
    return e ? e : pack_output_end_source(o);
}

/* The sources from the one at hand on; those before are not opened. */
static Error *pack_sources(Packing *p, const PathList *files)
{
    int64_t n_done = p->output.n_source;
    PathList rest = { files->item + n_done, files->n - n_done, 0 };
    TextInputs *inputs = text_inputs_open(&rest, p->settings->dst_path, (int)p->n_threads);
    if (!index_of(p)) text_inputs_stream(inputs, most_line_bytes(p->settings->max_line_bytes));
    int64_t total = text_inputs_bytes(files), stored_done = total - text_inputs_bytes(&rest);
    TextInput input;
    Error *e = NULL;
    bool some = true;
    p->progress = progress_start("packing", total, PROGRESS_BYTES);
    p->progress.found = stored_done;
    while (!e && some) {
        e = text_inputs_next(inputs, &input, &some);
        if (e || !some) break;
        e = pack_source(p, &input, stored_done);
        stored_done += input.stored_bytes;
    }
    if (!e) progress_end(&p->progress);
    text_inputs_close(inputs);
    return e;
}

/* Of several inputs whole ones; a single one without an index is for the first rank. */
static void take_share(const Packing *p, PathList *files)
{
    int64_t from, to;
    const Share share = p->settings->share;
    if (share.n <= 1 || index_of(p)) return;
    share_range(share, files->n, &from, &to);
    *files = (PathList){ files->item + from, to - from, 0 };
}

static Error *write_file(Packing *p)
{
    const PackSettings *s = p->settings;
    PathList files = { 0 };
    TRY(text_inputs_list(p->arena, &s->src_path, 1, &files));
    if (s->index_path && files.n > 1)
        return error_new("index_path %s is the index of one file, but src_path %s stands for %lld",
                         s->index_path, s->src_path, (long long)files.n);
    take_share(p, &files);
    if (!files.n) return NULL;
    TRY(make_directories(path_folder(p->arena, s->dst_path)));
    TRY(pack_output_open(&p->output, &files, index_of(p)));
    Error *e = pack_sources(p, &files);
    if (!e && s->share.n > 1 && !p->output.summary.n_documents) {
        error_free(pbin_abandon(&p->output.writer, error_silent(1))); /* nothing to join */
        return NULL;
    }
    return e ? pbin_abandon(&p->output.writer, e) : pbin_commit(&p->output.writer);
}

/* ---- all ---- */

/* What can be known to be wrong before any line is read. */
static Error *check_tokens(Packing *p)
{
    const char *eod_token = p->settings->eod_token;
    TRY(pbin_token_bytes(p->tokenizer->vocab_size, &p->output.summary.token_bytes));
    int token_bytes = p->output.summary.token_bytes;
    int64_t eod = p->tokenizer->token_id(p->tokenizer, str_of(eod_token));
    if (eod < 0)
        return error_new(
            "eod_token '%s' is no token of the tokenizer (a %s vocabulary of %lld tokens)",
            eod_token, p->tokenizer->kind, (long long)p->tokenizer->vocab_size);
    int64_t n_fitting = INT64_C(1) << 8 * token_bytes;
    if (eod >= n_fitting)
        return error_new("eod_token '%s' has the id %lld, which does not fit into %d bytes, the "
                         "token size that the "
                         "base vocabulary of %lld tokens gives",
                         eod_token, (long long)eod, token_bytes,
                         (long long)p->tokenizer->vocab_size);
    if (p->tokenizer->n_ids > n_fitting)
        log_warning("the base vocabulary of %lld tokens gives %d bytes per token, but added tokens "
                    "have ids up to "
                    "%lld; documents that use them cannot be packed",
                    (long long)p->tokenizer->vocab_size, token_bytes,
                    (long long)p->tokenizer->n_ids - 1);
    p->eod = (uint32_t)eod;
    return NULL;
}

static Error *pack(Packing *p)
{
    const PackSettings *s = p->settings;
    if (!s->dst_path) return error_new("dst_path is null; it must name the .pbin file to write");
    TRY(check_tokens(p));
    p->n_threads = s->num_cpus < MOST_THREADS ? s->num_cpus : MOST_THREADS;
    Error *e = open_encoders(p);
    if (!e) e = write_file(p);
    close_encoders(p);
    return e;
}

Error *pack_jsonl(const PackSettings *settings, const Tokenizer *tokenizer, PackSummary *out)
{
    double start = clock_seconds();
    BadLines bad;
    TRY(bad_lines_open((BadLinePolicy)settings->on_bad_line, NULL, &bad));
    bad.skipping = BAD_LINES_SKIPPED_BY_SET;
    Packing p = { .settings = settings,
                  .tokenizer = tokenizer,
                  .arena = arena_new(),
                  .output = { .settings = settings, .bad = &bad } };
    Error *e = pack(&p);
    arena_free(p.arena);
    *out = p.output.summary;
    out->seconds = clock_seconds() - start;
    if (!e) bad_lines_tell(&bad, settings->dst_path, out->n_bad + out->n_documents);
    return error_join(e, bad_lines_close(&bad, !e));
}
