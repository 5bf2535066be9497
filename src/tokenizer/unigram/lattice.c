/* lattice.c - Viterbi's algorithm over the tokens of a text. */
#include "base/utf8.h"
#include "tokenizer/unigram/unigram.h"
#include <math.h>

/* The best way to a place in the text: its sum and its last step. */
typedef struct Node {
    double sum;
    uint32_t from, id;
} Node;

enum { NOT_REACHED = UINT32_MAX };

/* The largest that the sum of the best way to a place, and of any other way there, can be rounded
 * to. */
typedef struct Upper {
    double best, other;
} Upper;

/* What the search works on. `upper` when margins are asked for; then each step is rounded by at
 * most `rounding`. `low` and `high` of all sums, with `single`. */
typedef struct Search {
    const Lattice *l;
    Node *node;
    Upper *upper;
    double rounding;
    double low, high;
} Search;

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline __attribute__((always_inline)) void reach_upper(const Search *s, size_t from,
                                                              size_t to, double score, bool better)
{
    const Upper *before = &s->upper[from];
    Upper *at = &s->upper[to];
    double step = score + s->rounding, best = before->best + step, old = at->best;
    double other = larger(at->other, before->other + step);
    *at = (Upper){ better ? best : old, larger(other, better ? old : best) };
}

/* Strictly better, so of equal ways the one found first stays. Whether it is better can hardly be
 * predicted: no branch here. */
static inline __attribute__((always_inline)) void
reach(Search *s, size_t from, size_t to, double score, uint32_t id, bool single, bool margin)
{
    Node *at = &s->node[to], best = *at;
    double sum = score + s->node[from].sum;
    if (single) {
        sum = (float)sum;
        s->low = sum < s->low ? sum : s->low;
        s->high = sum > s->high ? sum : s->high;
    }
    bool better = (best.from == NOT_REACHED) | (sum > best.sum);
    if (margin) reach_upper(s, from, to, score, better);
    best.sum = better ? sum : best.sum;
    best.from = better ? (uint32_t)from : best.from;
    best.id = better ? id : best.id;
    *at = best;
}

/* Counts anew from here: subtracts this sum from all that tokens have reached. */
static void count_anew(const Search *s, size_t at, size_t len)
{
    double base = s->node[at].sum;
    size_t longest = s->l->trie.longest, reached = longest < 4 ? 4 : longest;
    for (size_t i = at; i <= len && i <= at + reached; i++) {
        if (s->node[i].from == NOT_REACHED) continue;
        s->node[i].sum = (float)(s->node[i].sum - base);
    }
}

/* Follows all tokens that start at `at`; true when one is the whole character there. */
static inline __attribute__((always_inline)) bool follow(Search *s, Str text, size_t at,
                                                         size_t char_len, bool single, bool margin)
{
    const Trie *trie = &s->l->trie;
    const double *score = s->l->score;
    bool found_char = false;
    uint32_t state = 0;
    for (size_t i = at; i < text.len; i++) {
        state = trie_step(trie, state, (uint8_t)text.ptr[i]);
        if (state == NO_NODE) break;
        uint32_t id = trie_value(trie, state);
        if (id == NO_VALUE) continue;
        reach(s, at, i + 1, score[id], id, single, margin);
        found_char |= i + 1 - at == char_len;
    }
    return found_char;
}

/* Goes on by a character that is no token; false when nothing stands for it. */
static bool reach_unknown(Search *s, size_t from, size_t to, bool single, bool margin)
{
    const Lattice *l = s->l;
    if (l->unk_id != NO_TOKEN)
        reach(s, from, to, l->unk_score, l->unk_id, single, margin);
    else
        return s->node[to].from != NOT_REACHED &&
               !(l->unk_score + s->node[from].sum > s->node[to].sum);
    return true;
}

static Way walk_back(const Search *s, size_t len, Step *end, bool margin)
{
    const Node *node = s->node;
    Step *step = end;
    for (uint32_t to = (uint32_t)len; to; to = node[to].from)
        *--step = (Step){ node[to].id, node[to].from, to };
    Way way = { .step = step, .n = end - step, .sum = node[len].sum };
    way.low = s->low;
    way.high = s->high;
    if (margin) way.margin = 2 * way.sum - s->upper[len].best - s->upper[len].other;
    return way;
}

/* Compiled for each way of rounding, with and without margins. */
static inline __attribute__((always_inline)) Way search(Search *s, Str text, Step *steps,
                                                        bool single, bool margin)
{
    for (size_t at = 0; at < text.len;) {
        size_t char_len = utf8_char_bytes((uint8_t)text.ptr[at]);
        if (char_len > text.len - at) char_len = text.len - at;
        if (single && s->node[at].sum < LATTICE_FLOOR) count_anew(s, at, text.len);
        if (!follow(s, text, at, char_len, single, margin) &&
            !reach_unknown(s, at, at + char_len, single, margin))
            return (Way){ .n = -1 };
        at += char_len;
    }
    return walk_back(s, text.len, steps + text.len, margin);
}

static void start(Search *s, size_t n, double sum)
{
    for (size_t i = 0; i < n; i++) s->node[i] = (Node){ -INFINITY, NOT_REACHED, 0 };
    s->node[0] = (Node){ sum, 0, 0 };
    s->low = s->high = sum;
}

Way lattice_best(const Lattice *l, Buffer *scratch, Str text, double sum)
{
    size_t n = text.len + 1;
    Search s = { .l = l, .node = buffer_grow(scratch, n * (sizeof(Node) + sizeof(Step))) };
    Step *steps = (Step *)(s.node + n);
    start(&s, n, sum);
    return l->single ? search(&s, text, steps, true, false) : search(&s, text, steps, false, false);
}

Way lattice_margin(const Lattice *l, Buffer *scratch, Str text, double rounding)
{
    size_t n = text.len + 1, bytes = n * (sizeof(Node) + sizeof(Upper) + sizeof(Step));
    Search s = { .l = l, .node = buffer_grow(scratch, bytes), .rounding = rounding };
    s.upper = (Upper *)(s.node + n);
    start(&s, n, 0);
    for (size_t i = 0; i < n; i++) s.upper[i] = (Upper){ -INFINITY, -INFINITY };
    s.upper[0].best = 0;
    return search(&s, text, (Step *)(s.upper + n), false, true);
}
