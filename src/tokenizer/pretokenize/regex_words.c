/* regex_words.c - cuts text where a regular expression matches. */
#include "tokenizer/pretokenize/regex_words.h"

Error *split_regex(const Regex *r, RegexRoom *room, SplitBehavior behavior, bool inverted, Str text,
                   Words *out)
{
    Splitting s = { .behavior = behavior, .inverted = inverted, .text = text, .out = out };
    RegexSearch search = { 0 };
    RegexMatch m;
    size_t done = 0;
    bool found = text.len > 0;
    while (found) {
        TRY(regex_next(r, room, text, &search, &m, &found));
        if (!found) break;
        if (done != m.from) splitting_add(&s, done, m.from, false);
        splitting_add(&s, m.from, m.to, true);
        done = m.to;
    }
    if (done != text.len) splitting_add(&s, done, text.len, false);
    splitting_finish(&s);
    return NULL;
}
