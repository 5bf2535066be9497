/* lexer.c - from text to tokens. */
#include "template/lexer.h"
#include "base/utf8.h"
#include "template/characters.h"
#include "template/source_map.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Lexer {
    Arena *arena;
    Str source; /* the text of the map */
    SourceMap map;
    size_t at;
    bool line_starts; /* what came before ends with a newline, or there is nothing before */
    Text open;        /* brackets not closed yet */
    Token *item;
    int64_t n, cap;
} Lexer;

Error *template_fault(int line, int column, Error *fault)
{
    return error_wrap(fault, "line %d, column %d", line, column);
}

static Error *fault_at(Lexer *l, size_t offset, Error *fault)
{
    Place p = source_map_place(&l->map, offset);
    return template_fault(p.line, p.column, fault);
}

static Token *add(Lexer *l, TokenKind kind, size_t from, Str text)
{
    Place p = source_map_place(&l->map, from);
    l->item = arena_grow(l->arena, l->item, l->n, &l->cap, sizeof *l->item);
    l->item[l->n] = (Token){ .kind = kind, .text = text, .line = p.line, .column = p.column };
    return &l->item[l->n++];
}

static char peek(const Lexer *l, size_t ahead)
{
    return l->at + ahead < l->source.len ? l->source.ptr[l->at + ahead] : 0;
}

static bool is_next(const Lexer *l, const char *s)
{
    return str_starts((Str){ l->source.ptr + l->at, l->source.len - l->at }, s);
}

/* Moves after `n` bytes and remembers whether they end a line. */
static void take(Lexer *l, size_t n)
{
    l->at += n;
    if (n) l->line_starts = l->source.ptr[l->at - 1] == '\n';
}

static void take_spaces(Lexer *l)
{
    int len;
    while (l->at < l->source.len && is_space_character(utf8_decode(l->source.ptr + l->at, &len)))
        take(l, (size_t)len);
}

/* ---- plain text ---- */

/* What is left of the text in front of a delimiter whose sign is `sign` ("-", "+" or another). */
static Str text_before(const Lexer *l, Str text, char sign, bool strips_line)
{
    if (sign == '-') return characters_strip(text, NULL, STRIP_RIGHT);
    if (sign == '+' || !strips_line) return text;
    size_t line = text.len;
    while (line && text.ptr[line - 1] != '\n') line--;
    if (!line && !l->line_starts) return text;
    Str blanks = { text.ptr + line, text.len - line };
    return characters_strip(blanks, NULL, STRIP_LEFT).len ? text : (Str){ text.ptr, line };
}

/* The end of a tag, comment or raw block at hand, with what it takes along. False when this is
 * none. */
static bool take_close(Lexer *l, const char *close, bool trims)
{
    char sign = peek(l, 0);
    size_t skip = sign == '-' || (trims && sign == '+');
    if (!str_starts((Str){ l->source.ptr + l->at + skip, l->source.len - l->at - skip }, close))
        return false;
    take(l, skip + 2);
    if (sign == '-')
        take_spaces(l);
    else if (trims && sign != '+' && peek(l, 0) == '\n')
        take(l, 1);
    return true;
}

static Error *skip_comment(Lexer *l, size_t from)
{
    for (; l->at < l->source.len; l->at++)
        if (take_close(l, "#}", true)) return NULL;
    return fault_at(l, from, error_new("a comment without its end \"#}\""));
}

/* Length of "{%- raw" up to its close sign if that is what stands here, else 0. */
static size_t raw_length(const Lexer *l, const char *word)
{
    size_t n = 2 + (peek(l, 2) == '-' || peek(l, 2) == '+');
    if (!is_next(l, "{%")) return 0;
    while (isspace((unsigned char)peek(l, n))) n++;
    for (const char *w = word; *w; w++)
        if (peek(l, n++) != *w) return 0;
    while (isspace((unsigned char)peek(l, n))) n++;
    size_t sign = peek(l, n) == '-' || peek(l, n) == '+';
    return peek(l, n + sign) == '%' && peek(l, n + sign + 1) == '}' ? n : 0;
}

/* {% raw %} has passed: everything up to {% endraw %} is plain. */
static Error *take_raw(Lexer *l, size_t from)
{
    size_t start = l->at, n;
    for (; l->at < l->source.len; l->at++) {
        if (!(n = raw_length(l, "endraw"))) continue;
        Str text = { l->source.ptr + start, l->at - start };
        text = text_before(l, text, peek(l, 2), true);
        if (text.len) add(l, TOKEN_DATA, start, text);
        take(l, n);
        if (take_close(l, "%}", true)) return NULL;
    }
    return fault_at(l, from, error_new("{%% raw %%} without {%% endraw %%}"));
}

