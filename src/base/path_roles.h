/* path_roles.h - which paths a command reads and which it writes: none may be both.
 *
 * They come from the tables of options and settings (config/field_paths.h) and from what a command
 * knows beside them: default outputs, files that a list names. They are judged before anything is
 * opened for writing. Files are told apart by device and inode, those that are not there yet by
 * their folder's and the rest of the path. */
#ifndef BASE_PATH_ROLES_H
#define BASE_PATH_ROLES_H
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

typedef enum PathRole {
    PATH_READ,           /* a file, or a folder with all that is below it */
    PATH_READ_TEXTS,     /* a file, texts below a folder, a pattern, or - (text_input.h) */
    PATH_READ_TOKENIZER, /* a file and its settings beside it; of a folder all files but data */
    PATH_BEGINNING,      /* other paths begin with it; nothing is read or written there by itself */
    PATH_WRITTEN,        /* a file; so are X.partial... and X.tmp..., under which it is made */
    PATH_CACHE           /* the same for what is kept to save work; several may share it */
} PathRole;

typedef struct PathRoles PathRoles;

PathRoles *path_roles_new(Arena *a);
/* `what` names the path for users: "--output_path", "settings.dst_path", "the index of x.jsonl".
 * Path NULL is ignored. */
void path_roles_add(PathRoles *r, PathRole role, const char *what, const char *path);
/* Appends the files and folders that are read and that there are. */
void path_roles_list_read(const PathRoles *r, Arena *a, PathList *to);
/* An error with a line for each output that is an input (standard input included) or another
 * output, that an input's folder or pattern would match, or that is no regular file. */
Error *path_roles_check(const PathRoles *r);
#endif
