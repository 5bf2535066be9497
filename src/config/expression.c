/* expression.c - evaluates "${...}" while it reads it, by recursive descent.
 *
 * Three ways to read characters, as in OmegaConf's lexer: plain text around interpolations, keys
 * right after "${", and values after a resolver's colon. Backslashes mean something only before
 * "${", before the quote that would end a quoted text, and before the special characters of values.
 */
#include "config/expression.h"
#include "config/expression_scalar.h"
#include "config/python_str.h"
#include <ctype.h>
#include <string.h>

enum { MAX_NESTING = 64 };

typedef struct Cursor {
    const ExpressionHost *host;
    const char *start, *at;
    int depth;
} Cursor;

bool has_interpolation(const Yaml *node)
{
    return node->type == YAML_STRING && !node->is_literal && strstr(node->text, "${") != NULL;
}

static Error *malformed(const Cursor *c, const char *what)
{
    return error_new("\"%s\" is malformed at character %d: %s", c->start,
                     (int)(c->at - c->start) + 1, what);
}

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t';
}

static void skip_blanks(Cursor *c)
{
    while (is_blank(*c->at)) c->at++;
}

static bool at_interpolation(const Cursor *c)
{
    return c->at[0] == '$' && c->at[1] == '{';
}

static Error *read_interpolation(Cursor *c, Yaml **out);

static Error *embed(const Cursor *c, const Yaml *value, Text *text)
{
    Yaml *whole;
    TRY(c->host->complete(c->host->self, value, &whole));
    text_puts(text, python_str(c->host->arena, whole));
    return NULL;
}

/* Copies text up to the closing quote (or the end, when quote is 0) and evaluates what is embedded.
 */
static Error *read_text(Cursor *c, char quote, Yaml **out)
{
    const ExpressionHost *h = c->host;
    Text text = { 0 };
    Yaml *only = NULL;
    Error *e = NULL;
    int n_pieces = 0;
    while (*c->at && *c->at != quote && !e) {
        size_t n = strspn(c->at, "\\");
        const char *behind = c->at + n;
        bool ends_text = quote && *behind == quote;
        if (n && (ends_text || !strncmp(behind, "${", 2))) {
            for (size_t i = 0; i < n / 2; i++) text_putc(&text, '\\');
            n_pieces++;
            c->at = behind;
            if (n % 2 == 0) continue;
            n = ends_text ? 1 : 2; /* escaped: the quote or "${" itself */
            text_add(&text, c->at, n);
            c->at += n;
        } else if (n) {
            text_add(&text, c->at, n);
            c->at = behind;
            n_pieces++;
        } else if (at_interpolation(c)) {
            Yaml *value = NULL;
            e = read_interpolation(c, &value);
            if (!e) e = embed(c, value, &text);
            only = n_pieces++ ? NULL : value;
        } else {
            text_putc(&text, *c->at++);
            n_pieces++;
        }
    }
    if (!e && quote && *c->at != quote) e = malformed(c, "a quote is not closed");
    if (!e && quote) c->at++;
    if (!e) *out = only && n_pieces == 1 ? only : yaml_literal(h->arena, text.ptr ? text.ptr : "");
    text_free(&text);
    return e;
}

static bool is_id_start(char ch)
{
    return isalpha((unsigned char)ch) || ch == '_';
}
static bool is_id(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || ch == '-';
}

/* One part of a key: a nested interpolation that gives a text, or characters. */
static Error *read_key_part(Cursor *c, Text *key)
{
    if (at_interpolation(c)) {
        Yaml *value = NULL;
        TRY(read_interpolation(c, &value));
        CHECK(value != NULL);
        if (value->type != YAML_STRING)
            return malformed(c, "an interpolation that names a key must give a text");
        text_puts(key, value->text);
        return NULL;
    }
    size_t n = strcspn(c->at, "\\${}()[]:. \t'\"");
    if (!n) return malformed(c, "a key is expected");
    text_add(key, c->at, n);
    c->at += n;
    return NULL;
}

static Error *read_key(Cursor *c, Text *key, bool *may_be_resolver)
{
    *may_be_resolver = true;
    for (; *c->at == '.'; c->at++) {
        text_putc(key, '.');
        *may_be_resolver = false;
    }
    for (bool first = true;; first = false) {
        bool is_bracket = *c->at == '[';
        if (is_bracket) *may_be_resolver = false;
        if (!first && !is_bracket && *c->at != '.') return NULL;
        if (is_bracket || !first) text_putc(key, *c->at++);
        TRY(read_key_part(c, key));
        if (!is_bracket) continue;
        if (*c->at != ']') return malformed(c, "\"]\" is expected");
        text_putc(key, *c->at++);
    }
}

static bool is_resolver_name(const char *s)
{
    for (;; s++) {
        if (!is_id_start(*s)) return false;
        while (is_id(*s)) s++;
        if (!*s) return true;
        if (*s != '.') return false;
    }
}

static Error *read_sequence(Cursor *c, char end, Yaml *list);

static Error *read_call(Cursor *c, const char *name, Yaml **out)
{
    if (!is_resolver_name(name))
        return malformed(c, "a resolver's name is made of letters, digits, _ and -");
    c->at++;
    skip_blanks(c);
    Yaml args = { .type = YAML_LIST };
    TRY(read_sequence(c, '}', &args));
    return c->host->call(c->host->self, name, args.n, args.item, out);
}

static Error *read_interpolation_body(Cursor *c, Text *key, Yaml **out)
{
    bool may_be_resolver;
    TRY(read_key(c, key, &may_be_resolver));
    skip_blanks(c);
    if (*c->at == ':' && may_be_resolver) return read_call(c, key->ptr, out);
    if (*c->at != '}') return malformed(c, "\"}\" is expected");
    c->at++;
    return c->host->select(c->host->self, key->ptr, out);
}

