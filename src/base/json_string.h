/* json_string.h - the inside of JSON strings, 64 bytes at a time.
 *
 * These only say where all is well: of what they doubt they say nothing, and the scanner
 * (json_scan.c), which looks at each character, finds the fault. So all instruction sets give the
 * same verdicts, reasons and places. */
#ifndef BASE_JSON_STRING_H
#define BASE_JSON_STRING_H
#include "base/cpu.h"

/* What one instruction set has; NULL: nothing. */
typedef struct JsonString {
    /* p is in a string, after its quote. Returns its other quote when all bytes before it are
     * right, else some place before the first fault where a character or escape begins. */
    const char *(*pass)(const char *p, const char *end);
    const char *(*pass_surrogates)(const char *p, const char *end); /* SURROGATES_PASS */
    /* The same, with the characters written to `to`, where end - p + 64 bytes are free, and *to_end
     * set after them. NULL when there is a fault or the string does not end. */
    const char *(*copy)(const char *p, const char *end, char *to, char **to_end);
} JsonString;

const JsonString *json_string(CpuLevel level);
extern const JsonString json_string_scalar, json_string_avx2, json_string_avx512;
extern const JsonString json_string_vbmi2; /* AVX-512 with VBMI and VBMI2 */
#endif
