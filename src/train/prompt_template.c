/* prompt_template.c - finds the names and puts answers in their place. */
#include "train/prompt_template.h"
#include "base/str.h"
#include <string.h>

/* What comes next in a template: text as it stands, or a name. */
typedef struct Piece {
    Str text;
    bool is_name;
} Piece;

/* What str.format would take as a field of an object, a conversion or a format. */
static const char NOT_IN_NAMES[] = "{.[:!";

static Error *read_name(const char *text, const char *at, const char **end, Piece *out)
{
    const char *close = strchr(at, '}');
    long long place = at - text + 1;
    if (!close) return error_new("prompt_template: \"{\" at character %lld is not closed", place);
    size_t n = (size_t)(close - at - 1);
    if (n == 0 || strcspn(at + 1, NOT_IN_NAMES) < n)
        return error_new("prompt_template: \"%.*s\" at character %lld: allowed are {name}, and {{ "
                         "and }} for braces",
                         (int)n + 2, at, place);
    *out = (Piece){ { at + 1, n }, true };
    *end = close + 1;
    return NULL;
}

/* Moves *at after the next piece; a piece is never empty, but at the end of the text. */
static Error *next_piece(const char *text, const char **at, Piece *out)
{
    const char *s = *at;
    if (s[0] == '{' && s[1] != '{') return read_name(text, s, at, out);
    if (s[0] == '}' && s[1] != '}')
        return error_new("prompt_template: \"}\" at character %lld closes nothing; }} stands for a "
                         "brace",
                         (long long)(s - text) + 1);
    bool is_brace = *s == '{' || *s == '}';
    size_t n = is_brace ? 1 : strcspn(s, "{}");
    *out = (Piece){ { s, n }, false };
    *at = s + n + is_brace;
    return NULL;
}

Error *prompt_template_parse(Arena *a, const char *text, PromptTemplate *out)
{
    int64_t cap = 0;
    *out = (PromptTemplate){ .text = text };
    for (const char *at = text; *at;) {
        Piece p = { 0 };
        TRY(next_piece(text, &at, &p));
        if (!p.is_name) continue;
        out->name = arena_grow(a, out->name, out->n_names, &cap, sizeof *out->name);
        out->name[out->n_names++] = arena_string_n(a, p.text.ptr, p.text.len);
    }
    return NULL;
}

static const char *answer_for(const PromptTemplate *t, Str name, const char *const *answer)
{
    for (int i = t->n_names - 1; i >= 0; i--)
        if (str_is(name, t->name[i])) return answer[i];
    return "";
}

const char *prompt_template_fill(Arena *a, const PromptTemplate *t, const char *const *answer)
{
    Text filled = { 0 };
    for (const char *at = t->text; *at;) {
        Piece p = { 0 };
        Error *e = next_piece(t->text, &at, &p);
        CHECK(e == NULL); /* it was parsed before */
        if (p.is_name)
            text_puts(&filled, answer_for(t, p.text, answer));
        else
            text_add(&filled, p.text.ptr, p.text.len);
    }
    const char *result = arena_string_n(a, filled.ptr ? filled.ptr : "", filled.len);
    text_free(&filled);
    return result;
}
