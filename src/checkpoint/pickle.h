/* pickle.h - Python pickles as data: numbers, texts, lists, and objects by their names.
 *
 * A pickle is a program for a small stack machine. Only opcodes that make plain values are read,
 * and only names that the caller lists; nothing is imported and no code is ever run. */
#ifndef CHECKPOINT_PICKLE_H
#define CHECKPOINT_PICKLE_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

typedef enum PickleKind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,   /* an OrderedDict, too */
    PICKLE_GLOBAL, /* text is "module name" */
    PICKLE_OBJECT, /* `of` called with the items of args */
    PICKLE_STORAGE /* a persistent id; args is what identifies it */
} PickleKind;

typedef struct Pickle Pickle;
struct Pickle {
    PickleKind kind;
    bool boolean;
    int64_t integer;
    double number;
    Str text;
    Pickle **item; /* of a tuple or list; of a dict: key, value, key, value ... */
    int64_t n, cap;
    const Pickle *of, *args,
        *state; /* state: what the object was given after it was made, or NULL */
};

/* Reads one pickle. `allowed` holds the names that may occur ("torch Size"), ending with NULL.
 * Errors name `path`, the byte, and the opcode or the name that is refused. */
Error *pickle_read(Arena *a, const char *path, Str bytes, const char *const *allowed,
                   const Pickle **out);
/* The value of a text key of a dict, or of the state of an object that is one; NULL when it has
 * none. */
const Pickle *pickle_get(const Pickle *dict, const char *key);
/* Whether it is an object of this name. */
bool pickle_is_object(const Pickle *p, const char *name);
/* Appends plain values as JSON; a tuple as {"tuple": [...]}. An error for what is no plain value,
 * or too large or deep to be one. */
Error *pickle_json(const Pickle *p, Text *out);

/* ---- writing: protocol 2, as torch.save does, or 4 ---- */
typedef struct PickleWriter PickleWriter;
PickleWriter *pickle_writer(Arena *a, int protocol);
/* Ends the pickle and gives its bytes, of the arena. */
Str pickle_end(PickleWriter *w);
void pickle_put_none(PickleWriter *w);
void pickle_put_bool(PickleWriter *w, bool x);
void pickle_put_int(PickleWriter *w, int64_t x);
void pickle_put_float(PickleWriter *w, double x);
void pickle_put_text(PickleWriter *w, Str s);
/* A class or function: "torch Size". */
void pickle_put_global(PickleWriter *w, const char *name);
/* Between the two calls come the items; of a dict, keys and values in turn. */
void pickle_begin(PickleWriter *w, PickleKind kind);
void pickle_finish(PickleWriter *w, PickleKind kind);
/* Before keys and values that go into the last value, an object like a dict. */
void pickle_mark(PickleWriter *w);
/* Of the two last values, a global and a tuple: calls it; makes it by __new__. */
void pickle_call(PickleWriter *w);
void pickle_new(PickleWriter *w);
/* Of the two last values, an object and its state. */
void pickle_build(PickleWriter *w);
/* The last value, a tuple, identifies a storage. */
void pickle_persist(PickleWriter *w);
/* Any plain value that was read. */
void pickle_put(PickleWriter *w, const Pickle *p);
#endif
