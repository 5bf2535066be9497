/* resumable_record.c - what identifies a work, the record of its parts, and notes in it. */
#include "base/file.h"
#include "base/temporary_file.h"
#include "data/resumable_state.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- identity ---- */

static Error *identify_one(Text *t, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return file_failed("read", path);
    text_printf(t, "%s, %lld bytes, changed at %lld.%09ld", path, (long long)st.st_size,
                (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return NULL;
}

Error *identify_path(Text *identity, const char *what, const char *path)
{
    Arena *a = arena_new();
    PathList file = { 0 };
    const char *absolute = path_absolute(a, path);
    Error *e = is_directory(path) ? files_below(a, absolute, "", &file) : NULL;
    if (!is_directory(path)) file = (PathList){ .item = &absolute, .n = 1 };
    for (int64_t i = 0; !e && i < file.n; i++) {
        text_printf(identity, "%s: ", what);
        e = identify_one(identity, file.item[i]);
        text_putc(identity, '\n');
    }
    arena_free(a);
    return e;
}

/* The program comes first: another one may write other bytes. */
Error *record_identify(Resumable *r, const char *given)
{
    Text t = { 0 };
    Error *e = identify_path(&t, "program", "/proc/self/exe");
    text_puts(&t, given);
    r->identity = arena_string_n(r->arena, t.ptr, t.len);
    text_free(&t);
    return e;
}

const char *resumable_recorded(Arena *a, const char *output, const char *what)
{
    return parts_find_identity(a, arena_printf(a, "%s.partial.parts", output),
                               arena_printf(a, ": %s: ", what));
}

/* ---- the record ---- */

Error *record_append(Resumable *r, const Text *lines)
{
    for (size_t at = 0; at < lines->len;) {
        ssize_t n = write(r->record, lines->ptr + at, lines->len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_failed("write", r->record_path);
        at += (size_t)n;
    }
    return sync_file(r->record, r->record_path);
}

static void describe(const Resumable *r, Text *t)
{
    const char *file[MOST_STREAMS];
    for (int i = 0; i < r->n_streams; i++) file[i] = r->stream[i].growing;
    parts_begin(t, file, r->n_streams, r->identity ? r->identity : "work: of what is read once");
    for (int64_t i = 0; i < r->found.n; i++) parts_add(t, &r->found.part[i], r->n_streams);
    for (int64_t i = 0; i < r->found.n_notes; i++) parts_add_note(t, r->found.note[i]);
}

/* Its file has no name of this process alone: what a killed run left of it is replaced. */
static Error *open_new(Resumable *r)
{
    if (r->record >= 0) close(r->record);
    TRY(open_own_file(r->new_record_path, &r->record));
    return ftruncate(r->record, 0) == 0 ? NULL : file_failed("write", r->new_record_path);
}

static Error *replace_record(const Resumable *r)
{
    return rename(r->new_record_path, r->record_path) == 0
               ? NULL
               : file_failed("rename into", r->record_path);
}

/* The record of what is used, without a torn end. */
Error *record_write(Resumable *r)
{
    Text t = { 0 };
    describe(r, &t);
    Error *e = open_new(r);
    if (!e) e = record_append(r, &t);
    text_free(&t);
    if (!e) e = replace_record(r);
    if (e) unlink(r->new_record_path);
    return e ? e : sync_folder_of(r->record_path);
}

Error *record_mark(Resumable *r)
{
    Text t = { 0 };
    describe(r, &t);
    Error *e = open_new(r);
    if (!e && write(r->record, t.ptr, t.len) != (ssize_t)t.len)
        e = file_failed("write", r->new_record_path);
    text_free(&t);
    if (!e) e = replace_record(r);
    if (e) unlink(r->new_record_path);
    if (r->record >= 0) close(r->record);
    r->record = -1;
    return e;
}

Error *record_remove(Resumable *r)
{
    return error_join(remove_tree(r->record_path), remove_tree(r->new_record_path));
}

Error *record_begin(Resumable *r)
{
    if (r->record >= 0) return NULL;
    TRY(record_write(r));
    for (int i = 0; i < r->n_streams; i++) TRY(sync_folder_of(r->stream[i].growing));
    return NULL;
}

/* ---- notes ---- */

const char *resumable_find_note(const Resumable *r, const char *beginning)
{
    size_t n = strlen(beginning);
    for (int64_t i = r->found.n_notes - 1; i >= 0; i--)
        if (!strncmp(r->found.note[i], beginning, n)) return r->found.note[i] + n;
    return NULL;
}

static Error *describe_made(const char *path, Text *out)
{
    text_printf(out, "made: ");
    return identify_one(out, path);
}

Error *resumable_note_made(Resumable *r, const char *path)
{
    Text t = { 0 };
    Error *e = describe_made(path, &t);
    if (!e) e = resumable_note(r, t.ptr);
    text_free(&t);
    return e;
}

bool resumable_is_made(const Resumable *r, const char *path)
{
    Text t = { 0 };
    Error *e = describe_made(path, &t);
    bool is_made = !e && resumable_find_note(r, t.ptr);
    error_free(e);
    text_free(&t);
    return is_made;
}

/* The record has notes alone: its parts went away with the growing files. */
Error *resumable_note(Resumable *r, const char *note)
{
    PartRecord *found = &r->found;
    CHECK(r->identity && r->is_placed);
    found->n = 0;
    found->note =
        arena_grow(r->arena, found->note, found->n_notes, &found->note_cap, sizeof *found->note);
    found->note[found->n_notes++] = arena_string(r->arena, note);
    return record_write(r);
}
