/* class.c - reads the classes of a regular expression as sets of code points.
 *
 * Letters, marks, numbers, punctuation, symbols, Han, \d, \s and \w are those of the library
 * (Unicode 16, text/unicode.h); other properties are those that PCRE2 knows. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/regex/class.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_CODE = 0x10FFFF, MAX_DEPTH = 50 };

Error *pattern_error(const PatternReader *r, const char *message)
{
    return error_new("%s (at byte %zu of the pattern \"%.*s\")", message, r->at,
                     (int)r->pattern.len, r->pattern.ptr);
}

int pattern_peek(const PatternReader *r, size_t ahead)
{
    size_t at = r->at + ahead;
    return at < r->pattern.len ? (unsigned char)r->pattern.ptr[at] : -1;
}

uint32_t pattern_take(PatternReader *r)
{
    int len;
    uint32_t c = utf8_decode(r->pattern.ptr + r->at, &len);
    r->at += (size_t)len;
    return c;
}

/* A name for a set; `members` are names of the library's classes or of PCRE2's properties. */
typedef struct SetName {
    const char *name;
    const char *members[5];
    bool is_complement; /* of the members */
} SetName;

/* In lower case, without blanks, '_' and '-'. */
static const SetName set_names[] = {
    { "letter", { "\\p{L}" }, false },
    { "uppercaseletter", { "\\p{Lu}" }, false },
    { "lowercaseletter", { "\\p{Ll}" }, false },
    { "titlecaseletter", { "\\p{Lt}" }, false },
    { "modifierletter", { "\\p{Lm}" }, false },
    { "otherletter", { "\\p{Lo}" }, false },
    { "mark", { "\\p{M}" }, false },
    { "combiningmark", { "\\p{M}" }, false },
    { "number", { "\\p{N}" }, false },
    { "decimalnumber", { "\\d" }, false },
    { "nd", { "\\d" }, false },
    { "punctuation", { "\\p{P}" }, false },
    { "symbol", { "\\p{S}" }, false },
    { "alnum", { "Alphabetic", "\\d" }, false },
    { "alpha", { "Alphabetic" }, false },
    { "blank", { "Zs", "\t" }, false },
    { "cntrl", { "Cc" }, false },
    { "digit", { "\\d" }, false },
    { "graph", { "\\s", "Cc", "Cn", "Cs" }, true },
    { "lower", { "Lowercase" }, false },
    { "print", { "Zl", "Zp", "Cc", "Cn", "Cs" }, true },
    { "punct", { "\\p{P}", "$", "+", "<=>^", "`|~" }, false },
    { "space", { "\\s" }, false },
    { "upper", { "Uppercase" }, false },
    { "whitespace", { "\\s" }, false },
    { "word", { "\\w" }, false },
    { "xdigit", { "0123456789", "ABCDEF", "abcdef" }, false },
};

static bool add_library_class(PatternReader *r, const char *name, CodeSet *to)
{
    for (const UnicodeClass *c = unicode_class; c->name; c++) {
        if (strcmp(c->name, name) != 0) continue;
        code_set_add_all(to, r->arena, c->range, c->n);
        return true;
    }
    return false;
}

/* Asks PCRE2 which characters have a property: its runs in a text of all characters. */
static bool add_pcre2_property(PatternReader *r, const char *name, CodeSet *to)
{
    int problem;
    size_t offset;
    const char *pattern = arena_printf(r->arena, "\\p{%s}+", name);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF,
                                     &problem, &offset, NULL);
    if (!code) return false;
    Buffer text = { 0 };
    char *all = buffer_grow(&text, (size_t)(LAST_CODE + 1) * 4);
    size_t len = 0;
    for (uint32_t c = 0; c <= LAST_CODE; c++) {
        if (c < 0xD800 || c > 0xDFFF) len += (size_t)utf8_encode(c, all + len);
    }
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    const size_t *place = pcre2_get_ovector_pointer(match);
    for (size_t at = 0;
         pcre2_match(code, (PCRE2_SPTR)all, len, at, PCRE2_NO_UTF_CHECK, match, NULL) > 0;
         at = place[1]) {
        int n;
        uint32_t first = utf8_decode(all + place[0], &n);
        size_t last = place[1] - 1;
        while ((all[last] & 0xC0) == 0x80) last--;
        code_set_add(to, r->arena, first, utf8_decode(all + last, &n));
    }
    pcre2_match_data_free(match);
    pcre2_code_free(code);
    buffer_free(&text);
    return true;
}

static void add_member(PatternReader *r, const char *member, CodeSet *to)
{
    if (add_library_class(r, member, to)) return;
    if (isalpha((unsigned char)*member) && strlen(member) > 1 && !isdigit((unsigned char)*member) &&
        strcmp(member, "ABCDEF") != 0 && strcmp(member, "abcdef") != 0) {
        add_pcre2_property(r, member, to);
        return;
    }
    for (; *member; member++)
        code_set_add(to, r->arena, (unsigned char)*member, (unsigned char)*member);
}

