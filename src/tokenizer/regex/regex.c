/* regex.c - compiles a translated pattern with PCRE2 and finds its matches. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/regex/regex.h"
#include "base/utf8.h"
#include <pcre2.h>
#include <string.h>

struct Regex {
    pcre2_code *code;
    Str literal; /* ptr not NULL: the text to look for; code is NULL */
    const char *shown;
};

/* Memory that PCRE2's compiled code may use for backtracking, at most. */
enum { STACK_START = 32 << 10, STACK_MOST = 8 << 20 };

static void release(void *code)
{
    pcre2_code_free(code);
}

static Error *compile(Arena *a, Str translated, Str pattern, Regex *r)
{
    int problem;
    size_t offset;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    uint32_t options = PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    r->code = pcre2_compile((PCRE2_SPTR)translated.ptr, translated.len, options, &problem, &offset,
                            context);
    pcre2_compile_context_free(context);
    if (!r->code) {
        char message[256];
        pcre2_get_error_message(problem, (PCRE2_UCHAR *)message, sizeof message);
        return error_new("the pattern \"%.*s\" is not supported: %s (in \"%.*s\" at byte %zu)",
                         (int)pattern.len, pattern.ptr, message, (int)translated.len,
                         translated.ptr, offset);
    }
    arena_on_free(a, release, r->code);
    /* Without it patterns are only slower. */
    (void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
    return NULL;
}

Error *regex_new(Arena *a, Str pattern, RegexDialect dialect, const Regex **out)
{
    Regex *r = NEW(a, Regex);
    r->shown = arena_string_n(a, pattern.ptr, pattern.len);
    Text translated = { 0 };
    text_puts(&translated, "");
    Error *e = regex_translate(a, pattern, dialect, &translated);
    if (!e) e = compile(a, (Str){ translated.ptr, translated.len }, pattern, r);
    text_free(&translated);
    *out = r;
    return e;
}

Error *regex_new_literal(Arena *a, Str text, const Regex **out)
{
    Regex *r = NEW(a, Regex);
    r->shown = arena_string_n(a, text.ptr, text.len);
    r->literal = (Str){ r->shown, text.len };
    *out = r;
    return NULL;
}

void regex_room_free(RegexRoom *room)
{
    pcre2_match_data_free(room->match);
    pcre2_match_context_free(room->context);
    pcre2_jit_stack_free(room->stack);
    *room = (RegexRoom){ 0 };
}

static void prepare(RegexRoom *room)
{
    if (room->match) return;
    room->match = pcre2_match_data_create(1, NULL);
    room->context = pcre2_match_context_create(NULL);
    room->stack = pcre2_jit_stack_create(STACK_START, STACK_MOST, NULL);
    CHECK(room->match && room->context && room->stack);
    pcre2_jit_stack_assign(room->context, NULL, room->stack);
}

static Error *find(const Regex *r, RegexRoom *room, Str text, size_t from, RegexMatch *out,
                   bool *found)
{
    if (r->literal.ptr) {
        const char *at = r->literal.len ? memmem(text.ptr + from, text.len - from, r->literal.ptr,
                                                 r->literal.len)
                                        : text.ptr + from;
        *found = at != NULL;
        if (at)
            *out =
                (RegexMatch){ (size_t)(at - text.ptr), (size_t)(at - text.ptr) + r->literal.len };
        return NULL;
    }
    prepare(room);
    int n = pcre2_match(r->code, (PCRE2_SPTR)text.ptr, text.len, from, PCRE2_NO_UTF_CHECK,
                        room->match, room->context);
    if (n == PCRE2_ERROR_JIT_STACKLIMIT) {
        n = pcre2_match(r->code, (PCRE2_SPTR)text.ptr, text.len, from,
                        PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, room->match, room->context);
    }
    *found = n >= 0;
    if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
        char message[256];
        pcre2_get_error_message(n, (PCRE2_UCHAR *)message, sizeof message);
        return error_new("the pattern \"%s\" gave up on a text of %zu bytes: %s", r->shown,
                         text.len, message);
    }
    const size_t *place = pcre2_get_ovector_pointer(room->match);
    *out = (RegexMatch){ place[0], place[1] };
    return NULL;
}

/* As the library's iterator: after a match the search goes on at its end; an empty match there
 * does not count, and the search moves on by a character. */
Error *regex_next(const Regex *r, RegexRoom *room, Str text, RegexSearch *at, RegexMatch *out,
                  bool *found)
{
    *found = false;
    while (at->next <= text.len) {
        TRY(find(r, room, text, at->next, out, found));
        if (!*found) {
            at->next = text.len + 1;
            return NULL;
        }
        /* A match that starts before the search did (by \K) would never end. */
        if (out->from < at->next || out->to < out->from) {
            return error_new("the pattern \"%s\" moves the start of its match", r->shown);
        }
        if (out->from == out->to && at->has_matched && at->last_end == out->to) {
            int len = 1;
            if (at->next < text.len) utf8_decode(text.ptr + at->next, &len);
            at->next += (size_t)len;
            continue;
        }
        at->next = at->last_end = out->to;
        at->has_matched = true;
        return NULL;
    }
    *found = false;
    return NULL;
}
