/* json.h - JSON text as Python's json.dumps spells it; reading is left to jansson. */
#ifndef BASE_JSON_H
#define BASE_JSON_H
#include "base/str.h"
#include <stdio.h>

/* A quoted string, ASCII only: \u escapes with surrogate pairs; bytes that are no UTF-8 become
 * U+FFFD. */
void text_json_string(Text *t, Str s);
/* The same for a path, which may be any bytes: one that is no UTF-8 becomes \udc80 to \udcff, as
 * Python's surrogateescape has it. */
void text_json_path(Text *t, const char *path);
/* The shortest number that reads back equal; NaN, Infinity and -Infinity as Python writes them. */
void text_json_double(Text *t, double x);
/* Writes JSON between <script> and </script>, which no text in it can end. */
void json_put_in_script(const Text *json, FILE *to);
#endif
