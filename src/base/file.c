/* file.c - files: mapped, read, and written atomically. */
#include "base/file.h"
#include "base/temporary_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static Error *failed(const char *what, const char *path)
{
    bool is_absent = errno == ENOENT;
    Error *e = error_new("cannot %s %s: %s", what, path, strerror(errno));
    if (is_absent) error_as_absent(e);
    CHECK(e != NULL); /* so that static analysis sees what callers rely on */
    return e;
}

Error *file_map(const char *path, FileMap *out)
{
    *out = (FileMap){ "", 0 };
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* does not wait for a pipe's writer */
    if (fd < 0) return failed("open", path);
    struct stat st;
    Error *e = NULL;
    if (fstat(fd, &st) != 0) {
        e = failed("read", path);
    } else if (S_ISDIR(st.st_mode)) {
        e = error_new("cannot read %s: it is a folder", path);
    } else if (S_ISFIFO(st.st_mode)) {
        e = error_new("cannot read %s: it is a pipe; a file is needed", path);
    } else if (st.st_size > 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            e = failed("map", path);
        else
            *out = (FileMap){ p, (size_t)st.st_size };
    }
    close(fd);
    return e;
}

Error *file_map_scattered(const char *path, FileMap *out)
{
    TRY(file_map(path, out));
    if (out->len) madvise((void *)out->ptr, out->len, MADV_RANDOM);
    return NULL;
}

void file_unmap(FileMap *m)
{
    if (m->len) munmap((void *)m->ptr, m->len);
    *m = (FileMap){ "", 0 };
}

static void unmap(void *map)
{
    file_unmap(map);
}

Error *file_view(Arena *a, const char *path, Str *out)
{
    FileMap *map = NEW(a, FileMap);
    TRY(file_map(path, map));
    arena_on_free(a, unmap, map);
    *out = (Str){ map->ptr, map->len };
    return NULL;
}

Error *file_view_forward(Arena *a, const char *path, Str *out)
{
    TRY(file_view(a, path, out));
    if (out->len) madvise((void *)out->ptr, out->len, MADV_HUGEPAGE); /* a wish */
    return NULL;
}

/* At the end one thread would take all pages back while the others wait. Worth it for some
 * megabytes at a time: all processors are told each time. */
void file_view_done(const char *from, const char *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), mask = ~(page - 1);
    uintptr_t first = ((uintptr_t)from + page - 1) & mask, last = (uintptr_t)to & mask;
    if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
}

Error *file_read(Arena *a, const char *path, Str *out)
{
    FileMap m;
    TRY(file_map(path, &m));
    *out = (Str){ arena_string_n(a, m.ptr, m.len), m.len };
    file_unmap(&m);
    return NULL;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

Error *file_size(const char *path, int64_t *out)
{
    struct stat st;
    if (stat(path, &st) != 0) return failed("read", path);
    *out = st.st_size;
    return NULL;
}

Error *make_directories(const char *path)
{
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof copy) return error_new("path too long: %s", path);
    strcpy(copy, path);
    for (char *p = copy + 1; *copy; p++) {
        if (*p && *p != '/') continue;
        char end = *p;
        *p = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) return failed("create folder", copy);
        *p = end;
        if (!end) break;
    }
    if (!is_directory(path))
        return error_new("cannot create folder %s: a file is in the way", path);
    return NULL;
}

Error *remove_tree(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT ? NULL : failed("remove", path);
    if (!S_ISDIR(st.st_mode)) return unlink(path) == 0 ? NULL : failed("remove", path);
    DIR *d = opendir(path);
    if (!d) return failed("remove", path);
    Error *e = NULL;
    for (struct dirent *entry; !e && (entry = readdir(d));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char child[PATH_MAX];
        if (snprintf(child, sizeof child, "%s/%s", path, entry->d_name) >= (int)sizeof child)
            e = error_new("path too long: %s/%s", path, entry->d_name);
        else
            e = remove_tree(child);
    }
    closedir(d);
    if (!e && rmdir(path) != 0) e = failed("remove", path);
    return e;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static Error *collect_below(Arena *a, const char *folder, const char *suffix, PathList *to)
{
    DIR *d = opendir(folder);
    if (!d) return failed("read folder", folder);
    Error *e = NULL;
    for (struct dirent *entry; !e && (entry = readdir(d));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..")) continue;
        const char *path = path_join(a, folder, name);
        struct stat st;
        size_t len = strlen(name), n = strlen(suffix);
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) { /* no links: they may go round */
            e = collect_below(a, path, suffix, to);
        } else if (len > n && !strcmp(name + len - n, suffix) && stat(path, &st) == 0 &&
                   S_ISREG(st.st_mode)) {
            to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
            to->item[to->n++] = path;
        }
    }
    closedir(d);
    return e;
}

Error *files_below(Arena *a, const char *folder, const char *suffix, PathList *to)
{
    int64_t before = to->n;
    TRY(collect_below(a, folder, suffix, to));
    if (to->n > before)
        qsort(to->item + before, (size_t)(to->n - before), sizeof *to->item, compare_paths);
    return NULL;
}

Error *sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed("open folder", path);
    Error *e = fsync(fd) == 0 || errno == EINVAL ? NULL : failed("sync folder", path);
    close(fd);
    return e;
}

