/* filter.c - decides about each document with all cores, then writes those that are kept. */
#include "data/filter.h"
#include "base/json.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/jq_program.h"
#include "data/pbin.h"
#include "data/progress.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 256, BLOCKS_PER_THREAD = 16 }; /* documents; blocks between two looks at signals */

/* What one thread needs to ask jq. */
typedef struct Judge {
    JqProgram *program;
    Ids ids;
    Text text;
} Judge;

typedef struct Filtering {
    const Filter *settings;
    Arena *arena;
    Pbin file;
    Pieces document;            /* this share's */
    int64_t first, n_documents; /* the number of its first one; those of the file */
    uint8_t *is_kept;           /* per document: 0 or 1 */
    PbinWriter writer;
    Judge *judge; /* per thread */
    int64_t first_block, n_blocks;
    Error **error; /* per block of a round */
} Filtering;

/* ---- --keep ---- */

static Error *keep_number(Filtering *f, Str line, int64_t line_number)
{
    const char *path = f->settings->keep;
    int64_t number = 0;
    while (line.len && isspace((uint8_t)line.ptr[line.len - 1])) line.len--;
    bool is_number = line.len > 0 && line.len < 19;
    for (size_t i = 0; i < line.len && is_number; i++) {
        is_number = isdigit((uint8_t)line.ptr[i]);
        number = number * 10 + (line.ptr[i] - '0');
    }
    if (!is_number)
        return error_new("%s:%lld: \"%.*s\" is no number of a document", path,
                         (long long)line_number, (int)(line.len < 40 ? line.len : 40), line.ptr);
    if (number >= f->n_documents)
        return error_new("%s:%lld: document %lld of %s, which has documents 0 to %lld", path,
                         (long long)line_number, (long long)number, f->file.path,
                         (long long)f->n_documents - 1);
    if (number >= f->first && number - f->first < f->document.n)
        f->is_kept[number - f->first] = true;
    return NULL;
}

static Error *read_keep(Filtering *f)
{
    Str text;
    TRY(file_view(f->arena, f->settings->keep, &text));
    int64_t line_number = 0;
    for (const char *p = text.ptr, *end = p + text.len; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        TRY(keep_number(f, (Str){ p, (size_t)(stop - p) }, ++line_number));
        p = stop + 1;
    }
    return NULL;
}

/* ---- --jq ---- */

static const uint32_t *take_ids(const Filtering *f, Judge *j, Str document)
{
    j->ids.n = 0;
    uint32_t *id = ids_reserve(&j->ids, (int64_t)document.len / f->file.token_bytes + 1);
    pbin_decode(document, f->file.token_bytes, id);
    return id;
}

static Error *decode(const Filtering *f, Judge *j, Str document)
{
    const int64_t n = (int64_t)document.len / f->file.token_bytes;
    const uint32_t *id = take_ids(f, j, document);
    text_clear(&j->text);
    return f->settings->tokenizer->decode(f->settings->tokenizer, id, n, true, &j->text);
}

typedef struct Described {
    int64_t index, n_tokens;
    const Text *text;   /* NULL: there is none */
    const uint32_t *id; /* likewise */
} Described;

/* {index, n_tokens, text, tokens} */
static jv describe(const void *document)
{
    const Described *d = document;
    jv o = jv_object();
    o = jv_object_set(o, jv_string("index"), jv_number((double)d->index));
    o = jv_object_set(o, jv_string("n_tokens"), jv_number((double)d->n_tokens));
    if (d->text)
        o = jv_object_set(o, jv_string("text"),
                          jv_string_sized(d->text->len ? d->text->ptr : "", (int)d->text->len));
    if (!d->id) return o;
    jv ids = jv_array_sized(d->n_tokens < INT32_MAX ? (int)d->n_tokens : INT32_MAX);
    for (int64_t i = 0; i < d->n_tokens; i++) ids = jv_array_append(ids, jv_number(d->id[i]));
    return jv_object_set(o, jv_string("tokens"), ids);
}

