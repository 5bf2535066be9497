/* translate.c - rewrites a pattern of Oniguruma (Ruby's syntax) or of Rust's crates for
 * PCRE2.
 *
 * Structure stays; classes become explicit sets, since PCRE2 knows another version of Unicode; and
 * what is spelled alike but means something else is spelled as PCRE2 does: (?m) is (?s) there,
 * a(?i)b|c is a(?i:b|c), {n,m}+ repeats a repetition and is not possessive, {n}? is optional. */
#include "tokenizer/regex/translate.h"
#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 100, MAX_PATTERN = 1 << 16 };

typedef struct Flags {
    bool ignores_case, is_extended, is_multiline;
} Flags;

/* The letters of (?i-m...), up to `:` or `)`; appends PCRE2's. */
static Error *options(RegexTranslator *t, Flags *flags)
{
    bool on = true, is_ruby = t->dialect == REGEX_ONIGURUMA;
    for (;; t->in.at++) {
        int c = pattern_peek(&t->in, 0);
        if (c == ':' || c == ')') return NULL;
        if (c == '-') {
            on = false;
            text_putc(t->out, '-');
        } else if (c == 'i') {
            flags->ignores_case = on;
            text_putc(t->out, 'i');
        } else if (c == 'x') {
            flags->is_extended = on;
        } else if (c == (is_ruby ? 'm' : 's')) {
            text_putc(t->out, 's');
        } else if (c == 'm') {
            flags->is_multiline = on;
        } else {
            return pattern_error(&t->in, is_ruby
                                             ? "undefined option of a group (options: i, m, x)"
                                             : "undefined option of a group (options: i, m, s, x)");
        }
    }
}

static Error *sequence(RegexTranslator *t, Flags flags);

/* The rest of a group after what opens it. */
static Error *group_body(RegexTranslator *t, Flags flags)
{
    if (++t->depth > MAX_DEPTH) return pattern_error(&t->in, "groups too deep");
    TRY(sequence(t, flags));
    t->depth--;
    if (pattern_peek(&t->in, 0) != ')')
        return pattern_error(&t->in, "( without a closing parenthesis");
    t->in.at++;
    text_putc(t->out, ')');
    return NULL;
}

static bool starts_with(const RegexTranslator *t, const char *what)
{
    size_t n = strlen(what);
    return t->in.pattern.len - t->in.at >= n && !memcmp(t->in.pattern.ptr + t->in.at, what, n);
}

/* (?<name>...) or (?P<name>...), at the name. */
static Error *named_group(RegexTranslator *t, Flags flags)
{
    text_puts(t->out, "(?<");
    int c;
    while ((c = pattern_peek(&t->in, 0)) > 0 && (isalnum(c) || c == '_')) {
        text_putc(t->out, (char)c);
        t->in.at++;
    }
    if (c != '>' || t->out->ptr[t->out->len - 1] == '<')
        return pattern_error(&t->in, "no name of a group");
    t->in.at++;
    text_putc(t->out, '>');
    return group_body(t, flags);
}

static Error *group(RegexTranslator *t, Flags flags)
{
    static const char *const same[] = { "(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", NULL };
    for (int i = 0; same[i]; i++) {
        if (!starts_with(t, same[i])) continue;
        text_puts(t->out, same[i]);
        t->in.at += strlen(same[i]);
        return group_body(t, flags);
    }
    bool is_ruby = t->dialect == REGEX_ONIGURUMA;
    if (starts_with(t, "(?#")) {
        while (pattern_peek(&t->in, 0) >= 0 && pattern_peek(&t->in, 0) != ')') t->in.at++;
        if (pattern_peek(&t->in, 0) < 0) return pattern_error(&t->in, "(?# without an end");
        t->in.at++;
        return NULL;
    }
    if (starts_with(t, "(?<") || (!is_ruby && starts_with(t, "(?P<"))) {
        t->in.at += starts_with(t, "(?<") ? 3 : 4;
        return named_group(t, flags);
    }
    if (starts_with(t, "(?")) {
        t->in.at += 2;
        text_puts(t->out, "(?");
        TRY(options(t, &flags));
        text_putc(t->out, ':');
        t->in.at++;
        return group_body(t, flags);
    }
    text_puts(t->out, t->has_names && is_ruby ? "(?:" : "(");
    t->in.at++;
    return group_body(t, flags);
}

/* (?i) without a body holds to the end of the group, in Ruby over the alternatives as a whole. */
static Error *bare_options(RegexTranslator *t, Flags *flags, bool *found, int *n_open)
{
    size_t at = t->in.at + 2;
    *found = false;
    if (!starts_with(t, "(?")) return NULL;
    while (at < t->in.pattern.len &&
           (islower((unsigned char)t->in.pattern.ptr[at]) || t->in.pattern.ptr[at] == '-'))
        at++;
    if (at == t->in.at + 2 || at >= t->in.pattern.len || t->in.pattern.ptr[at] != ')') return NULL;
    *found = true;
    t->in.at += 2;
    text_puts(t->out, "(?");
    TRY(options(t, flags));
    t->in.at++;
    bool is_ruby = t->dialect == REGEX_ONIGURUMA;
    text_putc(t->out, is_ruby ? ':' : ')');
    *n_open += is_ruby;
    return NULL;
}

