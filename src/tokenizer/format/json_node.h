/* json_node.h - a value of a JSON file that knows its path, for errors like
 * `pre_tokenizer.pretokenizers[0].type: "Digits" is not supported (supported: "ByteLevel")`. */
#ifndef TOKENIZER_FORMAT_JSON_NODE_H
#define TOKENIZER_FORMAT_JSON_NODE_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct JsonNode {
    const json_t *value; /* NULL: missing */
    const char *path;    /* "" for the file itself; owned by the arena */
    Arena *arena;
} JsonNode;

/* Reads a file with jansson's decoding flags; the tree lives as long as the arena. Errors name
 * file, line and column. */
Error *json_node_read(Arena *a, const char *file, size_t flags, JsonNode *out);

/* Its member or item; a missing one has value NULL, and so has a member of what is no object. */
JsonNode json_member(JsonNode of, const char *key);
JsonNode json_item(JsonNode of, size_t i);
/* Missing or null. */
bool json_node_is_null(JsonNode n);

/* "path: message (found VALUE)". */
Error *json_node_error(JsonNode n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Refuses what is no object, or has a key that is not in `known` (ends with NULL). */
Error *json_node_only(JsonNode n, const char *const *known);

/* What a member is when the file leaves it out. */
typedef enum { DEFAULT_FALSE, DEFAULT_TRUE, REQUIRED } JsonDefault;

/* Typed members of an object; a wrong type is an error. The text is a view of the tree. */
Error *json_get_bool(JsonNode of, const char *key, JsonDefault otherwise, bool *out);
Error *json_get_int(JsonNode of, const char *key, int64_t low, int64_t high, int64_t *out);
Error *json_get_string(JsonNode of, const char *key, Str *out);
/* Text of one character. */
Error *json_get_character(JsonNode of, const char *key, uint32_t *out);
/* Missing and null give {NULL, 0}. */
Error *json_get_optional_string(JsonNode of, const char *key, Str *out);

/* A row of a table of stages, chosen by the member `type`; the table ends with { 0 }. */
typedef struct JsonStage {
    const char *type;
    Error *(*load)(JsonNode at, void *out);
} JsonStage;

/* Calls the row whose type the object has. `missing` names the type of an object without one, or is
 * NULL. An unknown type is an error that lists the table. */
Error *json_load_stage(JsonNode n, const JsonStage *table, const char *missing, void *out);
/* For the type Sequence: calls the row of every item of the list `key`, the only member. */
Error *json_load_stages(JsonNode n, const char *key, const JsonStage *table, void *out);
#endif
