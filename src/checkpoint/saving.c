/* saving.c - when a run saves, where, and which of its checkpoints it keeps. */
#include "checkpoint/saving.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "checkpoint/folder_write.h"
#include "checkpoint/manifest.h"
#include "checkpoint/new_folder.h"
#include "config/yaml.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

CheckpointSaving *checkpoint_saving_new(Arena *a, const CheckpointStrategy *strategy,
                                        const CheckpointExecution *execution)
{
    CheckpointSaving *s = NEW(a, CheckpointSaving);
    *s = (CheckpointSaving){ .strategy = *strategy, .execution = *execution, .arena = a };
    return s;
}

Error *checkpoint_saving_prepare(const CheckpointSaving *s)
{
    if (s->strategy.keep == 0 || s->execution.global_rank != 0) return NULL;
    const char *folder = s->execution.checkpoint_path;
    Arena *a = arena_new();
    FILE *f;
    Error *e = make_directories(folder);
    if (!e) e = file_temporary(path_join(a, folder, "checkpoint"), &f);
    if (!e) fclose(f);
    arena_free(a);
    return error_wrap(e, "checkpoint_path %s", folder);
}

bool checkpoint_is_due(const CheckpointSaving *s, int64_t seen_steps)
{
    return s->strategy.keep != 0 && seen_steps % s->strategy.every == 0;
}

/* Absolute, but with links as the user gave them: where they lead may differ between machines. */
static char *absolute(Arena *a, const char *path)
{
    return path[0] == '/' ? arena_string(a, path) : path_join(a, path_absolute(a, "."), path);
}

/* As the original writes it, without a line end. */
static Error *write_info(Arena *a, const CheckpointExecution *x, const char *folder)
{
    static const char *const key[] = { "model_checkpoint_path", "optimizer_checkpoint_path",
                                       "checkpoint_folder_path" };
    Text text = { 0 };
    for (int i = x->is_fsdp1 ? 0 : 2; i < 3; i++) {
        bool is_file = i < 2 && checkpoint_layout(x) == LAYOUT_FSDP1;
        text_printf(&text, "%s\"%s\": ", text.len ? ", " : "{", key[i]);
        text_json_path(&text, is_file ? fsdp1_file(a, folder, i ? "optimizer" : "model") : folder);
    }
    text_putc(&text, '}');
    Error *e =
        file_write(path_join(a, x->checkpoint_path, LAST_CHECKPOINT_INFO), text.ptr, text.len);
    text_free(&text);
    return error_wrap(e, "checkpoint %s is complete, but %s still names the one before", folder,
                      LAST_CHECKPOINT_INFO);
}

/* Saving a name again makes it the newest. */
static void remember(CheckpointSaving *s, const char *folder)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n_kept; i++)
        if (strcmp(s->kept[i], folder) != 0) s->kept[n++] = s->kept[i];
    s->n_kept = n;
    s->kept = arena_grow(s->arena, s->kept, s->n_kept, &s->kept_cap, sizeof *s->kept);
    s->kept[s->n_kept++] = arena_string(s->arena, folder);
}

static bool is_archived(const CheckpointSaving *s, const char *folder)
{
    int64_t steps = 0;
    if (!s->strategy.keep_every) return false;
    Error *e = checkpoint_path_number(path_name(folder), "seen_steps_", &steps);
    const bool is_archived = !e && steps % s->strategy.keep_every == 0;
    error_free(e);
    return is_archived;
}

/* Whether it can be opened, with all files in their sizes. */
static bool is_there(const char *folder)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = checkpoint_open(a, folder, &r);
    if (!e && r->verify_files) e = r->verify_files(r);
    const bool is_there = !e;
    error_free(e);
    arena_free(a);
    return is_there;
}

static void delete_oldest(CheckpointSaving *s, const FolderWriter *new, Arena *a)
{
    if (s->strategy.keep <= 0 || s->n_kept <= s->strategy.keep) return;
    Error *unreadable = folder_check_written(new);
    if (unreadable) {
        log_warning("no old checkpoint is deleted, as the new one cannot be read: %s",
                    error_text(unreadable));
        error_free(unreadable);
        return;
    }
    while (s->n_kept > s->strategy.keep) {
        const char *folder = s->kept[0];
        memmove(s->kept, s->kept + 1, sizeof *s->kept * (size_t)--s->n_kept);
        if (is_archived(s, folder)) continue;
        Error *e = folder_remove(a, folder);
        if (e) log_warning("the old checkpoint %s is not deleted: %s", folder, error_text(e));
        error_free(e);
    }
}

/* Before the next one fails. */
static void warn_of_full_disk(const CheckpointSaving *s)
{
    const char *folder = s->execution.checkpoint_path;
    struct statvfs disk;
    if (!s->bytes || statvfs(folder, &disk) != 0) return;
    const double left = (double)disk.f_bavail * (double)disk.f_frsize;
    if (left >= (double)s->bytes) return;
    char needed[32], there[32];
    format_bytes((double)s->bytes, needed);
    format_bytes(left, there);
    log_warning("the next checkpoint needs %s, but only %s are left in %s", needed, there, folder);
}

typedef struct Found {
    const char *path;
    int64_t steps;
} Found;

static int by_steps(const void *x, const void *y)
{
    const Found *a = x, *b = y;
    return (a->steps > b->steps) - (a->steps < b->steps);
}

