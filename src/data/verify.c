/* verify.c - reads packed files and indexes whole. */
#include "data/verify.h"
#include "base/json_scan.h"
#include "base/signal.h"
#include "data/jsonl.h"
#include "data/progress.h"

/* ---- documents ---- */

static Error *check_ends(const Pbin *p, PbinDocuments *d, const PbinExpectation *expected,
                         PbinVerdict *v)
{
    IndexEntry e;
    int64_t from, to, eod = expected->eod;
    share_range(expected->share, d->n, &from, &to);
    for (int64_t i = 0; pbin_documents_next(d, &e); i++) {
        v->n_empty += e.length == 0;
        if (eod < 0 || i < from || i >= to) continue;
        if (!e.length)
            return error_new("%s: document %lld is empty; it should end with the EOD token %lld",
                             p->path, (long long)i, (long long)eod);
        int64_t last = (e.offset + e.length) / p->token_bytes - 1;
        if (pbin_token(p, last) != eod)
            return error_new("%s: document %lld ends with token %u (token %lld of the file); it "
                             "should be the EOD token %lld",
                             p->path, (long long)i, pbin_token(p, last), (long long)last,
                             (long long)eod);
    }
    return NULL;
}

static Error *verify_opened(Arena *a, const Pbin *p, const PbinExpectation *expected,
                            PbinVerdict *out)
{
    PbinDocuments d;
    TRY(pbin_documents_open(a, p, &d));
    *out = (PbinVerdict){ .n_documents = d.n,
                          .n_tokens = p->n_tokens,
                          .is_miscounted = d.is_miscounted };
    TRY(pbin_largest_id(p, expected->share, &out->largest_id));
    if (expected->vocab_size && p->n_tokens && out->largest_id >= expected->vocab_size)
        return pbin_check_ids(p, expected->vocab_size);
    return check_ends(p, &d, expected, out);
}

Error *verify_pbin(const char *path, const PbinExpectation *expected, PbinVerdict *out)
{
    Arena *a = arena_new();
    Pbin p;
    Error *e = pbin_open(a, path, &p);
    if (!e) e = verify_opened(a, &p, expected, out);
    arena_free(a);
    return e;
}

/* ---- indexes ---- */

static Error *check_entry(const Jsonl *j, int64_t i, IndexEntry entry, int64_t line_number)
{
    Str line;
    JsonFault fault;
    TRY(jsonl_line(j, entry, &line));
    bool begins = entry.offset == 0 || line.ptr[-1] == '\n';
    bool ends = line.ptr + line.len == j->text.ptr + j->text.len || line.ptr[line.len] == '\n';
    if (!begins || !ends)
        return error_new("%s: entry %lld, bytes %lld to %lld of %s, is no whole line; the index "
                         "was made from another file",
                         j->index_path, (long long)i, (long long)entry.offset,
                         (long long)entry.offset + entry.length, j->path);
    if (json_check(line, SURROGATES_PASS, &fault)) return NULL;
    return bad_line_error(j->path, line_number, entry.offset, line, fault.offset,
                          error_new("%s", fault.reason));
}

static Error *check_entries(const Jsonl *j, Share share, IndexVerdict *out)
{
    int64_t from, to;
    share_range(share, index_count(j->index), &from, &to);
    IndexEntry entry;
    LineCounter lines = { .text = j->text };
    CommandProgress progress =
        progress_start("checking lines", (int64_t)j->text.len, PROGRESS_BYTES);
    for (int64_t end = 0; index_next(j->index, &entry); out->n_entries++) {
        if (entry.offset < end)
            return error_new("%s: entry %lld begins at byte %lld, before the end of the last one",
                             j->index_path, (long long)out->n_entries, (long long)entry.offset);
        int64_t size = (int64_t)j->text.len;
        if (out->n_entries >= from && out->n_entries < to) {
            int64_t number = entry.offset <= size ? line_at(&lines, entry.offset) : 0;
            TRY(check_entry(j, out->n_entries, entry, number));
        }
        end = entry.offset + entry.length;
        if (out->n_entries % 256 == 0) progress_update(&progress, end);
        if (signal_stop_requested())
            return error_stopped("%s: stopped by a signal before the end", j->index_path);
    }
    progress_end(&progress);
    return NULL;
}

Error *verify_index(const char *jsonl_path, const char *index_path, Share share, IndexVerdict *out)
{
    Arena *a = arena_new();
    Jsonl j;
    *out = (IndexVerdict){ 0 };
    Error *e = jsonl_open(a, jsonl_path, index_path, &j);
    if (!e) e = check_entries(&j, share, out);
    if (!e) {
        LineCounter lines = { .text = j.text };
        const char *end = j.text.ptr + j.text.len;
        bool is_ended = j.text.len && end[-1] == '\n';
        out->n_lines = j.text.len ? line_at(&lines, (int64_t)j.text.len) - is_ended : 0;
    }
    arena_free(a);
    return e;
}