static bool add_named(PatternReader *r, const char *simple, CodeSet *to)
{
    for (size_t i = 0; i < sizeof set_names / sizeof *set_names; i++) {
        const SetName *s = &set_names[i];
        if (strcmp(s->name, simple) != 0) continue;
        CodeSet set = { 0 };
        for (int k = 0; k < 5 && s->members[k]; k++) add_member(r, s->members[k], &set);
        if (s->is_complement) set = code_set_complement(&set, r->arena);
        code_set_add_all(to, r->arena, set.range, set.n);
        return true;
    }
    return false;
}

/* A property by the name between the braces. */
static Error *property(PatternReader *r, Str name, CodeSet *to)
{
    char simple[64];
    size_t n = 0;
    for (size_t i = 0; i < name.len && n + 1 < sizeof simple; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if (c == '}' || c == '\\' || c >= 0x80) return pattern_error(r, "no name of a property");
        if (c != ' ' && c != '_' && c != '-') simple[n++] = (char)tolower(c);
    }
    simple[n] = 0;
    if (add_named(r, simple, to)) return NULL;
    const char *as_written = arena_string_n(r->arena, name.ptr, name.len);
    char category[8];
    snprintf(category, sizeof category, "\\p{%.2s}", simple);
    if (n <= 2) category[3] = (char)toupper((unsigned char)category[3]);
    if ((n <= 2 && add_library_class(r, category, to)) ||
        add_library_class(r, arena_printf(r->arena, "\\p{%s}", as_written), to) ||
        add_pcre2_property(r, as_written, to))
        return NULL;
    return pattern_error(r,
                         arena_printf(r->arena, "\"%s\" is no property of characters", as_written));
}

/* {Name} or {^Name}, or one letter. */
static Error *braced_property(PatternReader *r, CodeSet *to, bool *negated)
{
    if (pattern_peek(r, 0) != '{') {
        if (!isalpha(pattern_peek(r, 0)))
            return pattern_error(r, "\\p needs the name of a property");
        Str letter = { r->pattern.ptr + r->at++, 1 };
        return property(r, letter, to);
    }
    r->at++;
    if (pattern_peek(r, 0) == '^') {
        *negated = !*negated;
        r->at++;
    }
    const char *start = r->pattern.ptr + r->at, *end = memchr(start, '}', r->pattern.len - r->at);
    if (!end) return pattern_error(r, "\\p{ without a closing brace");
    TRY(property(r, (Str){ start, (size_t)(end - start) }, to));
    r->at = (size_t)(end + 1 - r->pattern.ptr);
    return NULL;
}

Error *pattern_set_escape(PatternReader *r, CodeSet *positive, bool *negated, bool *is_set)
{
    int c = pattern_peek(r, 0);
    *is_set = c > 0 && strchr("dDsSwWhHpP", c) != NULL;
    if (!*is_set) return NULL;
    r->at++;
    *negated = isupper(c);
    if (c == 'p' || c == 'P') return braced_property(r, positive, negated);
    if (c == 'h' || c == 'H') {
        add_named(r, "xdigit", positive);
    } else {
        char name[] = { '\\', (char)tolower(c), 0 };
        add_library_class(r, name, positive);
    }
    return NULL;
}

/* Up to `most` digits of a base. */
static uint32_t digits(PatternReader *r, int base, int most, int *n)
{
    uint32_t value = 0;
    for (*n = 0; *n < most; ++*n, r->at++) {
        int c = pattern_peek(r, 0);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c > 0 && isxdigit(c) ? tolower(c) - 'a' + 10
                                           : 99;
        if (digit >= base) break;
        value = value * (uint32_t)base + (uint32_t)digit;
    }
    return value;
}

static Error *hexadecimal(PatternReader *r, int most, bool exact, uint32_t *out)
{
    int n;
    bool braced = pattern_peek(r, 0) == '{' && !exact;
    if (braced) r->at++;
    *out = digits(r, 16, braced ? 8 : most, &n);
    if (braced && (pattern_peek(r, 0) != '}' || !n))
        return pattern_error(r, "\\x{ without hexadecimal digits and }");
    if (braced) r->at++;
    if ((exact && n < most)) return pattern_error(r, "too few hexadecimal digits");
    return NULL;
}

Error *pattern_code_escape(PatternReader *r, uint32_t *out)
{
    static const char letters[] = "tnrfvae", codes[] = "\t\n\r\f\v\a\033";
    int n;
    if (pattern_peek(r, 0) < 0) return pattern_error(r, "a backslash at the end");
    uint32_t c = pattern_take(r);
    const char *letter = c && c < 0x80 ? strchr(letters, (int)c) : NULL;
    *out = letter ? (uint32_t)codes[letter - letters] : c;
    if (c == 'x') TRY(hexadecimal(r, 2, false, out));
    if (c == 'u') TRY(hexadecimal(r, 4, true, out));
    if (c >= '0' && c <= '7') {
        r->at--;
        *out = digits(r, 8, 3, &n);
    }
    if (c == 'c') {
        if (pattern_peek(r, 0) < 0) return pattern_error(r, "\\c at the end");
        *out = pattern_take(r) & 0x1F;
    }
    if (*out > LAST_CODE || (*out >= 0xD800 && *out <= 0xDFFF)) {
        return pattern_error(r, "no character of Unicode");
    }
    return NULL;
}

