/* value.h - the values of templates: what JSON has, and what only a running template knows.
 *
 * Values are small and passed by value; what they point to belongs to an arena and is not changed,
 * except the entries of a namespace. Texts are valid UTF-8; their length and places count
 * characters, as in Python. */
#ifndef TEMPLATE_VALUE_H
#define TEMPLATE_VALUE_H
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum ValueKind {
    VALUE_UNDEFINED, /* a name that nothing has; `text` is the name */
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_BIG, /* an integer beyond 64 bits: prints as it stands in `text`, computes not */
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_TUPLE,
    VALUE_GENERATOR, /* what select, map ... give: to be gone through once, and always true */
    VALUE_MAP,
    VALUE_NAMESPACE,
    VALUE_LOOP,
    VALUE_MACRO,
    VALUE_FUNCTION
} ValueKind;

typedef struct ValueList ValueList;

typedef struct Value {
    ValueKind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        Str text;
        const ValueList *list;          /* LIST, TUPLE, GENERATOR */
        Map *map;                       /* MAP, NAMESPACE: of Value * */
        struct Loop *loop;              /* evaluate.h */
        const struct Macro *macro;      /* evaluate.h */
        const struct Function *builtin; /* function.h */
    };
} Value;

struct ValueList {
    Value *item;
    int64_t n;
    bool is_used; /* a generator that was gone through */
};

/* What a rendering may still do: bytes made and steps taken both count as work, so neither memory
 * nor time can grow without bound; and how deep it may go. */
typedef struct Meter {
    int64_t work_left;
    int depth_left;
} Meter;

enum { MOST_VALUE_DEPTH = 1024 };

/* An error once no work is left. */
Error *meter_spend(Meter *m, int64_t work);
/* For functions that call themselves; every successful enter needs a leave. */
Error *meter_enter(Meter *m);
void meter_leave(Meter *m);

/* What has no value; the name is for messages. */
Value value_undefined(Str name);
Value value_none(void);
Value value_bool(bool b);
Value value_int(int64_t i);
Value value_float(double x);
Value value_text(Str s);
/* A copy of what a Text holds. */
Value value_text_copy(Arena *a, const Text *t);
/* A list of n values to be filled (LIST, TUPLE or GENERATOR). */
Value value_list(Arena *a, ValueKind kind, int64_t n, Value **item);
Value value_map(Arena *a);
void value_map_set(Value map, Str key, Value value);
/* The entry of a map or namespace, or NULL. */
const Value *value_map_get(Value map, Str key);

/* "text", "a list", ... for messages. */
const char *value_kind_name(Value v);
bool value_is_true(Value v);
/* A bool counts as a number here, as in Python. */
bool value_is_number(Value v);
double value_number(Value v);
Error *value_equal(Meter *m, Value x, Value y, bool *out);
/* < 0, 0, > 0 for numbers, texts and lists of these; an error for all that has no order. */
Error *value_order(Meter *m, Value x, Value y, int *out);
/* Appends Python's str(v), or repr(v). */
Error *value_print(Meter *m, Value v, Text *out);
Error *value_repr(Meter *m, Value v, Text *out);
/* text_add, paid for. */
Error *meter_add(Meter *m, Text *t, Str s);
#endif
