/* value_json.h - values from JSON text and back, as Python's json module reads and writes them. */
#ifndef TEMPLATE_VALUE_JSON_H
#define TEMPLATE_VALUE_JSON_H
#include "template/value.h"

/* One line of JSON (base/json_scan.h says what is JSON); the error says why it is none, *column is
 * then the byte that it is about. Keys keep their order; of a doubled key the last value counts. */
Error *value_from_json(Arena *a, Str line, TemplateValue *out, int64_t *column);

typedef struct JsonStyle {
    bool escapes; /* characters beyond ASCII as \uXXXX */
    bool sorts_keys;
    bool has_indent; /* one item per line, `indent` before each per level */
    Str indent;
    Str item_separator, key_separator;
} JsonStyle;

/* json.dumps with ensure_ascii=False: {"a": 1, "b": [2, 3]} */
extern const JsonStyle json_plain;

/* Appends the value; what JSON has no word for is an error. */
Error *value_to_json(Meter *m, TemplateValue v, const JsonStyle *style, Text *out);
#endif
