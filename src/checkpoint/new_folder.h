/* new_folder.h - a folder that appears under its name complete or not at all. */
#ifndef CHECKPOINT_NEW_FOLDER_H
#define CHECKPOINT_NEW_FOLDER_H
#include "base/arena.h"
#include "base/error.h"

/* Written as "{path}.saving", which is locked while its writer lives, synced, then renamed. */
typedef struct NewFolder {
    const char *path, *temporary;
    int lock; /* the open temporary folder; -1 when committed or abandoned */
} NewFolder;

/* Makes the temporary folder, and the parents of `path` when needed. What a dead writer left under
 * that name is removed; a living one is an error. */
Error *folder_create(Arena *a, const char *path, NewFolder *out);
/* The temporary folder of `path`, in which other ranks write as long as its maker lives. */
const char *folder_temporary(Arena *a, const char *path);
/* Makes it durable and gives it its name in one step, also when a folder of that name exists, which
 * is then removed. After an error the old state is in place and the temporary folder is gone. */
Error *folder_commit(NewFolder *f);
/* Removes the temporary folder. Does nothing after folder_commit. */
void folder_abandon(NewFolder *f);

/* Removes a folder in such an order that its name never stands for a part of it. */
Error *folder_retire(Arena *a, const char *path);
/* Finishes or removes what dead processes left unfinished in `parent` under names that begin with
 * `prefix`. */
void folder_sweep(Arena *a, const char *parent, const char *prefix);
/* `path`, or where its content lies when a replacement was interrupted. */
const char *folder_resolve(Arena *a, const char *path);
#endif
