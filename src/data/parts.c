/* parts.c - the text of a record of finished parts, written and read. */
#include "data/parts.h"
#include "base/block_sum.h"
#include "base/file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char FIRST_LINE[] = "modalities parts 1";

/* ---- writing ---- */

/* Ends the line that began at byte `from` with its sum. */
static void end_line(Text *t, size_t from)
{
    uint64_t sum = block_sum(t->ptr + from, t->len - from);
    text_printf(t, " =%016" PRIx64 "\n", sum);
}

void parts_begin(Text *t, const char *const *file, int n_files, const char *identity)
{
    text_puts(t, FIRST_LINE);
    end_line(t, 0);
    for (int i = 0; i < n_files; i++) {
        size_t from = t->len;
        text_printf(t, "file %s", file[i]);
        end_line(t, from);
    }
    for (const char *p = identity; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t from = t->len;
        text_printf(t, ": %.*s", (int)strcspn(p, "\n"), p);
        end_line(t, from);
    }
}

void parts_add(Text *t, const FinishedPart *part, int n_streams)
{
    size_t from = t->len;
    text_puts(t, "part");
    for (int i = 0; i < n_streams; i++)
        text_printf(t, " %" PRId64 ":%016" PRIx64, part->end[i], part->sum[i]);
    text_puts(t, " numbers");
    for (int i = 0; i < MOST_NUMBERS; i++) text_printf(t, " %" PRId64, part->number[i]);
    end_line(t, from);
}

void parts_add_note(Text *t, const char *note)
{
    size_t from = t->len;
    text_printf(t, "note %s", note);
    end_line(t, from);
}

/* ---- reading ---- */

/* The next line without its sum; false at the end and where a line is not whole. */
static bool next_line(Arena *a, Str *rest, const char **line)
{
    enum { SUM_LENGTH = 18 };
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    if (!end || end - rest->ptr < SUM_LENGTH) return false;
    size_t n = (size_t)(end - rest->ptr) - SUM_LENGTH;
    char expected[SUM_LENGTH + 1];
    snprintf(expected, sizeof expected, " =%016" PRIx64, block_sum(rest->ptr, n));
    if (memcmp(rest->ptr + n, expected, SUM_LENGTH) != 0) return false;
    *line = arena_string_n(a, rest->ptr, n);
    *rest = (Str){ end + 1, rest->len - (size_t)(end + 1 - rest->ptr) };
    return true;
}

static bool take(const char **p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0) return false;
    *p += n;
    return true;
}

static bool take_number(const char **p, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(*p, &end, 10);
    bool is_number = end > *p && !errno;
    *p = end;
    return is_number;
}

/* Of a part after `before`, which may be NULL: streams do not shrink. */
static bool read_part(const char *p, int n_streams, const FinishedPart *before, FinishedPart *out)
{
    *out = (FinishedPart){ 0 };
    for (int i = 0; i < n_streams; i++) {
        char *end;
        if (!take(&p, " ") || !take_number(&p, &out->end[i]) || !take(&p, ":")) return false;
        if (out->end[i] < (before ? before->end[i] : 0)) return false;
        out->sum[i] = strtoull(p, &end, 16);
        p = end;
    }
    if (!take(&p, " numbers")) return false;
    for (int i = 0; i < MOST_NUMBERS; i++)
        if (!take(&p, " ") || !take_number(&p, &out->number[i])) return false;
    return !*p;
}

/* Compares a line of the record with the identity at hand, and moves on in it. */
static const char *difference(Arena *a, const char *recorded, const char **identity)
{
    size_t n = strcspn(*identity, "\n");
    const char *here = arena_string_n(a, *identity, n);
    *identity += n;
    *identity += **identity == '\n';
    if (!strcmp(recorded, here)) return NULL;
    return arena_printf(a, "it worked with \"%s\", now it is \"%s\"", recorded, here);
}

static void read_lines(Arena *a, Str rest, const char *identity, int n_streams, PartRecord *out)
{
    const char *line;
    FinishedPart part;
    if (!next_line(a, &rest, &line) || strcmp(line, FIRST_LINE) != 0) {
        out->difference = "its record is of another version or damaged";
        return;
    }
    while (!out->difference && next_line(a, &rest, &line)) {
        const FinishedPart *before = out->n ? &out->part[out->n - 1] : NULL;
        if (take(&line, "file ")) {
            out->file = arena_grow(a, out->file, out->n_files, &out->file_cap, sizeof *out->file);
            out->file[out->n_files++] = line;
        } else if (take(&line, ": ")) {
            out->difference = difference(a, line, &identity);
        } else if (*identity) {
            out->difference = difference(a, "nothing", &identity);
        } else if (take(&line, "part")) {
            if (!read_part(line, n_streams, before, &part)) return;
            out->part = arena_grow(a, out->part, out->n, &out->cap, sizeof part);
            out->part[out->n++] = part;
        } else if (take(&line, "note ")) {
            out->note = arena_grow(a, out->note, out->n_notes, &out->note_cap, sizeof *out->note);
            out->note[out->n_notes++] = line;
        }
    }
}

Error *parts_read(Arena *a, const char *path, const char *identity, int n_streams, PartRecord *out)
{
    Str text;
    *out = (PartRecord){ 0 };
    if (!file_exists(path)) return NULL;
    TRY(file_read(a, path, &text));
    read_lines(a, text, identity, n_streams, out);
    return NULL;
}

const char *parts_find_identity(Arena *a, const char *path, const char *beginning)
{
    Str rest = { 0 };
    const char *line, *found = NULL;
    Error *e = file_exists(path) ? file_read(a, path, &rest) : error_new("no record");
    while (!e && !found && next_line(a, &rest, &line))
        if (take(&line, beginning)) found = line;
    error_free(e);
    return found;
}
