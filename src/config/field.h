/* field.h - one table row per setting gives parsing, checks, default, help, docs page and JSON
 * schema.
 *
 * A table is an array of Field rows ending with { 0 }. A row's key is the name of a member of a
 * plain C struct, and the member's C type is checked by the compiler:
 *
 *   row                member              YAML
 *   FIELD_BOOL         bool                true/false
 *   FIELD_INT          int64_t             integer
 *   FIELD_FLOAT        double              number
 *   FIELD_STRING       const char *        text
 *   FIELD_PATH         const char *        text; FIELD_EXISTS: an existing file; .role =
 * PATH_WRITTEN: an output FIELD_CHOICE       int                 one of `choices`; the member gets
 * its index FIELD_STRUCT       S or S *            mapping, described by its own table FIELD_UNION
 * struct with         first of the alternatives that fits best; member `which` of the int which
 * first     struct gets the row's index, the row's member the value FIELD_STRINGS
 * ...  StringList ...      list; lo..hi is the allowed length FIELD_STRUCTS      {S *item; int64_t
 * n}  list of mappings FIELD_LIST         {X *item; int64_t n}  list of anything that one row
 * describes FIELD_MAP          {E *item; int64_t n}  mapping with free keys, in order; E starts
 * with const char *key FIELD_COMPONENT    X *                 a component of a kind
 *   FIELD_COMPONENTS   ComponentList       list of components; FIELD_LIST_OR_ONE: or a single one
 *   FIELD_ANY          const Yaml *        anything, as it stands
 *
 * Default: `def` is YAML text; NULL makes the setting required.
 * Null: a setting that may be null is a pointer, NULL for null. So the member of a nullable bool,
 * int, float or choice is const bool *, const int64_t *, const double *, const int *; of a nullable
 * struct S *. For text, components and FIELD_ANY the default "null" (or FIELD_NULLABLE when there
 * is no default) allows it. Bounds: lo <= value <= hi is checked when lo < hi; FIELD_OPEN_MIN and
 * FIELD_OPEN_MAX exclude an end; write 1, INFINITY for "at least 1" and 0, 0 for "any". More:
 * append designated initialisers to a row: FIELD_INT(..., "text", .flags = FIELD_STRICT). */
#ifndef CONFIG_FIELD_H
#define CONFIG_FIELD_H
#include "base/path_roles.h"
#include "config/yaml.h"
#include <math.h>
#include <stddef.h>

typedef enum FieldType {
    FIELD_END,
    FIELD_BOOL,
    FIELD_INT,
    FIELD_FLOAT,
    FIELD_STRING,
    FIELD_PATH,
    FIELD_CHOICE,
    FIELD_STRUCT,
    FIELD_UNION,
    FIELD_LIST,
    FIELD_MAP,
    FIELD_COMPONENT,
    FIELD_ANY
} FieldType;

enum {
    FIELD_STRICT = 1,         /* no conversion: 1.0 and true are no integers, "1e-5" is no float */
    FIELD_NULLABLE = 2,       /* a required text or component that may be null */
    FIELD_OPEN_MIN = 4,       /* value > min */
    FIELD_OPEN_MAX = 8,       /* value < max */
    FIELD_LIST_OR_ONE = 16,   /* a single item stands for a list of one */
    FIELD_EXISTS = 32,        /* FIELD_PATH: a regular file that exists */
    FIELD_IGNORE_OTHERS = 64, /* FIELD_STRUCT: unknown keys are skipped */
    FIELD_MAPS = 128,         /* FIELD_COMPONENT: a list here builds the component once per item */
    FIELD_ARGUMENT = 256,     /* commands: given by position, not by --name */
    FIELD_EXISTS_ANY = 512,   /* FIELD_PATH: a file or folder that exists */
    FIELD_INPUT = 1024        /* FIELD_PATH: that, a pattern that matches, or - (text_input.h) */
};

