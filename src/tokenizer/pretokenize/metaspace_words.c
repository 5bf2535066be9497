/* metaspace_words.c - the pre-tokenizer Metaspace: blanks become a visible character, with
 * which words start. */
#include "base/utf8.h"
#include "tokenizer/pretokenize/metaspace.h"
#include "tokenizer/pretokenize/steps.h"
#include "tokenizer/text/unicode.h"
#include <string.h>

typedef struct MetaspaceStep {
    PreTokenizerStep base;
    Metaspace settings;
    char mark[4];
    size_t mark_len;
} MetaspaceStep;

static bool starts_with_mark(const MetaspaceStep *s, Str word)
{
    return *word.ptr == ' ' || (word.len >= s->mark_len && !memcmp(word.ptr, s->mark, s->mark_len));
}

static bool prepends(const MetaspaceStep *s, Str word, bool at_start)
{
    PrependScheme scheme = s->settings.scheme;
    return (scheme == PREPEND_ALWAYS || (scheme == PREPEND_FIRST && at_start)) &&
           !starts_with_mark(s, word);
}

/* A word starts at every mark, and where the text does. */
static Error *run(const PreTokenizerStep *self, Str word, bool at_start, PreTokenizerRoom *room,
                  Words *out)
{
    (void)room;
    const MetaspaceStep *s = (const MetaspaceStep *)self;
    if (prepends(s, word, at_start)) {
        text_add(&out->text, s->mark, s->mark_len);
        sources_repeat(out->sources, 0, s->mark_len);
    }
    for (size_t at = 0; at < word.len;) {
        bool is_blank = word.ptr[at] == ' ';
        bool is_mark = is_blank || (word.len - at >= s->mark_len &&
                                    !memcmp(word.ptr + at, s->mark, s->mark_len));
        if (is_mark && s->settings.split && at) words_close(out);
        if (is_mark) {
            text_add(&out->text, s->mark, s->mark_len);
            sources_repeat(out->sources, (uint32_t)at, s->mark_len);
            at += is_blank ? 1 : s->mark_len;
        } else {
            sources_repeat(out->sources, (uint32_t)at, 1);
            text_putc(&out->text, word.ptr[at++]);
        }
    }
    words_close(out);
    return NULL;
}

/* Copies bytes up to the first that is no visible ASCII character; 8 more may be written. */
static size_t copy_visible(char *to, Str text)
{
    const uint64_t ones = UINT64_MAX / 255, top = ones << 7;
    size_t i = 0;
    for (; i + 8 <= text.len; i += 8) {
        uint64_t x;
        memcpy(&x, text.ptr + i, sizeof x);
        memcpy(to + i, &x, sizeof x);
        uint64_t others = (x | (x - ones * '!')) & top; /* exact up to the first */
        if (others) return i + (size_t)__builtin_ctzll(others) / 8;
    }
    for (; i < text.len && (int8_t)text.ptr[i] >= '!'; i++) to[i] = text.ptr[i];
    return i;
}

/* The bytes of the white space that a text starts with, 0 for none. */
static size_t space_bytes(Str text)
{
    int len;
    return unicode_flags(utf8_decode(text.ptr, &len)) & UNICODE_SPACE ? (size_t)len : 0;
}

/* The bytes of the word that a text starts with. */
static size_t word_bytes(Str text)
{
    size_t at = 0;
    while (at < text.len && !space_bytes((Str){ text.ptr + at, text.len - at }))
        at += utf8_char_bytes((uint8_t)text.ptr[at]);
    return at;
}

/* Adds words of visible ASCII between blanks and line ends, up to the first other one or for some
 * bytes of text; returns how many. */
static size_t add_visible_words(const MetaspaceStep *s, Str text, Words *out)
{
    enum { MOST = 4096, WORDS = MOST / 2 + 1 };
    Str some = { text.ptr, text.len < MOST ? text.len : MOST };
    char *from = text_reserve(&out->text, MOST + WORDS * sizeof s->mark + 16), *to = from;
    uint32_t *end = buffer_grow(&out->ends, (size_t)(out->n + WORDS) * sizeof *end);
    size_t at = 0;
    while (at < some.len) {
        if (some.ptr[at] == ' ' || some.ptr[at] == '\n') {
            at++;
            continue;
        }
        memcpy(to, s->mark, sizeof s->mark);
        size_t n = copy_visible(to + s->mark_len, (Str){ some.ptr + at, some.len - at });
        size_t behind = at + n;
        bool ends = behind < some.len ? some.ptr[behind] == ' ' || some.ptr[behind] == '\n'
                                      : behind == text.len;
        if (!n || !ends) break;
        at = behind;
        to += s->mark_len + n;
        end[out->n++] = (uint32_t)(out->text.len + (size_t)(to - from));
    }
    text_extend(&out->text, (size_t)(to - from));
    return at;
}

/* What WhitespaceSplit and Metaspace make of a text; nobody asks for sources. */
static Error *run_words(const PreTokenizerStep *self, Str text, bool at_start,
                        PreTokenizerRoom *room, Words *out)
{
    const MetaspaceStep *s = (const MetaspaceStep *)self;
    for (size_t at = 0, len; at < text.len; at += len) {
        Str rest = { text.ptr + at, text.len - at };
        len = add_visible_words(s, rest, out);
        if (!len) len = space_bytes(rest);
        if (len) continue;
        len = word_bytes(rest);
        TRY(run(self, (Str){ rest.ptr, len }, at_start, room, out));
    }
    return NULL;
}

const PreTokenizerStep *step_behind_whitespace_split(Arena *a, const PreTokenizerStep *step)
{
    const MetaspaceStep *s = (const MetaspaceStep *)step;
    bool fits = step->run == run && s->settings.scheme == PREPEND_ALWAYS && (int8_t)s->mark[0] < 0;
    if (!fits) return NULL;
    MetaspaceStep *both = arena_copy(a, s, sizeof *s);
    both->base.run = run_words;
    return &both->base;
}

Error *step_load_metaspace(JsonNode at, void *loading)
{
    StepLoading *l = loading;
    MetaspaceStep *s = NEW(l->arena, MetaspaceStep);
    s->base = (PreTokenizerStep){ "Metaspace", run };
    TRY(metaspace_load(at, &s->settings));
    s->mark_len = (size_t)utf8_encode(s->settings.replacement, s->mark);
    step_append(l, &s->base);
    l->is_spelled = false;
    return NULL;
}