/* [:name:] or [:^name:], after the first bracket; *is_set false: it is none. */
static Error *posix_bracket(PatternReader *r, CodeSet *to, bool *is_set)
{
    const char *rest = r->pattern.ptr + r->at;
    size_t left = r->pattern.len - r->at;
    *is_set = false;
    if (pattern_peek(r, 0) != ':') return NULL;
    const char *end = memmem(rest, left, ":]", 2);
    if (!end) return NULL;
    bool negated = rest[1] == '^';
    Str name = { rest + 1 + negated, (size_t)(end - rest) - 1 - negated };
    for (size_t i = 0; i < name.len; i++) {
        if (!islower((unsigned char)name.ptr[i])) return NULL;
    }
    CodeSet set = { 0 };
    if (str_is(name, "ascii"))
        code_set_add(&set, r->arena, 0, 0x7F);
    else if (!add_named(r, arena_string_n(r->arena, name.ptr, name.len), &set))
        return pattern_error(r, "no POSIX class");
    if (negated) set = code_set_complement(&set, r->arena);
    code_set_add_all(to, r->arena, set.range, set.n);
    r->at += (size_t)(end - rest) + 2;
    *is_set = true;
    return NULL;
}

static Error *bracket(PatternReader *r, CodeSet *positive, bool *negated, int depth);

/* A character or a set; of a set, `to` has it and *is_set is true. */
static Error *bracket_item(PatternReader *r, CodeSet *to, uint32_t *code, bool *is_set, int depth)
{
    CodeSet set = { 0 };
    bool negated = false;
    *is_set = false;
    int c = pattern_peek(r, 0);
    if (c == '[') {
        r->at++;
        TRY(posix_bracket(r, to, is_set));
        if (*is_set) return NULL;
        TRY(bracket(r, &set, &negated, depth + 1));
        *is_set = true;
    } else if (c == '\\') {
        r->at++;
        TRY(pattern_set_escape(r, &set, &negated, is_set));
        if (!*is_set && pattern_peek(r, 0) == 'b') {
            r->at++;
            *code = '\b';
            return NULL;
        }
        if (!*is_set) return pattern_code_escape(r, code);
    } else {
        *code = pattern_take(r);
        return NULL;
    }
    if (negated) set = code_set_complement(&set, r->arena);
    code_set_add_all(to, r->arena, set.range, set.n);
    return NULL;
}

static bool starts_range(const PatternReader *r)
{
    int next = pattern_peek(r, 1);
    return pattern_peek(r, 0) == '-' && next >= 0 && next != ']' && next != '[';
}

static Error *bracket_range(PatternReader *r, CodeSet *to, uint32_t first, int depth)
{
    uint32_t last = 0;
    bool is_set;
    r->at++;
    TRY(bracket_item(r, to, &last, &is_set, depth));
    if (is_set) { /* as in a-\d: the three stand for themselves */
        code_set_add(to, r->arena, first, first);
        code_set_add(to, r->arena, '-', '-');
        return NULL;
    }
    if (last < first) return pattern_error(r, "a range that runs backwards");
    code_set_add(to, r->arena, first, last);
    return NULL;
}

static Error *bracket(PatternReader *r, CodeSet *positive, bool *negated, int depth)
{
    if (depth > MAX_DEPTH) return pattern_error(r, "brackets too deep");
    CodeSet all = { 0 }, part = { 0 };
    bool has_all = false;
    *negated = pattern_peek(r, 0) == '^';
    r->at += *negated;
    for (bool first = true;; first = false) {
        int c = pattern_peek(r, 0);
        if (c < 0) return pattern_error(r, "[ without a closing bracket");
        if (c == ']' && !first) break;
        if (c == '&' && pattern_peek(r, 1) == '&') {
            all = has_all ? code_set_common(&all, &part, r->arena) : part;
            has_all = true;
            part = (CodeSet){ 0 };
            r->at += 2;
            continue;
        }
        uint32_t code = 0;
        bool is_set;
        TRY(bracket_item(r, &part, &code, &is_set, depth));
        if (is_set) continue;
        if (starts_range(r))
            TRY(bracket_range(r, &part, code, depth));
        else
            code_set_add(&part, r->arena, code, code);
    }
    r->at++;
    *positive = has_all ? code_set_common(&all, &part, r->arena) : part;
    return NULL;
}

Error *pattern_bracket(PatternReader *r, CodeSet *positive, bool *negated)
{
    return bracket(r, positive, negated, 0);
}