typedef struct Field {
    const char *name;
    FieldType type;
    size_t offset;
    const char *fallback;       /* default as YAML text; NULL: required */
    const char *doc;            /* one sentence */
    double min, max;            /* of a number, or of a list's length; checked when min < max */
    const char *const *choices; /* ends with NULL; "gelu|GELU" has a second accepted spelling. On a
                                   bool: the allowed values */
    const struct Field
        *fields; /* STRUCT: its table; UNION: the alternatives; LIST, MAP: one row for the items */
    size_t size; /* bytes of the struct or of one item */
    const char *kind; /* COMPONENT: the kind expected here; NULL: any */
    unsigned flags;
    PathRole role;     /* PATH (or a STRING that is one): whether it is read or written; the command
                          or run refuses to write what it reads */
    bool is_pointer;   /* the member is a pointer to the value, NULL for null */
    const char *alias; /* second accepted name: model_parts, wrapped_model */
    const char *no_effect; /* why every value gives the same results on one rank of the CPU; NULL:
                              the value matters. tests/config/test_fields.c proves either. */
    const char *no_effect_alone; /* likewise, where only several ranks make a difference */
} Field;

/* clang-format off */
typedef struct StringList { const char **item; int64_t n; } StringList;
typedef struct IntList { int64_t *item; int64_t n; } IntList;
typedef struct FloatList { double *item; int64_t n; } FloatList;
typedef struct ComponentList { void **item; int64_t n; } ComponentList;
typedef struct IntEntry { const char *key; int64_t value; } IntEntry;
typedef struct IntMap { IntEntry *item; int64_t n; } IntMap;
typedef struct StringEntry { const char *key, *value; } StringEntry;
typedef struct StringMap { StringEntry *item; int64_t n; } StringMap;
/* clang-format on */

/* Rows for the items of lists and maps. */
extern const Field field_string_item, field_int_item, field_float_item, field_int_entry,
    field_string_entry;

/* Reads a mapping into the struct at `to`; all problems are reported at once, each with its place.
 * What the struct points to belongs to `a`, or to the tree. `from` NULL stands for an empty
 * mapping. */
Error *fields_read(const Field *fields, const Yaml *from, Arena *a, void *to);
/* An error when the table itself is wrong: a name twice, a default that its own row refuses. */
Error *fields_verify(const Field *fields);
/* The row of a name or alias, or NULL. */
const Field *field_find(const Field *fields, const char *name);

/* clang-format off */
#define AT(T, m, ctype)  (offsetof(T, m) + 0 * sizeof(char[_Generic(((T *)0)->m, ctype: 1)]))
#define AT_OR_POINTER(T, m, ctype)  (offsetof(T, m) + 0 * sizeof(char[_Generic(((T *)0)->m, ctype: 1, const ctype *: 1, ctype *: 1)]))
#define IS_POINTER(T, m, ctype)  _Generic(((T *)0)->m, ctype: false, default: true)

#define FIELD_BOOL(T, m, def, text, ...) \
    { .name = #m, .type = FIELD_BOOL, .offset = AT_OR_POINTER(T, m, bool), .is_pointer = IS_POINTER(T, m, bool), \
      .fallback = def, .doc = text, __VA_ARGS__ }
#define FIELD_INT(T, m, def, lo, hi, text, ...) \
    { .name = #m, .type = FIELD_INT, .offset = AT_OR_POINTER(T, m, int64_t), .is_pointer = IS_POINTER(T, m, int64_t), \
      .fallback = def, .min = lo, .max = hi, .doc = text, __VA_ARGS__ }
#define FIELD_FLOAT(T, m, def, lo, hi, text, ...) \
    { .name = #m, .type = FIELD_FLOAT, .offset = AT_OR_POINTER(T, m, double), .is_pointer = IS_POINTER(T, m, double), \
      .fallback = def, .min = lo, .max = hi, .doc = text, __VA_ARGS__ }
