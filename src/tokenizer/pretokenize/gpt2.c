/* gpt2.c - the words of GPT-2's pattern, by a table of character classes. */
#include "tokenizer/pretokenize/char_class.h"
#include "tokenizer/pretokenize/pretokenize.h"

/* The length of 's 't 'm 'd 'll 're 've at `at`, or 0. */
static uint32_t contraction(const char *text, uint32_t len, uint32_t at)
{
    if (len - at < 2) return 0;
    char a = text[at + 1], b = len - at > 2 ? text[at + 2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (a == 'l' && b == 'l') || ((a == 'r' || a == 'v') && b == 'e') ? 3 : 0;
}

/* White space: all of it at the end of the text; else it leaves its last character to the next
 * word, unless it is only one. */
static uint32_t space_end(const char *text, uint32_t len, uint32_t at)
{
    uint32_t last = at, end = at;
    for (Char c; (c = char_at(text, len, end)).class == UNICODE_SPACE;) {
        last = end;
        end += c.len;
    }
    return end == len || last == at ? end : last;
}

static uint32_t word_end(const char *text, uint32_t len, uint32_t at)
{
    Char c = char_at(text, len, at);
    if (text[at] == ' ') {
        Char next = char_at(text, len, at + 1);
        if (next.class != UNICODE_SPACE && next.class != NONE) {
            return run_end(text, len, at + 1 + next.len, next.class);
        }
    }
    if (c.class == UNICODE_SPACE) return space_end(text, len, at);
    if (text[at] == '\'') {
        uint32_t n = contraction(text, len, at);
        if (n) return at + n;
    }
    return run_end(text, len, at + c.len, c.class);
}

int64_t split_gpt2(const char *text, uint32_t len, uint32_t from, uint32_t until, uint32_t *end)
{
    int64_t n = 0;
    for (uint32_t at = from; at < until;) end[n++] = at = word_end(text, len, at);
    return n;
}

Error *split_gpt2_choose(WordSplitter **out)
{
    return split_choose(SPLITTER_VERSIONS(split_gpt2), out);
}
