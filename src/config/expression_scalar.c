/* expression_scalar.c - the types of unquoted words inside "${...}", by OmegaConf's grammar: not
 * those of YAML. */
#include "config/expression_scalar.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* digits with single underscores between them; a leading 0 stands alone when `is_integer`. */
static const char *skip_digits(const char *s, bool is_integer)
{
    if (is_integer && *s == '0') return s + 1;
    if (!isdigit((unsigned char)*s)) return s;
    while (isdigit((unsigned char)*s) || (*s == '_' && isdigit((unsigned char)s[1]))) s++;
    return s;
}

static bool is_expression_float(const char *text)
{
    const char *s = text + (*text == '+' || *text == '-');
    if (!strcasecmp(s, "inf") || !strcasecmp(s, "nan")) return true;
    const char *whole = skip_digits(s, true), *end = whole;
    if (*end == '.') {
        const char *fraction = skip_digits(end + 1, false);
        if (whole == s && fraction == end + 1) return false;
        end = fraction;
    } else if (whole == s) {
        return false;
    }
    if (*end == 'e' || *end == 'E') {
        end += end[1] == '+' || end[1] == '-' ? 2 : 1;
        const char *digits = skip_digits(end, false);
        if (digits == end) return false;
        end = digits;
    } else if (end == whole) {
        return false;
    }
    return !*end;
}

static bool is_expression_int(const char *text)
{
    const char *s = text + (*text == '+' || *text == '-'), *end = skip_digits(s, true);
    return end != s && !*end;
}

Yaml *expression_scalar(Arena *a, const char *text)
{
    if (!strcasecmp(text, "null")) return yaml_scalar(a, "null");
    if (!strcasecmp(text, "true")) return yaml_scalar(a, "true");
    if (!strcasecmp(text, "false")) return yaml_scalar(a, "false");
    if (is_expression_int(text)) return yaml_scalar(a, text);
    if (!is_expression_float(text)) return yaml_literal(a, text);
    Yaml *y = yaml_literal(a, text);
    char *clean = arena_string(a, text), *to = clean;
    for (const char *s = text; *s; s++)
        if (*s != '_') *to++ = *s;
    *to = 0;
    y->type = YAML_FLOAT;
    y->is_quoted = false;
    y->number = strtod(clean, NULL);
    return y;
}