static Error *read_interpolation(Cursor *c, Yaml **out)
{
    if (++c->depth > MAX_NESTING) return malformed(c, "nested too deeply");
    c->at += 2;
    skip_blanks(c);
    Text key = { 0 };
    Error *e = read_interpolation_body(c, &key, out);
    text_free(&key);
    c->depth--;
    return e;
}

/* Unquoted: letters, digits, some punctuation, escaped specials and interpolations, up to an
 * unescaped special. Blanks at the ends do not count. */
static Error *read_primitive(Cursor *c, bool is_key, Yaml **out)
{
    Arena *a = c->host->arena;
    Text text = { 0 };
    Yaml *only = NULL;
    Error *e = NULL;
    size_t solid = 0; /* length up to the last character that is not a blank */
    bool is_plain = true;
    int n_pieces = 0;
    while (*c->at && !e) {
        if (!is_key && at_interpolation(c)) {
            Yaml *value = NULL;
            e = read_interpolation(c, &value);
            if (!e) e = embed(c, value, &text);
            only = n_pieces++ ? NULL : value;
            is_plain = false;
            solid = text.len;
            continue;
        }
        if (*c->at == '\\' && c->at[1] && strchr("\\()[]{}:=, \t", c->at[1])) {
            text_putc(&text, c->at[1]);
            c->at += 2;
            is_plain = false;
            solid = text.len;
        } else if (is_blank(*c->at)) {
            text_putc(&text, *c->at++);
            if (!*c->at) solid = text.len; /* only a separator takes the blanks before it */
            continue;
        } else if (is_id(*c->at) || strchr("/\\+.$%*@?|", *c->at) || (*c->at == ':' && !is_key)) {
            bool is_colon = *c->at == ':';
            text_putc(&text, *c->at++);
            while (is_colon && is_blank(*c->at)) text_putc(&text, *c->at++);
            solid = text.len;
        } else {
            break;
        }
        n_pieces++;
    }
    if (!e && !solid && !n_pieces) e = malformed(c, "a value is expected");
    if (!e) {
        const char *s = arena_string_n(a, text.ptr ? text.ptr : "", solid);
        *out = only && n_pieces == 1 ? only
               : is_plain            ? expression_scalar(a, s)
                                     : yaml_literal(a, s);
    }
    text_free(&text);
    return e;
}

static Error *read_element(Cursor *c, Yaml **out);

static Error *read_dict(Cursor *c, Yaml **out)
{
    Arena *a = c->host->arena;
    Yaml *map = NEW(a, Yaml);
    map->type = YAML_MAP;
    *out = map;
    c->at++;
    skip_blanks(c);
    if (*c->at == '}') return c->at++, NULL;
    for (;; c->at++) {
        Yaml *key = NULL, *value = NULL;
        skip_blanks(c);
        TRY(read_primitive(c, true, &key));
        if (*c->at != ':') return malformed(c, "\":\" is expected");
        c->at++;
        skip_blanks(c);
        TRY(read_element(c, &value));
        TRY(c->host->complete(c->host->self, value, &value));
        yaml_set(a, map, key->text, value);
        if (*c->at == '}') return c->at++, NULL;
        if (*c->at != ',') return malformed(c, "\",\" or \"}\" is expected");
    }
}

static Error *read_nested(Cursor *c, Yaml **out)
{
    if (*c->at == '{') return read_dict(c, out);
    if (*c->at == '[') {
        Yaml *list = NEW(c->host->arena, Yaml);
        list->type = YAML_LIST;
        *out = list;
        c->at++;
        skip_blanks(c);
        return read_sequence(c, ']', list);
    }
    char quote = *c->at++;
    Yaml *value;
    TRY(read_text(c, quote, &value));
    *out = value->type == YAML_STRING
               ? value
               : yaml_literal(c->host->arena, python_str(c->host->arena, value));
    return NULL;
}

static Error *read_element(Cursor *c, Yaml **out)
{
    if (!*c->at || !strchr("{['\"", *c->at)) return read_primitive(c, false, out);
    if (++c->depth > MAX_NESTING) return malformed(c, "nested too deeply");
    TRY(read_nested(c, out));
    c->depth--;
    skip_blanks(c);
    return NULL;
}

/* Elements up to `end`; a missing one is an empty text. */
static Error *read_sequence(Cursor *c, char end, Yaml *list)
{
    Arena *a = c->host->arena;
    if (*c->at == end) return c->at++, NULL;
    for (;;) {
        Yaml *item = NULL;
        skip_blanks(c);
        if (*c->at == ',' || *c->at == end)
            item = yaml_literal(a, "");
        else
            TRY(read_element(c, &item));
        TRY(c->host->complete(c->host->self, item, &item));
        yaml_append(a, list, item);
        if (*c->at == end) return c->at++, NULL;
        if (*c->at != ',')
            return malformed(c, end == '}' ? "\",\" or \"}\" is expected"
                                           : "\",\" or \"]\" is expected");
        c->at++;
    }
}

Error *expression_text(const ExpressionHost *h, const char *text, Yaml **out)
{
    Cursor c = { .host = h, .start = text, .at = text };
    return read_text(&c, 0, out);
}

Error *expression_value(const ExpressionHost *h, const char *text, Yaml **out)
{
    Cursor c = { .host = h, .start = text, .at = text };
    TRY(read_element(&c, out));
    return *c.at ? malformed(&c, "the value should end here") : NULL;
}
