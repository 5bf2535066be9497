/* json.c - reads the `pattern` of Split and Replace. */
#include "tokenizer/regex/json.h"

Error *regex_load(JsonNode of, Arena *a, const Regex **out, Str *shown)
{
    static const char *const known[] = { "String", "Regex", NULL };
    JsonNode at = json_member(of, "pattern");
    Str string, regex;
    TRY(json_node_only(at, known));
    TRY(json_get_optional_string(at, "String", &string));
    TRY(json_get_optional_string(at, "Regex", &regex));
    if (!string.ptr == !regex.ptr)
        return json_node_error(at, "must be {\"String\": text} or {\"Regex\": expression}");
    if (shown) *shown = regex;
    if (string.ptr) return regex_new_literal(a, string, out);
    return error_wrap(regex_new(a, regex, REGEX_ONIGURUMA, out), "%s.Regex", at.path);
}