/* Plain text up to the next delimiter, and that delimiter. */
static Error *take_data(Lexer *l)
{
    size_t start = l->at;
    const char *s = l->source.ptr;
    while (l->at < l->source.len && !(s[l->at] == '{' && strchr("{%#", peek(l, 1)) && peek(l, 1)))
        l->at++;
    Str text = { s + start, l->at - start };
    if (l->at == l->source.len) {
        if (text.len) add(l, TOKEN_DATA, start, text);
        return NULL;
    }
    char kind = peek(l, 1), sign = peek(l, 2);
    text = text_before(l, text, sign, kind != '{');
    if (text.len) add(l, TOKEN_DATA, start, text);
    size_t from = l->at, raw = raw_length(l, "raw");
    if (raw) {
        take(l, raw);
        if (take_close(l, "%}", false)) return take_raw(l, from);
        l->at = from;
    }
    take(l, 2 + (sign == '-' || sign == '+'));
    if (kind == '#') return skip_comment(l, from);
    add(l, kind == '%' ? TOKEN_OPEN_TAG : TOKEN_OPEN_PRINT, from, (Str){ s + from, 2 });
    return NULL;
}

/* ---- expressions ---- */

static Error *take_hex(Lexer *l, size_t from, int n_digits, Text *out)
{
    uint32_t code = 0;
    for (int i = 0; i < n_digits; i++) {
        char c = peek(l, 0);
        if (!isxdigit((unsigned char)c))
            return fault_at(l, from,
                            error_new("an escape of %d hexadecimal digits was begun", n_digits));
        code = code << 4 | (uint32_t)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
        l->at++;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return fault_at(l, from, error_new("U+%04X is no character", code));
    char bytes[4];
    text_add(out, bytes, (size_t)utf8_encode(code, bytes));
    return NULL;
}

static void take_octal(Lexer *l, Text *out)
{
    uint32_t code = 0;
    for (int i = 0; i < 3 && peek(l, 0) >= '0' && peek(l, 0) <= '7'; i++)
        code = code << 3 | (uint32_t)(l->source.ptr[l->at++] - '0');
    char bytes[4];
    text_add(out, bytes, (size_t)utf8_encode(code, bytes));
}

/* One escape of Python's texts; one that Python does not know stands for itself. */
static Error *take_escape(Lexer *l, Text *out)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    size_t start = l->at++;
    char c = peek(l, 0);
    const char *known = c ? strchr(from, c) : NULL;
    if (c >= '0' && c <= '7') {
        take_octal(l, out);
        return NULL;
    }
    if (c == 'N') return fault_at(l, start, error_new("\\N{...} is not supported: use \\u"));
    l->at += l->at < l->source.len;
    if (c == 'x') return take_hex(l, start, 2, out);
    if (c == 'u') return take_hex(l, start, 4, out);
    if (c == 'U') return take_hex(l, start, 8, out);
    if (c == '\n') return NULL; /* the line goes on */
    if (!known) text_putc(out, '\\');
    text_putc(out, known ? to[known - from] : c);
    return NULL;
}

static Error *take_string(Lexer *l)
{
    Text content = { 0 };
    size_t from = l->at;
    char quote = l->source.ptr[l->at++];
    Error *e = NULL;
    while (!e && l->at < l->source.len && peek(l, 0) != quote) {
        if (peek(l, 0) == '\\')
            e = take_escape(l, &content);
        else
            text_putc(&content, l->source.ptr[l->at++]);
    }
    if (!e && l->at == l->source.len)
        e = fault_at(l, from, error_new("a text without its closing %c", quote));
    if (!e) {
        Str s = { content.len ? arena_string_n(l->arena, content.ptr, content.len) : "",
                  content.len };
        add(l, TOKEN_STRING, from, s);
        l->at++;
    }
    text_free(&content);
    return e;
}

/* Digits with single underscores between them. */
static void take_digits(Lexer *l, Text *out)
{
    while (isdigit((unsigned char)peek(l, 0)) ||
           (peek(l, 0) == '_' && isdigit((unsigned char)peek(l, 1)))) {
        if (peek(l, 0) != '_') text_putc(out, peek(l, 0));
        l->at++;
    }
}

