/* bad_lines.c - counts lines that are left out, and reports them as JSON lines. */
#include "data/bad_lines.h"
#include "base/json.h"
#include "base/log.h"
#include "data/existing_file.h"
#include <jansson.h>
#include <string.h>

enum { MOST_NAMED = 10, MOST_REASONS = 100, REPORTED_BYTES = 200 };

static Error *make_folder_of(const char *path)
{
    Arena *a = arena_new();
    Error *e = make_directories(path_folder(a, path));
    arena_free(a);
    return e;
}

/* The first line is as write_report makes it. */
static bool is_report(Str text)
{
    static const char *const pieces[] = { "{\"file\": \"",
                                          "\", \"line\": ", ", \"byte\": ", ", \"reason\": \"",
                                          "\", \"text\": \"" };
    const size_t n_first = strlen(pieces[0]);
    const char *p = text.ptr, *end = memchr(p, '\n', text.len);
    if (!end || (size_t)(end - p) < n_first || memcmp(p, pieces[0], n_first) != 0) return false;
    for (int i = 1; p && i < 5; i++) p = memmem(p, (size_t)(end - p), pieces[i], strlen(pieces[i]));
    return p;
}

/* What must be known before the first line is read. */
static Error *prepare_report(const char *path)
{
    Error *e = existing_report(path, is_report, "a report of bad lines");
    return e ? e : make_folder_of(path);
}

Error *bad_lines_open(BadLinePolicy policy, const char *report_path, BadLines *out)
{
    *out = (BadLines){ .policy = policy,
                       .skipping = "--on_bad_line skip",
                       .max_line_bytes = DEFAULT_MAX_LINE_BYTES };
    if (report_path) {
        Error *e = prepare_report(report_path);
        if (!e) e = file_create(report_path, &out->report);
        if (e) return error_wrap(e, "the report of bad lines");
    }
    out->has_report = report_path;
    out->arena = arena_new();
    out->reason = map_new(out->arena);
    return NULL;
}

/* Numbers and names in a reason may differ from line to line: beyond a limit they are one. */
static void count(BadLines *b, Str reason)
{
    int64_t *n = map_get(b->reason, reason);
    if (!n && b->reason->n >= MOST_REASONS) {
        reason = str_of("other reasons");
        n = map_get(b->reason, reason);
    }
    if (!n) {
        n = NEW(b->arena, int64_t);
        map_set(b->reason, reason, n);
    }
    ++*n;
}

/* ---- continuing ---- */

Error *bad_lines_stream(const char *report_path, OutputStream *out)
{
    *out = (OutputStream){ .path = report_path, .suffix = ".bad_lines" };
    if (!report_path) return NULL;
    Error *e = prepare_report(report_path);
    if (!e) e = file_check_writable(report_path);
    return error_wrap(e, "the report of bad lines");
}

/* The parts that are used were checked, so every line is one that was written here. */
static void count_kept(BadLines *b, Str line)
{
    json_error_t fault;
    json_t *entry = json_loadb(line.ptr, line.len, 0, &fault);
    const char *reason = json_string_value(json_object_get(entry, "reason"));
    if (reason) count(b, str_of(reason));
    b->n++;
    json_decref(entry);
}

Error *bad_lines_keep(BadLines *b, Resumable *to, int stream)
{
    Arena *a = arena_new();
    Str text;
    b->kept = to;
    b->stream = stream;
    b->n = 0;
    Error *e = resumable_view(to, stream, a, &text);
    for (const char *p = text.ptr, *end = p + text.len, *stop; !e && p < end; p = stop + 1) {
        stop = memchr(p, '\n', (size_t)(end - p));
        CHECK(stop != NULL);
        count_kept(b, (Str){ p, (size_t)(stop - p) });
    }
    arena_free(a);
    return e;
}

/* ---- one line ---- */

static Error *write_report(BadLines *b, const char *path, int64_t line_number, int64_t offset,
                           Str line, int64_t column, const char *reason)
{
    Text t = { 0 };
    text_puts(&t, "{\"file\": ");
    text_json_string(&t, str_of(path));
    text_printf(&t, ", \"line\": %lld, \"byte\": %lld, \"reason\": ", (long long)line_number,
                (long long)offset + (column > 0 ? column : 0));
    text_json_string(&t, str_of(reason));
    text_puts(&t, ", \"text\": ");
    text_json_string(&t, (Str){ line.ptr, line.len < REPORTED_BYTES ? line.len : REPORTED_BYTES });
    text_puts(&t, "}\n");
    Error *e = NULL;
    if (b->kept)
        e = resumable_add(b->kept, b->stream, t.ptr, t.len);
    else
        fwrite(t.ptr, 1, t.len, b->report.stream);
    text_free(&t);
    return e;
}

Error *bad_lines_add(BadLines *b, const char *path, int64_t line_number, int64_t offset, Str line,
                     int64_t column, Error *reason)
{
    bool is_skipped = b->policy == BAD_LINE_SKIP;
    if (is_skipped) count(b, str_of(error_text(reason)));
    Error *unwritten = NULL;
    if (is_skipped && (b->has_report || b->kept))
        unwritten = write_report(b, path, line_number, offset, line, column, error_text(reason));
    Error *e = bad_line_error(path, line_number, offset, line, column, reason);
    if (!is_skipped) return bad_line_stops(e, b->skipping);
    b->n++;
    if (b->n <= MOST_NAMED) log_warning("skipped: %s", error_text(e));
    if (b->n == MOST_NAMED) log_warning("further bad lines are only counted");
    error_free(e);
    return unwritten;
}

void bad_lines_tell(const BadLines *b, const char *output, int64_t n_lines)
{
    if (!b->n) return;
    Text t = { 0 };
    text_printf(&t, "%s: %lld of %lld lines were left out", output, (long long)b->n,
                (long long)n_lines);
    for (int64_t i = 0; i < b->reason->n; i++)
        text_printf(&t, "\n  %lld: %.*s", (long long)*(int64_t *)b->reason->entry[i].value,
                    (int)b->reason->entry[i].key.len, b->reason->entry[i].key.ptr);
    log_warning("%s", t.ptr);
    text_free(&t);
}

Error *bad_lines_close(BadLines *b, bool is_done)
{
    Error *e = NULL;
    if (b->has_report && is_done)
        e = error_wrap(file_commit(&b->report), "the report of bad lines");
    else if (b->has_report)
        file_abandon(&b->report);
    arena_free(b->arena);
    *b = (BadLines){ 0 };
    return e;
}