static Error *judge(const Filtering *f, Judge *j, int64_t i, bool *keep)
{
    Str document = f->document.item[i];
    Described d = { .index = f->first + i,
                    .n_tokens = (int64_t)document.len / f->file.token_bytes };
    if (f->settings->tokenizer) {
        TRY(decode(f, j, document));
        if (j->text.len > INT32_MAX)
            return error_new("a text of more than 2 GiB, which libjq cannot take");
        d.text = &j->text;
    }
    if (f->settings->with_tokens) d.id = take_ids(f, j, document);
    char shown[64];
    snprintf(shown, sizeof shown, "document %lld", (long long)d.index);
    JqResult result;
    TRY(jq_program_run(j->program, &(JqInput){ describe, &d, str_of(shown) }, &result));
    *keep = result.kind == JV_KIND_TRUE;
    if (result.kind == JV_KIND_TRUE || result.kind == JV_KIND_FALSE) return NULL;
    return jq_program_unwanted(j->program, result.kind, "true or false");
}

static void judge_block(void *arg, int64_t block, int thread)
{
    const Filtering *f = arg;
    int64_t from = (f->first_block + block) * BLOCK, to = from + BLOCK;
    if (to > f->document.n) to = f->document.n;
    for (int64_t i = from; i < to && !signal_stop_requested(); i++) {
        const int64_t number = f->first + i;
        bool keep = false;
        Error *e = f->is_kept[i] ? judge(f, &f->judge[thread], i, &keep) : NULL;
        f->is_kept[i] = keep;
        if (!e) continue;
        f->error[block] = error_wrap(e, "%s: document %lld", f->file.path, (long long)number);
        return;
    }
}

/* The first error in the order of documents, whichever thread was first. */
static Error *first_error(Filtering *f, int64_t n)
{
    Error *first = NULL;
    for (int64_t i = 0; i < n; i++) {
        if (first)
            error_free(f->error[i]);
        else
            first = f->error[i];
        f->error[i] = NULL;
    }
    return first;
}

/* Verdicts go to a stream of their own, one byte per document. */
enum { VERDICTS = PBIN_STREAMS };

/* Those of an earlier run. */
static Error *take_verdicts(Filtering *f)
{
    Arena *a = arena_new();
    Str found;
    Error *e = resumable_view(f->writer.file, VERDICTS, a, &found);
    if (!e && found.len) memcpy(f->is_kept, found.ptr, found.len);
    arena_free(a);
    return e;
}

static Error *judge_all(Filtering *f, Pool *pool)
{
    Resumable *file = f->writer.file;
    int64_t most = (int64_t)pool_size(pool) * BLOCKS_PER_THREAD;
    f->error = NEW_N(f->arena, Error *, most);
    CommandProgress progress = progress_start("filtering", f->document.n, PROGRESS_ITEMS);
    progress.found = resumable_bytes(file, VERDICTS);
    f->first_block = progress.found / BLOCK; /* the last block is short only where all are done */
    for (int64_t done = progress.found, n; done < f->document.n; f->first_block += n) {
        int64_t left = f->n_blocks - f->first_block;
        n = left < most ? left : most;
        pool_run(pool, n, judge_block, f);
        TRY(first_error(f, n));
        if (signal_stop_requested())
            return error_stopped("stopped by a signal; %s was not written", f->settings->target);
        int64_t end = (f->first_block + n) * BLOCK;
        if (end > f->document.n) end = f->document.n;
        TRY(resumable_add(file, VERDICTS, f->is_kept + done, (size_t)(end - done)));
        done = end;
        TRY(resumable_reach(file, NULL));
        progress_update(&progress, done);
    }
    progress_end(&progress);
    return NULL;
}

static Error *ask_jq(Filtering *f)
{
    Pool *pool = pool_new(0);
    int n = pool_size(pool);
    Error *e = NULL;
    f->judge = NEW_N(f->arena, Judge, n);
    f->n_blocks = f->document.n / BLOCK + (f->document.n % BLOCK != 0);
    for (int i = 0; !e && i < n; i++)
        e = jq_program_new("--jq", f->settings->jq, &f->judge[i].program);
    if (!e) e = judge_all(f, pool);
    for (int i = 0; i < n; i++) {
        jq_program_free(f->judge[i].program);
        ids_free(&f->judge[i].ids);
        text_free(&f->judge[i].text);
    }
    pool_free(pool);
    return e;
}

