/* new_folder.c - a folder that appears under its name complete or not at all.
 *
 * Names of unfinished work, each finished or removed by the next folder_sweep once its process is
 * dead: X.saving    being written; its writer holds a lock on it, which the system drops when the
 * writer dies X.replaced  the former X, complete, while a file system that cannot swap two folders
 * moves the new one in X.deleting  a former X that nobody wants any more */
#include "checkpoint/new_folder.h"
#include "base/file.h"
#include "base/log.h"
#include "base/temporary_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char SAVING[] = ".saving", REPLACED[] = ".replaced", DELETING[] = ".deleting";

static Error *failed(const char *what, const char *path)
{
    return error_new("cannot %s %s: %s", what, path, strerror(errno));
}

static const char *with_suffix(Arena *a, const char *path, const char *suffix)
{
    return arena_printf(a, "%s%s", path, suffix);
}

const char *folder_temporary(Arena *a, const char *path)
{
    return with_suffix(a, path, SAVING);
}

typedef enum Lock { LOCKED, BUSY, GONE, NO_LOCKS } Lock;

/* Takes the lock of a temporary folder; *fd is open when LOCKED, or NO_LOCKS: the file system has
 * none. */
static Lock take_lock(const char *folder, int *fd)
{
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) return GONE;
    int why = flock(*fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    struct stat mine, named;
    bool is_named =
        fstat(*fd, &mine) == 0 && stat(folder, &named) == 0 && mine.st_ino == named.st_ino;
    if (why != EWOULDBLOCK && is_named) return why ? NO_LOCKS : LOCKED;
    close(*fd);
    *fd = -1;
    return is_named ? BUSY : GONE; /* gone: removed between open and lock */
}

/* Takes a folder away: first its name, so that no crash leaves a part under it, then the content.
 */
static Error *discard(Arena *a, const char *folder, const char *path)
{
    const char *away = with_suffix(a, path, DELETING);
    TRY(remove_tree(away));
    if (rename(folder, away) != 0) return failed("remove", folder);
    TRY(sync_directory(path_folder(a, path)));
    return remove_tree(away);
}

Error *folder_retire(Arena *a, const char *path)
{
    return discard(a, path, path);
}

Error *folder_create(Arena *a, const char *path, NewFolder *out)
{
    *out = (NewFolder){ .path = arena_string(a, path),
                        .temporary = folder_temporary(a, path),
                        .lock = -1 };
    const char *parent = path_folder(a, path);
    if (!is_directory(parent)) {
        TRY(make_directories(parent));
        TRY(sync_directory(path_folder(a, parent)));
    }
    for (int attempt = 0; attempt < 10; attempt++) { /* a sweep may be quicker than our lock */
        bool is_new = mkdir(out->temporary, 0777) == 0;
        if (!is_new && errno != EEXIST) return failed("create folder", out->temporary);
        Lock lock = take_lock(out->temporary, &out->lock);
        if (is_new && (lock == LOCKED || lock == NO_LOCKS)) return NULL;
        if (!is_new && lock == BUSY) break;
        if (lock == LOCKED || lock == NO_LOCKS) {
            Error *e = remove_tree(out->temporary);
            close(out->lock);
            out->lock = -1;
            if (e) return e;
        }
    }
    return error_new("cannot save %s: another process is writing %s", path, out->temporary);
}

typedef enum Placing { RENAMED, SWAPPED, MOVED_ASIDE } Placing;

/* Gives the temporary folder its name. */
static Error *place(const NewFolder *f, const char *aside, Placing *how)
{
    *how = RENAMED;
    if (!file_exists(f->path))
        return rename(f->temporary, f->path) == 0 ? NULL : failed("rename into", f->path);
    *how = SWAPPED;
    if (renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0) return NULL;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return failed("replace", f->path);
    *how = MOVED_ASIDE;
    TRY(remove_tree(aside));
    if (rename(f->path, aside) != 0) return failed("replace", f->path);
    if (rename(f->temporary, f->path) == 0) return NULL;
    Error *e = failed("rename into", f->path);
    if (rename(aside, f->path) != 0) e = error_join(e, failed("rename back into", f->path));
    return e;
}

/* Back to the state before place. */
static Error *unplace(const NewFolder *f, const char *aside, Placing how)
{
    if (how == SWAPPED) {
        if (renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0) return NULL;
    } else if (rename(f->path, f->temporary) == 0) {
        if (how == RENAMED || rename(aside, f->path) == 0) return NULL;
    }
    return failed("rename back into", f->path);
}

static void forget(NewFolder *f)
{
    if (f->lock >= 0) close(f->lock);
    f->lock = -1;
    f->temporary = NULL;
}

static Error *commit(Arena *a, NewFolder *f)
{
    const char *parent = path_folder(a, f->path), *aside = with_suffix(a, f->path, REPLACED);
    Placing how;
    TRY(sync_directory(f->temporary));
    TRY(place(f, aside, &how));
    Error *e = sync_directory(parent);
    if (e) return error_join(e, unplace(f, aside, how));
    if (how != RENAMED) {
        e = discard(a, how == SWAPPED ? f->temporary : aside, f->path);
        if (e)
            log_warning("the former %s was replaced, but not removed: %s", f->path, error_text(e));
        error_free(e);
    }
    forget(f);
    return NULL;
}

Error *folder_commit(NewFolder *f)
{
    Arena *a = arena_new();
    Error *e = commit(a, f);
    arena_free(a);
    folder_abandon(f);
    return e;
}

void folder_abandon(NewFolder *f)
{
    if (!f->temporary) return;
    Error *e = remove_tree(f->temporary);
    if (e) log_warning("an unfinished checkpoint is left: %s", error_text(e));
    error_free(e);
    forget(f);
}

static Error *remove_dead(const char *path)
{
    int fd;
    Lock lock = take_lock(path, &fd);
    Error *e = NULL;
    if (lock == LOCKED) {
        log_info("removing %s, which an interrupted save left", path);
        e = remove_tree(path);
    }
    if (fd >= 0) close(fd);
    return e;
}

static Error *sweep_one(Arena *a, const char *path)
{
    if (!is_directory(path)) {
        temporary_remove_dead(path);
        return NULL;
    }
    if (str_ends(str_of(path), SAVING)) return remove_dead(path);
    if (str_ends(str_of(path), DELETING)) return remove_tree(path);
    if (!str_ends(str_of(path), REPLACED)) return NULL;
    const char *final = arena_string_n(a, path, strlen(path) - strlen(REPLACED));
    if (file_exists(final)) return discard(a, path, final);
    return rename(path, final) == 0 ? NULL : failed("rename back into", final);
}

void folder_sweep(Arena *a, const char *parent, const char *prefix)
{
    DIR *d = opendir(parent);
    if (!d) return;
    const char **path = NULL;
    int64_t n = 0, cap = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        if (!str_starts(str_of(entry->d_name), prefix)) continue;
        path = arena_grow(a, path, n, &cap, sizeof *path);
        path[n++] = path_join(a, parent, entry->d_name);
    }
    closedir(d);
    for (int64_t i = 0; i < n; i++) {
        Error *e = sweep_one(a, path[i]);
        if (e) log_warning("cleaning up after an interrupted save: %s", error_text(e));
        error_free(e);
    }
}

const char *folder_resolve(Arena *a, const char *path)
{
    const char *aside = with_suffix(a, path, REPLACED);
    return !file_exists(path) && is_directory(aside) ? aside : path;
}
