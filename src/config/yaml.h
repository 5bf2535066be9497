/* yaml.h - a YAML document as a tree; every node knows where it was written.
 *
 * Scalars are typed as OmegaConf's loader types them (PyYAML's YAML 1.1 with a wider float). */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum YamlType {
    YAML_NULL,
    YAML_BOOL,
    YAML_INT,
    YAML_FLOAT,
    YAML_STRING,
    YAML_LIST,
    YAML_MAP,
    YAML_COMPONENT /* only below the builder: a built component stands here */
} YamlType;

typedef struct Yaml Yaml;
struct Yaml {
    YamlType type;
    bool is_quoted;    /* a scalar in quotes or a block scalar: always a string */
    bool is_literal;   /* made by an expression: "${" in it is plain text */
    const char *text;  /* a scalar as written, quotes and escapes undone; NUL-terminated */
    size_t text_len;   /* may count NUL bytes that "\0" made */
    bool is_too_large; /* YAML_INT beyond 64 bits: `integer` is the limit, `text` has it all */
    bool boolean;      /* YAML_BOOL */
    int64_t integer;   /* YAML_INT, saturated when it does not fit */
    double number;     /* YAML_INT and YAML_FLOAT */
    int64_t n;         /* children of a list or map */
    Yaml **item;       /* children in the order of the file */
    Yaml **key;        /* map: the scalar node of each key */
    const char *file;  /* path of the file, or "--set a.b=c" */
    int line, column;  /* from 1; 0 where there is none */
    Yaml *parent;      /* NULL at the root */
    int64_t index;     /* of this node in its parent */
    bool is_referred;  /* a key of a map: some ${...} of the file led to its value */
    bool is_taken;     /* some ${...} took it whole, so that all keys in it are referred to */
    bool is_hole;      /* a ${...} that could not be resolved: null, and its problem is known */
    const Yaml *from;  /* the node that an interpolation took this value from, or NULL */
    void *component;   /* YAML_COMPONENT: see builder.h */
    struct Map *table; /* of a map with many keys: where each is; yaml_tree.c */
};

/* Parses one document. `name` stands for the file in errors. Refused: syntax errors, duplicate
 * keys, unknown tags, more than one document, aliases that would expand without bound. */
Error *yaml_parse(Arena *a, Str text, const char *name, Yaml **out);
/* Reads and parses a file; an empty file is an error. */
Error *yaml_read(Arena *a, const char *path, Yaml **out);
/* Reads a file of JSON. Strings keep bytes that are no UTF-8 (text_json_path writes them). */
Error *yaml_read_json(Arena *a, const char *path, Yaml **out);
/* A plain scalar typed by its text, without a place; never fails. */
Yaml *yaml_scalar(Arena *a, const char *text);
Yaml *yaml_string(Arena *a, const char *text);
/* A text that an expression made or that came from outside: "${" in it means nothing. */
Yaml *yaml_literal(Arena *a, const char *text);
Yaml *yaml_int(Arena *a, int64_t value);
/* A deep copy below `parent` (may be NULL); positions stay. */
Yaml *yaml_copy(Arena *a, const Yaml *node, Yaml *parent);

/* The value of a key, or NULL; NULL also when `map` is no map. */
Yaml *yaml_get(const Yaml *map, const char *key);
/* The text of a string under a key, or ""; the integer under a key, or `otherwise`. */
const char *yaml_text_at(const Yaml *map, const char *key);
int64_t yaml_int_at(const Yaml *map, const char *key, int64_t otherwise);
/* Follows keys and indices: "a.b[0].c" or "a.b.0.c". NULL when there is nothing. */
Yaml *yaml_find(const Yaml *root, const char *path);
/* Inserts or replaces an entry of a map; the value becomes its child. */
void yaml_set(Arena *a, Yaml *map, const char *key, Yaml *value);
void yaml_append(Arena *a, Yaml *list, Yaml *value);
/* Takes all children out of a list or map. */
void yaml_empty(Yaml *y);
/* "a.b[0]"; "" for the root. */
const char *yaml_path(Arena *a, const Yaml *node);
/* "train.yaml:12:5" or "--set a.b=c". */
const char *yaml_place(Arena *a, const Yaml *node);
/* The value for messages: 12, "text", a list, a mapping. Long text is cut. */
const char *yaml_show(Arena *a, const Yaml *node);
/* "an integer", "a list", ... */
const char *yaml_type_name(const Yaml *node);
/* True for equal type and content, positions aside. */
bool yaml_equal(const Yaml *x, const Yaml *y);
#endif