/* Puts what was written since `from` into a group. */
static void wrap(RegexTranslator *t, size_t from)
{
    size_t len = t->out->len - from;
    text_puts(t->out, "(?:)");
    memmove(t->out->ptr + from + 3, t->out->ptr + from, len);
    memcpy(t->out->ptr + from, "(?:", 3);
    t->out->ptr[t->out->len - 1] = ')';
}

/* {n}, {n,}, {,m} or {n,m}; its length, or 0 when the brace is an ordinary character. */
static size_t interval(const RegexTranslator *t, bool *is_fixed)
{
    size_t n = 1, n_digits = 0;
    bool has_comma = false;
    for (;; n++) {
        int c = pattern_peek(&t->in, n);
        if (c > 0 && isdigit(c))
            n_digits++;
        else if (c == ',' && !has_comma)
            has_comma = true;
        else
            break;
    }
    *is_fixed = !has_comma;
    return pattern_peek(&t->in, n) == '}' && n_digits ? n + 1 : 0;
}

/* All quantifiers after an atom that was written from `from` on. */
static Error *quantifiers(RegexTranslator *t, size_t from)
{
    bool is_ruby = t->dialect == REGEX_ONIGURUMA;
    for (int n_before = 0;; n_before++) {
        int c = pattern_peek(&t->in, 0);
        bool is_fixed = false;
        size_t len = c == '{' ? interval(t, &is_fixed) : c == '*' || c == '+' || c == '?';
        if (!len) return NULL;
        if (n_before) wrap(t, from);
        if (pattern_peek(&t->in, 1) == ',' && c == '{') {
            text_puts(t->out, "{0");
            text_add(t->out, t->in.pattern.ptr + t->in.at + 1, len - 1);
        } else {
            text_add(t->out, t->in.pattern.ptr + t->in.at, len);
        }
        t->in.at += len;
        int suffix = pattern_peek(&t->in, 0);
        bool is_lazy = suffix == '?' && !(is_ruby && is_fixed);
        bool is_possessive = suffix == '+' && !(is_ruby && c == '{');
        if (!is_lazy && !is_possessive) continue;
        text_putc(t->out, (char)suffix);
        t->in.at++;
    }
}

static Error *atom(RegexTranslator *t, Flags flags)
{
    bool is_ruby = t->dialect == REGEX_ONIGURUMA;
    CodeSet set = { 0 };
    bool negated;
    switch (pattern_peek(&t->in, 0)) {
    case '(':
        return group(t, flags);
    case '\\':
        return regex_put_escape(t);
    case '[':
        t->in.at++;
        TRY(pattern_bracket(&t->in, &set, &negated));
        regex_put_set(t, &set, negated);
        return NULL;
    case '.':
        text_putc(t->out, '.');
        break;
    case '^':
        text_puts(t->out, is_ruby || flags.is_multiline ? "^" : "\\A");
        break;
    case '$':
        text_puts(t->out, is_ruby || flags.is_multiline ? "$" : "\\z");
        break;
    case '*':
    case '+':
    case '?':
        return pattern_error(&t->in, "nothing to repeat");
    default:
        regex_put_code(t, pattern_take(&t->in));
        return NULL;
    }
    t->in.at++;
    return NULL;
}

/* Blanks and comments of extended patterns. */
static bool skip_blank(RegexTranslator *t)
{
    int c = pattern_peek(&t->in, 0);
    if (c == '#') {
        while (pattern_peek(&t->in, 0) >= 0 && pattern_peek(&t->in, 0) != '\n') t->in.at++;
        return true;
    }
    if (c < 0 || !isspace(c)) return false;
    t->in.at++;
    return true;
}

/* Alternatives up to the end of the group or pattern. */
static Error *sequence(RegexTranslator *t, Flags flags)
{
    int n_open = 0;
    for (int c; (c = pattern_peek(&t->in, 0)) >= 0 && c != ')';) {
        if (c == '|') {
            text_putc(t->out, '|');
            t->in.at++;
            continue;
        }
        if (flags.is_extended && skip_blank(t)) continue;
        bool found;
        TRY(bare_options(t, &flags, &found, &n_open));
        if (found) continue;
        size_t from = t->out->len;
        TRY(atom(t, flags));
        while (flags.is_extended && skip_blank(t)) continue;
        TRY(quantifiers(t, from));
    }
    for (int i = 0; i < n_open; i++) text_putc(t->out, ')');
    return NULL;
}

/* How many groups capture, and whether they have names; brackets and escapes may hide some, which
 * only matters to numbers above 9. */
static void count_groups(RegexTranslator *t)
{
    const char *p = t->in.pattern.ptr;
    for (size_t i = 0; i < t->in.pattern.len; i++) {
        if (p[i] == '\\') {
            i++;
        } else if (p[i] == '(') {
            t->n_groups++;
            if (i + 3 < t->in.pattern.len && p[i + 1] == '?' && p[i + 2] == '<' &&
                p[i + 3] != '=' && p[i + 3] != '!')
                t->has_names = true;
        }
    }
}

Error *regex_translate(Arena *a, Str pattern, RegexDialect dialect, Text *out)
{
    RegexTranslator t = { .in = { a, pattern, 0 }, .dialect = dialect, .out = out };
    if (pattern.len > MAX_PATTERN) return pattern_error(&t.in, "the pattern is too long");
    count_groups(&t);
    TRY(sequence(&t, (Flags){ 0 }));
    if (t.in.at < pattern.len) return pattern_error(&t.in, ") without an opening parenthesis");
    return NULL;
}
