/* escape.c - what a backslash stands for in a pattern, as PCRE2 spells it: sets as explicit
 * classes, word boundaries by them, references to groups, characters. */
#include "base/utf8.h"
#include "tokenizer/regex/translate.h"
#include <ctype.h>
#include <string.h>

void regex_put_code(RegexTranslator *t, uint32_t c)
{
    char bytes[4];
    if (c < 0x80 && !isalnum((int)c) && c != ' ' && c != '_')
        text_printf(t->out, "\\x{%x}", c);
    else
        text_add(t->out, bytes, (size_t)utf8_encode(c, bytes));
}

void regex_put_set(RegexTranslator *t, CodeSet *set, bool negated)
{
    code_set_sort(set);
    if (!set->n) {
        text_puts(t->out, negated ? "(?s:.)" : "(?!)");
        return;
    }
    text_puts(t->out, negated ? "[^" : "[");
    for (int64_t i = 0; i < set->n; i++) {
        text_printf(t->out, "\\x{%x}", set->range[i].first);
        if (set->range[i].first < set->range[i].last)
            text_printf(t->out, "-\\x{%x}", set->range[i].last);
    }
    text_putc(t->out, ']');
}

/* Between a word character and another, or not; PCRE2's own \b knows other word characters. */
static Error *put_boundary(RegexTranslator *t, bool is_boundary)
{
    PatternReader word = { t->in.arena, { "w", 1 }, 0 };
    CodeSet set = { 0 };
    bool negated, is_set;
    TRY(pattern_set_escape(&word, &set, &negated, &is_set));
    static const char *const parts[2][5] = { { "(?:(?<=", ")(?=", ")|(?<!", ")(?!", "))" },
                                             { "(?:(?<=", ")(?!", ")|(?<!", ")(?=", "))" } };
    for (int i = 0; i < 5; i++) {
        text_puts(t->out, parts[is_boundary][i]);
        if (i < 4) regex_put_set(t, &set, false);
    }
    return NULL;
}

/* A number or name in <> or '', after \k or \g. */
static Error *put_reference(RegexTranslator *t, char kind)
{
    int open = pattern_peek(&t->in, 0), close = open == '<' ? '>' : open;
    const char *start = t->in.pattern.ptr + t->in.at + 1;
    const char *end =
        open == '<' || open == '\'' ? memchr(start, close, t->in.pattern.len - t->in.at - 1) : NULL;
    if (!end) return pattern_error(&t->in, "\\k and \\g need <name>");
    Str name = { start, (size_t)(end - start) };
    for (size_t i = 0; i < name.len; i++) {
        if (!isalnum((unsigned char)start[i]) && start[i] != '_' && !(i == 0 && start[i] == '-'))
            return pattern_error(&t->in, "no name of a group");
    }
    bool is_number = name.len && (isdigit((unsigned char)*start) || *start == '-');
    const char *form = kind == 'g' ? "\\g<%.*s>" : is_number ? "\\g{%.*s}" : "\\k<%.*s>";
    text_printf(t->out, form, (int)name.len, name.ptr); /* NOLINT: one of the three above */
    t->in.at = (size_t)(end + 1 - t->in.pattern.ptr);
    return NULL;
}

/* \1 to \9, and more digits when there are so many groups; else an octal number. */
static bool put_number_reference(RegexTranslator *t)
{
    int value = 0;
    size_t at = t->in.at;
    for (; at < t->in.pattern.len && isdigit((unsigned char)t->in.pattern.ptr[at]) && value < 1000;
         at++)
        value = value * 10 + (t->in.pattern.ptr[at] - '0');
    if (value == 0 || pattern_peek(&t->in, 0) == '0' || (value > 9 && value > t->n_groups))
        return false;
    text_printf(t->out, "\\g{%d}", value);
    t->in.at = at;
    return true;
}

Error *regex_put_escape(RegexTranslator *t)
{
    CodeSet set = { 0 };
    bool negated, is_set;
    t->in.at++;
    TRY(pattern_set_escape(&t->in, &set, &negated, &is_set));
    if (is_set) {
        regex_put_set(t, &set, negated);
        return NULL;
    }
    int c = pattern_peek(&t->in, 0);
    if (c > 0 && isdigit(c) && put_number_reference(t)) return NULL;
    if (c > 0 && strchr("AZzGRXKN", c)) {
        text_printf(t->out, "\\%c", c);
        t->in.at++;
        return NULL;
    }
    if (c > 0 && strchr("bBkgOyYCM", c)) {
        t->in.at++;
        if (c == 'b' || c == 'B') return put_boundary(t, c == 'b');
        if (c == 'k' || c == 'g') return put_reference(t, (char)c);
        if (c != 'O') return pattern_error(&t->in, "\\y, \\Y, \\C- and \\M- are not supported");
        text_puts(t->out, "(?s:.)");
        return NULL;
    }
    uint32_t code;
    TRY(pattern_code_escape(&t->in, &code));
    regex_put_code(t, code);
    return NULL;
}
