/* cl100k.c - the words of cl100k's patterns, by a table of character classes. */
#include "tokenizer/pretokenize/cl100k.h"
#include "tokenizer/pretokenize/char_class.h"

int cl100k_contraction(const char *p)
{
    char a = p[1] | 0x20, b = p[2] | 0x20;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if ((a == 'l' && b == 'l') || ((a == 'r' || a == 'v') && b == 'e')) return 3;
    return p[1] == (char)0xC5 && p[2] == (char)0xBF ? 3 : 0; /* U+017F, a long s */
}

static uint32_t line_ends(const char *text, uint32_t len, uint32_t at)
{
    while (at < len && (text[at] == '\r' || text[at] == '\n')) at++;
    return at;
}

/* White space from `at`: up to its last line end, else all but its last character, which goes with
 * what follows, else all. */
static uint32_t space_end(const char *text, uint32_t len, uint32_t at)
{
    uint32_t behind_line = at, last = at, end = at;
    for (Char c; (c = char_at(text, len, end)).class == UNICODE_SPACE;) {
        last = end;
        end += c.len;
        if (text[last] == '\r' || text[last] == '\n') behind_line = end;
    }
    if (behind_line > at) return behind_line;
    return end == len || last == at ? end : last;
}

uint32_t cl100k_word_end(const char *text, uint32_t len, uint32_t at, int group)
{
    Char c = char_at(text, len, at);
    int contraction = text[at] == '\'' ? cl100k_contraction(text + at) : 0;
    if (contraction && at + (uint32_t)contraction <= len) return at + (uint32_t)contraction;
    if (c.class == UNICODE_LETTER) return run_end(text, len, at, UNICODE_LETTER);
    if (c.class == UNICODE_NUMBER) {
        for (int i = 0; i < group && (c = char_at(text, len, at)).class == UNICODE_NUMBER; i++)
            at += c.len;
        return at;
    }
    bool line = text[at] == '\r' || text[at] == '\n';
    Char next = char_at(text, len, at + c.len);
    if (!line && next.class == UNICODE_LETTER)
        return run_end(text, len, at + c.len, UNICODE_LETTER);
    if (!c.class) return line_ends(text, len, run_end(text, len, at, 0));
    if (text[at] == ' ' && !next.class) return line_ends(text, len, run_end(text, len, at + 1, 0));
    return space_end(text, len, at);
}

static int64_t split(const char *text, uint32_t len, uint32_t from, uint32_t until, uint32_t *end,
                     int group)
{
    int64_t n = 0;
    for (uint32_t at = from; at < until;) end[n++] = at = cl100k_word_end(text, len, at, group);
    return n;
}

int64_t split_cl100k(const char *text, uint32_t len, uint32_t from, uint32_t until, uint32_t *end)
{
    return split(text, len, from, until, end, 3);
}

int64_t split_qwen2(const char *text, uint32_t len, uint32_t from, uint32_t until, uint32_t *end)
{
    return split(text, len, from, until, end, 1);
}

Error *split_cl100k_choose(WordSplitter **out)
{
    return split_choose(SPLITTER_VERSIONS(split_cl100k), out);
}

Error *split_qwen2_choose(WordSplitter **out)
{
    return split_choose(SPLITTER_VERSIONS(split_qwen2), out);
}
