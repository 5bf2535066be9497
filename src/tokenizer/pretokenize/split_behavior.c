/* split_behavior.c - makes words of matches and of what lies between them. */
#include "tokenizer/pretokenize/split_behavior.h"

Error *split_behavior_load(JsonNode of, SplitBehavior *out)
{
    static const char *const names[] = { [SPLIT_REMOVED] = "Removed",
                                         [SPLIT_ISOLATED] = "Isolated",
                                         [SPLIT_CONTIGUOUS] = "Contiguous",
                                         [SPLIT_TO_PREVIOUS] = "MergedWithPrevious",
                                         [SPLIT_TO_NEXT] = "MergedWithNext" };
    Str name;
    TRY(json_get_string(of, "behavior", &name));
    for (int i = 0; i < 5; i++) {
        if (!str_is(name, names[i])) continue;
        *out = (SplitBehavior)i;
        return NULL;
    }
    return json_node_error(json_member(of, "behavior"),
                           "must be \"Removed\", \"Isolated\", \"Contiguous\", "
                           "\"MergedWithPrevious\" or \"MergedWithNext\"");
}

static void close_open(Splitting *s)
{
    if (s->is_open) words_add(s->out, (Str){ s->text.ptr + s->from, s->to - s->from });
    s->is_open = false;
}

/* Does this stretch belong to the one before? */
static bool joins(const Splitting *s, bool is_match)
{
    if (!s->is_open) return false;
    switch (s->behavior) {
    case SPLIT_CONTIGUOUS:
        return is_match == s->was_match;
    case SPLIT_TO_PREVIOUS:
        return is_match && !s->was_match;
    case SPLIT_TO_NEXT:
        return !is_match && s->was_match;
    default:
        return false;
    }
}

void splitting_add(Splitting *s, size_t from, size_t to, bool matches)
{
    bool is_match = matches != s->inverted;
    if (joins(s, is_match)) {
        s->to = to;
    } else {
        close_open(s);
        if (s->behavior == SPLIT_REMOVED && is_match) {
            words_skip(s->out, (Str){ s->text.ptr + from, to - from });
        } else {
            s->is_open = true;
            s->from = from;
            s->to = to;
        }
    }
    s->was_match = is_match;
}

void splitting_finish(Splitting *s)
{
    close_open(s);
}