static Error *take_number(Lexer *l)
{
    Text digits = { 0 };
    size_t from = l->at;
    bool is_float = false;
    take_digits(l, &digits);
    if (peek(l, 0) == '.' && isdigit((unsigned char)peek(l, 1))) {
        is_float = true;
        text_putc(&digits, l->source.ptr[l->at++]);
        take_digits(l, &digits);
    }
    size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';
    if ((peek(l, 0) | 32) == 'e' && isdigit((unsigned char)peek(l, 1 + sign))) {
        is_float = true;
        text_add(&digits, l->source.ptr + l->at, 1 + sign);
        l->at += 1 + sign;
        take_digits(l, &digits);
    }
    Error *e = NULL;
    char next = peek(l, 0);
    errno = 0;
    CHECK(digits.ptr != NULL); /* it begins with a digit */
    long long integer = strtoll(digits.ptr, NULL, 10);
    bool has_zeros = !is_float && digits.len > 1 && digits.ptr[0] == '0';
    if (isalpha((unsigned char)next) || next == '_' || has_zeros)
        e = fault_at(l, from, error_new("no number; allowed are 12, 1_000, 0.5 and 1e-3"));
    else if (!is_float && errno)
        e = fault_at(l, from, error_new("an integer beyond 64 bits"));
    if (!e) {
        Token *t = add(l, is_float ? TOKEN_FLOAT : TOKEN_INT, from,
                       (Str){ l->source.ptr + from, l->at - from });
        t->integer = integer;
        t->number = strtod(digits.ptr, NULL);
    }
    text_free(&digits);
    return e;
}

static void take_name(Lexer *l)
{
    size_t from = l->at;
    while (isalnum((unsigned char)peek(l, 0)) || peek(l, 0) == '_') l->at++;
    add(l, TOKEN_NAME, from, (Str){ l->source.ptr + from, l->at - from });
}

/* Brackets must close in the order they were opened; this also tells "}}" of two mappings from the
 * end of the print. */
static Error *follow_brackets(Lexer *l, size_t from, char c)
{
    static const char open[] = "([{", close[] = ")]}";
    const char *is_open = strchr(open, c), *is_close = strchr(close, c);
    if (is_open) text_putc(&l->open, close[is_open - open]);
    if (!is_close) return NULL;
    if (!l->open.len) return fault_at(l, from, error_new("\"%c\" closes nothing", c));
    char expected = l->open.ptr[--l->open.len];
    if (expected != c)
        return fault_at(l, from, error_new("\"%c\" where \"%c\" was expected", c, expected));
    return NULL;
}

static Error *take_sign(Lexer *l)
{
    /* longer ones first */
    static const char *const sign[] = { "==", "!=", ">=", "<=", "//", "**", "+", "-", "/",
                                        "*",  "%",  "~",  "(",  ")",  "[",  "]", "{", "}",
                                        ">",  "<",  "=",  ".",  ":",  "|",  "," };
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++) {
        size_t n = strlen(sign[i]), from = l->at;
        if (!is_next(l, sign[i])) continue;
        TRY(follow_brackets(l, from, sign[i][0]));
        add(l, TOKEN_SIGN, from, (Str){ l->source.ptr + from, n });
        l->at += n;
        return NULL;
    }
    int len;
    utf8_decode(l->source.ptr + l->at, &len);
    return fault_at(l, l->at, error_new("unexpected character '%.*s'", len, l->source.ptr + l->at));
}

static Error *take_word(Lexer *l)
{
    char c = peek(l, 0);
    if (isdigit((unsigned char)c)) return take_number(l);
    if (isalpha((unsigned char)c) || c == '_') {
        take_name(l);
        return NULL;
    }
    return c == '"' || c == '\'' ? take_string(l) : take_sign(l);
}

/* Words and signs up to the end of a tag or print. */
static Error *take_expression(Lexer *l, TokenKind opened)
{
    bool is_tag = opened == TOKEN_OPEN_TAG;
    const Token *open = &l->item[l->n - 1];
    int line = open->line, column = open->column;
    l->open.len = 0;
    for (take_spaces(l); l->at < l->source.len; take_spaces(l)) {
        size_t from = l->at;
        if (!l->open.len && take_close(l, is_tag ? "%}" : "}}", is_tag)) {
            add(l, is_tag ? TOKEN_CLOSE_TAG : TOKEN_CLOSE_PRINT, from,
                str_of(is_tag ? "%}" : "}}"));
            return NULL;
        }
        TRY(take_word(l));
    }
    return template_fault(
        line, column,
        error_new("\"%s\" without its end \"%s\"", is_tag ? "{%" : "{{", is_tag ? "%}" : "}}"));
}

static Error *take_all(Lexer *l)
{
    while (l->at < l->source.len) {
        TRY(take_data(l));
        TokenKind last = l->n ? l->item[l->n - 1].kind : TOKEN_END;
        if (last == TOKEN_OPEN_TAG || last == TOKEN_OPEN_PRINT) TRY(take_expression(l, last));
    }
    add(l, TOKEN_END, l->source.len, str_of("the end of the template"));
    return NULL;
}

Error *template_tokens(Arena *a, Str source, bool joins_tags, Tokens *out)
{
    size_t valid = utf8_valid_length(source);
    if (valid < source.len) return error_new("byte %zu of the template is no UTF-8", valid);
    Lexer l = { .arena = a, .map = source_map_new(a, source, joins_tags), .line_starts = true };
    l.source = l.map.text;
    Error *e = take_all(&l);
    text_free(&l.open);
    *out = (Tokens){ l.item, l.n };
    return e;
}
