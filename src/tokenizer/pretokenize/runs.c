/* runs.c - the pre-tokenizers that cut where the kind of character changes (Whitespace,
 * UnicodeScripts) or by number (FixedLength). */
#include "base/utf8.h"
#include "tokenizer/pretokenize/steps.h"
#include "tokenizer/text/unicode.h"

/* \w+|[^\w\s]+, the rest left out. */
static Error *run_whitespace(const PreTokenizerStep *self, Str word, bool at_start,
                             PreTokenizerRoom *room, Words *out)
{
    (void)self;
    (void)at_start;
    (void)room;
    enum { SPACE, LETTERS, OTHERS } kind = SPACE;
    size_t from = 0;
    int len;
    for (size_t at = 0; at <= word.len; at += (size_t)len) {
        int next = -1;
        len = 1;
        if (at < word.len) {
            unsigned flags = unicode_flags(utf8_decode(word.ptr + at, &len));
            next = flags & UNICODE_WORD ? LETTERS : flags & UNICODE_SPACE ? SPACE : OTHERS;
        }
        if (next == (int)kind) continue;
        Str run = { word.ptr + from, at - from };
        if (kind == SPACE)
            words_skip(out, run);
        else
            words_add(out, run);
        kind = next < 0 ? SPACE : next;
        from = at;
    }
    return NULL;
}

Error *step_load_whitespace(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", NULL };
    static const PreTokenizerStep step = { "Whitespace", run_whitespace };
    TRY(json_node_only(at, known));
    step_append(loading, &step);
    return NULL;
}

/* A blank belongs to the word it stands in, whatever its neighbours' scripts; leading ones, as in
 * the library, to none. */
static Error *run_scripts(const PreTokenizerStep *self, Str word, bool at_start,
                          PreTokenizerRoom *room, Words *out)
{
    (void)self;
    (void)at_start;
    (void)room;
    enum { NONE = -1 };
    int last = NONE, len;
    size_t from = word.len;
    for (size_t at = 0; at < word.len; at += (size_t)len) {
        uint32_t c = utf8_decode(word.ptr + at, &len);
        int script = (int)unicode_script(c);
        if (c == ' ' || !script || script == last) continue;
        if (last == NONE)
            words_skip(out, (Str){ word.ptr, at });
        else
            words_add(out, (Str){ word.ptr + from, at - from });
        from = at;
        last = script;
    }
    if (last == NONE) words_skip(out, word);
    words_add(out, (Str){ word.ptr + from, word.len - from });
    return NULL;
}

Error *step_load_scripts(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", NULL };
    static const PreTokenizerStep step = { "UnicodeScripts", run_scripts };
    TRY(json_node_only(at, known));
    step_append(loading, &step);
    return NULL;
}

typedef struct FixedLengthStep {
    PreTokenizerStep base;
    int64_t length; /* in characters */
} FixedLengthStep;

static Error *run_fixed_length(const PreTokenizerStep *self, Str word, bool at_start,
                               PreTokenizerRoom *room, Words *out)
{
    (void)at_start;
    (void)room;
    int64_t length = ((const FixedLengthStep *)self)->length, n = 0;
    size_t from = 0;
    int len;
    for (size_t at = 0; at < word.len; at += (size_t)len, n++) {
        utf8_decode(word.ptr + at, &len);
        if (n < length) continue;
        words_add(out, (Str){ word.ptr + from, at - from });
        from = at;
        n = 0;
    }
    words_add(out, (Str){ word.ptr + from, word.len - from });
    return NULL;
}

Error *step_load_fixed_length(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "length", NULL };
    StepLoading *l = loading;
    FixedLengthStep *s = NEW(l->arena, FixedLengthStep);
    *s = (FixedLengthStep){ { "FixedLength", run_fixed_length }, 5 };
    TRY(json_node_only(at, known));
    if (json_member(at, "length").value) TRY(json_get_int(at, "length", 1, UINT32_MAX, &s->length));
    step_append(l, &s->base);
    return NULL;
}
