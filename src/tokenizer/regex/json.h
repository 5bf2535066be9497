/* json.h - the `pattern` of Split and Replace: {"String": text} or {"Regex": expression}. */
#ifndef TOKENIZER_REGEX_JSON_H
#define TOKENIZER_REGEX_JSON_H
#include "tokenizer/format/json_node.h"
#include "tokenizer/regex/regex.h"

/* Reads and compiles the member `pattern` of an object; the arena owns the result. `shown` gets the
 * expression, or {NULL, 0} for a String; it may be NULL. */
Error *regex_load(JsonNode of, Arena *a, const Regex **out, Str *shown);
#endif
