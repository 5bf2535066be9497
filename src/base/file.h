/* file.h - reading files whole or mapped, and writing them so that nothing half-written survives.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A read-only mapping of a whole file. An empty file has ptr "" and len 0. */
typedef struct FileMap {
    const char *ptr;
    size_t len;
} FileMap;

typedef struct PathList {
    const char **item;
    int64_t n, cap;
} PathList;

/* Errors name the path and the system's reason. */
Error *file_map(const char *path, FileMap *out);
/* Reads the pages that are touched, and none around them. */
Error *file_map_scattered(const char *path, FileMap *out);
void file_unmap(FileMap *m);
/* The same, mapped as long as the arena. */
Error *file_view(Arena *a, const char *path, Str *out);
/* The same, for reading from front to back: a file that comes from disk is kept in large pages,
 * where its file system can, and then mapping it again costs little. */
Error *file_view_forward(Arena *a, const char *path, Str *out);
/* This part of a view will not be read again soon: the system may forget it. It can still be read.
 */
void file_view_done(const char *from, const char *to);
/* The content, NUL-terminated after its end; owned by the arena. */
Error *file_read(Arena *a, const char *path, Str *out);
bool file_exists(const char *path);
bool is_directory(const char *path);
/* Appends the regular files below a folder, at any depth, whose name ends with `suffix`, sorted. */
Error *files_below(Arena *a, const char *folder, const char *suffix, PathList *to);
Error *file_size(const char *path, int64_t *out);
/* Creates a folder and its parents. */
Error *make_directories(const char *path);
/* Removes a file or a whole folder; a missing one is no error. */
Error *remove_tree(const char *path);
/* Makes the entries of a folder durable. */
Error *sync_directory(const char *path);

/* An error unless a file can be written there now, so that a long run fails at its start. Writes
 * nothing. */
Error *file_check_writable(const char *path);

/* A file that appears under its name only when file_commit succeeded: written to a temporary name
 * in the same folder, fsynced, renamed, and the folder fsynced. */
typedef struct NewFile {
    FILE *stream; /* write here */
    char *path, *temporary;
    int lock;       /* holds the temporary name (temporary_file.h) until it has its own */
    bool skip_sync; /* set it for what can be made again: no fsync, which may take 10 ms each */
} NewFile;

Error *file_create(const char *path, NewFile *out);
/* Reports any earlier write error, too. On failure the temporary file is removed. */
Error *file_commit(NewFile *f);
/* Gives up: removes the temporary file. Does nothing after file_commit. */
void file_abandon(NewFile *f);
/* A file without a name, for reading and writing, on the disk of the file `beside`; it is gone with
 * fclose. */
Error *file_temporary(const char *beside, FILE **out);
/* `bytes` zeroed bytes, valid as long as the arena, in such a file: when memory is short the system
 * moves them to the disk. For arrays that grow with the data. */
Error *file_scratch(Arena *a, const char *beside, size_t bytes, void **out);
/* The three steps for content at hand. */
Error *file_write(const char *path, const void *bytes, size_t len);
/* The same with skip_sync: whole or not at all, but a loss of power may take it back. */
Error *file_write_unsynced(const char *path, const void *bytes, size_t len);
/* Adds bytes to the end of a file, which may be new; on failure the file keeps its old length. */
Error *file_append(const char *path, const void *bytes, size_t len);

/* Path pieces; results are owned by the arena. */
char *path_join(Arena *a, const char *folder, const char *name);
char *path_folder(Arena *a, const char *path);
/* The part after the last '/'; points into `path`. */
const char *path_name(const char *path);
/* The path with its last suffix (".jsonl") replaced by `suffix` ("" removes it), as pathlib does.
 */
char *path_with_suffix(Arena *a, const char *path, const char *suffix);
/* Absolute and without "." and ".." where the file system allows. */
char *path_absolute(Arena *a, const char *path);
#endif