/* The complete checkpoints of an experiment, by steps. */
static Error *find_all(Arena *a, const char *folder, const char *id, Found **out, int64_t *n)
{
    const char *prefix = arena_printf(a, "eid_%s-seen_steps_", id);
    int64_t cap = 0;
    *n = 0;
    DIR *d = opendir(folder);
    if (!d && errno == ENOENT) return NULL;
    if (!d) return error_new("cannot read folder %s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(d));) {
        if (!str_starts(str_of(entry->d_name), prefix)) continue;
        Found f = { .path = path_join(a, folder, entry->d_name),
                    .steps = strtoll(entry->d_name + strlen(prefix), NULL, 10) };
        if (!file_exists(path_join(a, f.path, MANIFEST_NAME))) continue;
        *out = arena_grow(a, *out, *n, &cap, sizeof **out);
        (*out)[(*n)++] = f;
    }
    closedir(d);
    if (*n) qsort(*out, (size_t)*n, sizeof **out, by_steps);
    return NULL;
}

Error *checkpoint_newest(Arena *a, const char *folder, const char *experiment_id, const char **out)
{
    Found *found = NULL;
    int64_t n;
    const char *info = path_join(a, folder, LAST_CHECKPOINT_INFO);
    *out = NULL;
    folder_sweep(a, folder, "eid_"); /* a replacement that was interrupted is finished */
    TRY(find_all(a, folder, experiment_id, &found, &n));
    if (!n) return NULL;
    *out = found[n - 1].path;
    Yaml *paths = NULL;
    if (file_exists(info)) error_free(yaml_read_json(a, info, &paths));
    const Yaml *last = paths ? yaml_get(paths, "checkpoint_folder_path") : NULL;
    for (int64_t i = 0; i < n && last && last->type == YAML_STRING; i++)
        if (!strcmp(path_name(last->text), path_name(found[i].path))) *out = found[i].path;
    return NULL;
}

Error *checkpoint_saving_go_on(CheckpointSaving *s, const char *path)
{
    const CheckpointExecution *x = &s->execution;
    Found *found = NULL;
    int64_t n, steps;
    if (x->global_rank != 0 || s->strategy.keep == 0) return NULL;
    TRY(checkpoint_path_number(path_name(path), "seen_steps_", &steps));
    TRY(find_all(s->arena, absolute(s->arena, x->checkpoint_path), x->experiment_id, &found, &n));
    for (int64_t i = 0; i < n; i++)
        if (found[i].steps <= steps) remember(s, found[i].path);
    return write_info(s->arena, x, absolute(s->arena, path));
}

Error *checkpoint_name_older(Error *e, const char *path)
{
    static const char key[] = "-seen_steps_";
    const char *name = path_name(path), *at = strstr(name, key);
    if (!e || !at || !str_starts(str_of(name), "eid_")) return e;
    Arena *a = arena_new();
    Found *found = NULL;
    int64_t n = 0;
    const char *id = arena_string_n(a, name + strlen("eid_"), (size_t)(at - name) - strlen("eid_"));
    const int64_t steps = strtoll(at + strlen(key), NULL, 10);
    error_free(find_all(a, path_folder(a, path), id, &found, &n));
    while (n-- > 0) {
        if (found[n].steps >= steps || !is_there(found[n].path)) continue;
        e = error_join(e, error_new("an older checkpoint can be opened: %s", found[n].path));
        break;
    }
    arena_free(a);
    return e;
}

CheckpointLayout checkpoint_layout(const CheckpointExecution *x)
{
    return x->format ? LAYOUT_NATIVE : x->is_fsdp1 ? LAYOUT_FSDP1 : LAYOUT_DCP;
}

struct PlannedSave {
    Arena *arena;
    CheckpointSaving *saving;
    FolderWriter *writer;
    const char *folder;
};

Error *checkpoint_saving_plan(Arena *a, CheckpointSaving *s, const CheckpointTotals *totals,
                              const CheckpointContent *content, PlannedSave **out)
{
    const CheckpointExecution *x = &s->execution;
    const char *name = checkpoint_name(a, x->experiment_id, totals);
    CheckpointContent all = *content;
    *out = NULL;
    if (x->global_rank != 0 && !content->shares) return NULL;
    PlannedSave *p = *out = NEW(a, PlannedSave);
    *p = (PlannedSave){ .arena = a, .saving = s };
    p->folder = path_join(a, absolute(a, x->checkpoint_path), name);
    all.layout = checkpoint_layout(x);
    all.file = s->beside;
    all.n_files = s->n_beside;
    return folder_plan(a, p->folder, &all, &p->writer);
}

Error *checkpoint_saving_write(PlannedSave *p)
{
    if (!p) return NULL;
    CheckpointSaving *s = p->saving;
    const CheckpointExecution *x = &s->execution;
    if (x->global_rank) return folder_write_planned(p->writer);
    folder_sweep(p->arena, x->checkpoint_path, "eid_");
    folder_sweep(p->arena, x->checkpoint_path, LAST_CHECKPOINT_INFO);
    TRY(folder_write_planned(p->writer));
    remember(s, p->folder);
    TRY(write_info(p->arena, x, p->folder));
    delete_oldest(s, p->writer, p->arena);
    warn_of_full_disk(s);
    return NULL;
}

Error *checkpoint_saving_save(CheckpointSaving *s, const CheckpointTotals *totals,
                              const CheckpointContent *content)
{
    Arena *a = arena_new();
    PlannedSave *p;
    Error *e = checkpoint_saving_plan(a, s, totals, content, &p);
    if (!e) e = checkpoint_saving_write(p);
    arena_free(a);
    return e;
}