Error *file_create(const char *path, NewFile *out)
{
    *out = (NewFile){ 0 };
    Arena *a = arena_new();
    char *name;
    int fd;
    Error *e = temporary_create(a, path, 0666, &name, &fd);
    if (!e) {
        *out = (NewFile){ .stream = fdopen(fd, "wb"),
                          .path = strdup(path),
                          .temporary = strdup(name),
                          .lock = fcntl(fd, F_DUPFD_CLOEXEC, 3) };
        CHECK(out->stream && out->path && out->temporary);
    }
    arena_free(a);
    return e;
}

void file_abandon(NewFile *f)
{
    if (f->stream) fclose(f->stream);
    if (f->temporary) unlink(f->temporary);
    if (f->path && f->lock >= 0) close(f->lock);
    free(f->temporary);
    free(f->path);
    *f = (NewFile){ 0 };
}

Error *file_commit(NewFile *f)
{
    Error *e = NULL;
    if (fflush(f->stream) != 0 || ferror(f->stream) ||
        (!f->skip_sync && fsync(fileno(f->stream)) != 0))
        e = failed("write", f->path);
    if (fclose(f->stream) != 0 && !e) e = failed("write", f->path);
    f->stream = NULL;
    if (!e && rename(f->temporary, f->path) != 0) e = failed("rename into", f->path);
    if (!e) {
        Arena *a = arena_new();
        if (!f->skip_sync) e = sync_directory(path_folder(a, f->path));
        arena_free(a);
        free(f->temporary);
        f->temporary = NULL;
    }
    file_abandon(f);
    return e;
}

Error *file_temporary(const char *beside, FILE **out)
{
    Arena *a = arena_new();
    char *name;
    int fd;
    *out = NULL;
    Error *e = temporary_create(a, beside, 0600, &name, &fd);
    if (!e) {
        unlink(name);
        *out = fdopen(fd, "w+b");
    }
    arena_free(a);
    CHECK(e || *out);
    return error_wrap(e, "a temporary file");
}

Error *file_check_writable(const char *path)
{
    if (file_exists(path)) {
        if (is_directory(path)) errno = EISDIR;
        return !is_directory(path) && access(path, W_OK) == 0 ? NULL : failed("write", path);
    }
    FILE *f;
    TRY(file_temporary(path, &f));
    fclose(f);
    return NULL;
}

typedef struct Scratch {
    void *ptr;
    size_t bytes;
} Scratch;

static void free_scratch(void *arg)
{
    Scratch *s = arg;
    munmap(s->ptr, s->bytes);
}

Error *file_scratch(Arena *a, const char *beside, size_t bytes, void **out)
{
    FILE *f;
    TRY(file_temporary(beside, &f));
    Scratch *s = NEW(a, Scratch);
    s->bytes = bytes ? bytes : 1;
    /* Reserved now: a full disk is an error here, and would be a signal at the first use. */
    errno = posix_fallocate(fileno(f), 0, (off_t)s->bytes);
    if (!errno) s->ptr = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
    Error *e =
        errno || s->ptr == MAP_FAILED ? failed("reserve a temporary file beside", beside) : NULL;
    fclose(f);
    if (e) return e;
    arena_on_free(a, free_scratch, s);
    *out = s->ptr;
    return NULL;
}

static Error *write_file(const char *path, const void *bytes, size_t len, bool skip_sync)
{
    NewFile f;
    TRY(file_create(path, &f));
    f.skip_sync = skip_sync;
    if (len && fwrite(bytes, 1, len, f.stream) != len) {
        Error *e = failed("write", path);
        file_abandon(&f);
        return e;
    }
    return file_commit(&f);
}

Error *file_write(const char *path, const void *bytes, size_t len)
{
    return write_file(path, bytes, len, false);
}

Error *file_write_unsynced(const char *path, const void *bytes, size_t len)
{
    return write_file(path, bytes, len, true);
}

static bool write_all(int fd, const char *p, size_t len)
{
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

Error *file_append(const char *path, const void *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return failed("open", path);
    struct stat before;
    Error *e = NULL;
    if (fstat(fd, &before) != 0) {
        e = failed("read", path);
    } else if (!write_all(fd, bytes, len)) {
        e = failed("write", path);
        if (ftruncate(fd, before.st_size) != 0) e = error_join(e, failed("cut", path));
    }
    if (close(fd) != 0 && !e) e = failed("write", path);
    return e;
}

char *path_join(Arena *a, const char *folder, const char *name)
{
    if (name[0] == '/' || !folder[0]) return arena_string(a, name);
    size_t n = strlen(folder);
    return arena_printf(a, "%s%s%s", folder, folder[n - 1] == '/' ? "" : "/", name);
}

char *path_folder(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return arena_string(a, ".");
    return slash == path ? arena_string(a, "/") : arena_string_n(a, path, (size_t)(slash - path));
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *path_with_suffix(Arena *a, const char *path, const char *suffix)
{
    const char *name = path_name(path), *dot = strrchr(name, '.');
    size_t keep = dot && dot != name && dot[1] ? (size_t)(dot - path) : strlen(path);
    return arena_printf(a, "%.*s%s", (int)keep, path, suffix);
}

char *path_absolute(Arena *a, const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real)) return arena_string(a, real);
    if (path[0] == '/') return arena_string(a, path);
    char *cwd = getcwd(real, sizeof real);
    return path_join(a, cwd ? cwd : ".", path);
}