#define FIELD_STRING(T, m, def, text, ...) \
    { .name = #m, .type = FIELD_STRING, .offset = AT(T, m, const char *), .fallback = def, .doc = text, __VA_ARGS__ }
#define FIELD_PATH(T, m, def, text, ...) \
    { .name = #m, .type = FIELD_PATH, .offset = AT(T, m, const char *), .fallback = def, .doc = text, __VA_ARGS__ }
#define FIELD_CHOICE(T, m, def, names, text, ...) \
    { .name = #m, .type = FIELD_CHOICE, .offset = AT_OR_POINTER(T, m, int), .is_pointer = IS_POINTER(T, m, int), \
      .fallback = def, .choices = names, .doc = text, __VA_ARGS__ }
#define FIELD_STRUCT(T, m, S, table, def, text, ...) \
    { .name = #m, .type = FIELD_STRUCT, .offset = AT_OR_POINTER(T, m, S), .is_pointer = IS_POINTER(T, m, S), \
      .fallback = def, .fields = table, .size = sizeof(S), .doc = text, __VA_ARGS__ }
#define FIELD_UNION(T, m, U, table, def, text, ...) \
    { .name = #m, .type = FIELD_UNION, .offset = AT_OR_POINTER(T, m, U) + 0 * sizeof(char[offsetof(U, which) ? -1 : 1]), \
      .is_pointer = IS_POINTER(T, m, U), .fallback = def, .fields = table, .size = sizeof(U), .doc = text, __VA_ARGS__ }
#define FIELD_LIST(T, m, L, row, def, lo, hi, text, ...) \
    { .name = #m, .type = FIELD_LIST, .offset = AT_OR_POINTER(T, m, L), .is_pointer = IS_POINTER(T, m, L), .fallback = def, \
      .min = lo, .max = hi, .fields = row, .size = sizeof(*((L *)0)->item), .doc = text, __VA_ARGS__ }
#define FIELD_STRINGS(T, m, def, lo, hi, text, ...)  FIELD_LIST(T, m, StringList, &field_string_item, def, lo, hi, text, __VA_ARGS__)
#define FIELD_INTS(T, m, def, lo, hi, text, ...)     FIELD_LIST(T, m, IntList, &field_int_item, def, lo, hi, text, __VA_ARGS__)
#define FIELD_FLOATS(T, m, def, lo, hi, text, ...)   FIELD_LIST(T, m, FloatList, &field_float_item, def, lo, hi, text, __VA_ARGS__)
/* The item row is made in place, so tables with these two must be at file scope. */
#define FIELD_STRUCTS(T, m, L, table, def, lo, hi, text, ...) \
    FIELD_LIST(T, m, L, (&(const Field){ .type = FIELD_STRUCT, .fields = table, .size = sizeof(*((L *)0)->item) }), def, lo, hi, text, __VA_ARGS__)
#define FIELD_COMPONENTS(T, m, k, def, lo, hi, text, ...) \
    FIELD_LIST(T, m, ComponentList, (&(const Field){ .type = FIELD_COMPONENT, .kind = k }), def, lo, hi, text, __VA_ARGS__)
#define FIELD_MAP(T, m, M, row, def, text, ...) \
    { .name = #m, .type = FIELD_MAP, .offset = AT_OR_POINTER(T, m, M), .is_pointer = IS_POINTER(T, m, M), .fallback = def, \
      .fields = row, .size = sizeof(*((M *)0)->item), .doc = text, __VA_ARGS__ }
#define FIELD_COMPONENT(T, m, ctype, k, def, text, ...) \
    { .name = #m, .type = FIELD_COMPONENT, .offset = AT(T, m, ctype *), .kind = k, .fallback = def, .doc = text, __VA_ARGS__ }
#define FIELD_ANY(T, m, def, text, ...) \
    { .name = #m, .type = FIELD_ANY, .offset = AT(T, m, const Yaml *), .fallback = def, .doc = text, __VA_ARGS__ }
/* clang-format on */
#endif
