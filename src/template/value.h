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

typedef enum TemplateKind {
    TEMPLATE_UNDEFINED, /* a name that nothing has; `text` is the name */
    TEMPLATE_NONE,
    TEMPLATE_BOOL,
    TEMPLATE_INT,
    TEMPLATE_BIG, /* an integer beyond 64 bits: prints as it stands in `text`, computes not */
    TEMPLATE_FLOAT,
    TEMPLATE_TEXT,
    TEMPLATE_LIST,
    TEMPLATE_TUPLE,
    TEMPLATE_GENERATOR, /* what select, map ... give: to be gone through once, and always true */
    TEMPLATE_MAP,
    TEMPLATE_NAMESPACE,
    TEMPLATE_LOOP,
    TEMPLATE_MACRO,
    TEMPLATE_FUNCTION
} TemplateKind;

typedef struct ValueList ValueList;

typedef struct TemplateValue {
    TemplateKind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        Str text;
        const ValueList *list;          /* LIST, TUPLE, GENERATOR */
        Map *map;                       /* MAP, NAMESPACE: of TemplateValue * */
        struct Loop *loop;              /* evaluate.h */
        const struct Macro *macro;      /* evaluate.h */
        const struct Function *builtin; /* function.h */
    };
} TemplateValue;

struct ValueList {
    TemplateValue *item;
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
TemplateValue value_undefined(Str name);
TemplateValue value_none(void);
TemplateValue value_bool(bool b);
TemplateValue value_int(int64_t i);
TemplateValue value_float(double x);
TemplateValue value_text(Str s);
/* A copy of what a Text holds. */
TemplateValue value_text_copy(Arena *a, const Text *t);
/* A list of n values to be filled (LIST, TUPLE or GENERATOR). */
TemplateValue value_list(Arena *a, TemplateKind kind, int64_t n, TemplateValue **item);
TemplateValue value_map(Arena *a);
void value_map_set(TemplateValue map, Str key, TemplateValue value);
/* The entry of a map or namespace, or NULL. */
const TemplateValue *value_map_get(TemplateValue map, Str key);

/* "text", "a list", ... for messages. */
const char *value_kind_name(TemplateValue v);
bool value_is_true(TemplateValue v);
/* A bool counts as a number here, as in Python. */
bool value_is_number(TemplateValue v);
double value_number(TemplateValue v);
Error *value_equal(Meter *m, TemplateValue x, TemplateValue y, bool *out);
/* < 0, 0, > 0 for numbers, texts and lists of these; an error for all that has no order. */
Error *value_order(Meter *m, TemplateValue x, TemplateValue y, int *out);
/* Appends Python's str(v), or repr(v). */
Error *value_print(Meter *m, TemplateValue v, Text *out);
Error *value_repr(Meter *m, TemplateValue v, Text *out);
/* text_add, paid for. */
Error *meter_add(Meter *m, Text *t, Str s);
#endif
