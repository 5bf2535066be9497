/* json_scan.h - checks one line of JSON as Python's json.loads does, and finds a value by its keys,
 * without building a tree.
 *
 * Accepted: RFC 8259 in UTF-8, a byte order mark in front, NaN, Infinity and -Infinity, doubled
 * keys (the last one counts). Refused as there: control characters in strings, anything after the
 * value. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H
#include "base/cpu.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { JSON_MAX_DEPTH = 1000 };

/* What is wrong, and at which byte of the line. */
typedef struct JsonFault {
    int64_t offset;
    const char *reason;
} JsonFault;

/* Surrogates that are no pair (as \ud83d alone) are no characters. Python's parser lets them pass,
 * but no text can be made of them. */
typedef enum { SURROGATES_PASS, SURROGATES_FAIL } SurrogatePolicy;

/* True if the line is one JSON value. */
bool json_check(Str line, SurrogatePolicy surrogates, JsonFault *fault);

typedef enum {
    JSON_NULL,
    JSON_BOOLEAN,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonKind;

/* "null", "boolean", ... */
const char *json_kind_name(JsonKind kind);

/* The value at a path of keys. `depth` keys were followed; when it is less than the number of keys,
 * the value there is of `kind`, which has no keys. An absent key gives JSON_NULL at full depth. */
typedef struct JsonFound {
    int depth;
    JsonKind kind;
} JsonFound;

/* Checks the whole line (SURROGATES_FAIL) and finds the value at key[0] . key[1] ...; the
 * characters of a string go to `out`, which is cleared first. False with the fault if the line is
 * no JSON value. */
bool json_find(Str line, const Str *key, int n_keys, Text *out, JsonFound *found, JsonFault *fault);

/* The same with the code of one instruction set, which the CPU must have; all of them give the same
 * verdict, reason and offset. */
bool json_check_at(CpuLevel level, Str line, SurrogatePolicy surrogates, JsonFault *fault);
bool json_find_at(CpuLevel level, Str line, const Str *key, int n_keys, Text *out, JsonFound *found,
                  JsonFault *fault);
#endif
