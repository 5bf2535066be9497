/* objects.h - values of a checkpoint that are no tensors: settings of the optimizer's groups, the
 * state of the scheduler. */
#ifndef CHECKPOINT_OBJECTS_H
#define CHECKPOINT_OBJECTS_H
#include "checkpoint/pickle.h"
#include <jansson.h>

typedef struct CheckpointObject {
    const char *name;    /* "app.lr_scheduler._schedule_phases.0.end_step" */
    const Pickle *path;  /* its pieces, a tuple of texts and numbers; NULL: not known */
    const Pickle *value; /* plain */
} CheckpointObject;

/* Appends them as a JSON list of {"path": [...], "value": ...}; a tuple is {"tuple": [...]}, a
 * number that is not finite {"float": "nan"}. */
void objects_print(const CheckpointObject *object, int64_t n, Text *out);
Error *objects_read(Arena *a, const json_t *list, CheckpointObject **out, int64_t *n);
/* Appends the pieces of a value as torch flattens them: a dict, and a list in which not all are
 * plain, is its items. `path` is a tuple. */
typedef struct ObjectList {
    CheckpointObject *item;
    int64_t n, cap;
} ObjectList;
void objects_flatten(Arena *a, const Pickle *path, const Pickle *value, ObjectList *to);
/* Reads a JSON value as objects_print writes it. */
Error *object_value_read(Arena *a, const char *json, const Pickle **out);
/* The name of a path: its pieces, joined by ".". */
const char *object_name(Arena *a, const Pickle *path);

/* Values to be saved. */
Pickle *pickle_of_int(Arena *a, int64_t x);
Pickle *pickle_of_float(Arena *a, double x);
Pickle *pickle_of_bool(Arena *a, bool x);
Pickle *pickle_of_text(Arena *a, const char *s);
/* An empty tuple, list or dict; None. */
Pickle *pickle_of_kind(Arena *a, PickleKind kind);
void pickle_append(Arena *a, Pickle *to, const Pickle *item);
#endif