/* ---- all of it ---- */

static Error *open_source(Filtering *f)
{
    PbinDocuments documents;
    void *flags;
    TRY(pbin_open(f->arena, f->settings->source, &f->file));
    TRY(pbin_documents_open(f->arena, &f->file, &documents));
    int64_t to;
    f->n_documents = documents.n;
    share_range(f->settings->share, documents.n, &f->first, &to);
    TRY(pieces_new(f->arena, f->settings->target, to - f->first, &f->document));
    TRY(file_scratch(f->arena, f->settings->target, (size_t)(to - f->first), &flags));
    f->is_kept = flags;
    pbin_documents_get(&f->file, &documents, f->first, to, f->document.item);
    return NULL;
}

static void drop_the_others(Filtering *f)
{
    int64_t n = 0;
    for (int64_t i = 0; i < f->document.n; i++)
        if (f->is_kept[i]) f->document.item[n++] = f->document.item[i];
    f->document.n = n;
}

static Error *identify(const Filtering *f, Text *out)
{
    const Filter *s = f->settings;
    text_printf(out, "work: filtering\njq: ");
    if (s->jq) text_json_string(out, str_of(s->jq));
    text_putc(out, '\n');
    TRY(identify_path(out, "input", s->source));
    if (s->keep) TRY(identify_path(out, "keep", s->keep));
    return s->tokenizer_path ? identify_path(out, "tokenizer", s->tokenizer_path) : NULL;
}

static Error *open_target(Filtering *f)
{
    Text identity = { 0 };
    OutputStream verdicts = { .suffix = ".verdicts" };
    Error *e = identify(f, &identity);
    if (!e)
        e = pbin_continue(f->settings->target, f->file.token_bytes, identity.ptr, &verdicts, 1,
                          &f->writer);
    text_free(&identity);
    return e;
}

static Error *write_kept(Filtering *f, FilterSummary *out)
{
    drop_the_others(f);
    if (!f->document.n && f->settings->share.n > 1) return error_silent(1); /* nothing to join */
    if (!f->document.n)
        return error_new("The tokenized dataset did not create any data. (the filter keeps none of "
                         "the %lld documents of %s)",
                         (long long)out->n_documents, f->settings->source);
    out->n_kept = f->document.n;
    out->n_bytes = pieces_bytes(&f->document);
    TRY(pieces_write(&f->document, f->writer.file, "writing"));
    for (int64_t i = 0; i < f->document.n; i++)
        TRY(pbin_add_length(&f->writer, (int64_t)f->document.item[i].len));
    return NULL;
}

static Error *decide_and_write(Filtering *f, FilterSummary *out)
{
    if (f->settings->jq) {
        TRY(take_verdicts(f));
        TRY(ask_jq(f));
    }
    return write_kept(f, out);
}

static Error *filter(Filtering *f, FilterSummary *out)
{
    TRY(open_source(f));
    out->n_documents = f->document.n;
    if (f->settings->keep)
        TRY(read_keep(f));
    else
        memset(f->is_kept, true, (size_t)f->document.n);
    TRY(open_target(f));
    Error *e = decide_and_write(f, out);
    if (e && f->settings->share.n > 1 && !f->document.n && !*error_text(e)) {
        error_free(pbin_abandon(&f->writer, e));
        return NULL;
    }
    return e ? pbin_abandon(&f->writer, e) : pbin_commit(&f->writer);
}

Error *filter_pbin(const Filter *f, FilterSummary *out)
{
    *out = (FilterSummary){ 0 };
    Filtering filtering = { .settings = f, .arena = arena_new() };
    Error *e = filter(&filtering, out);
    arena_free(filtering.arena);
    return e;
}
