/* lattice.c - Viterbi's algorithm over the tokens of a text. */
#include "base/utf8.h"
#include "tokenizer/unigram.h"
#include <math.h>

/* The two best ways to a place in the text; `from` and `id` are the last step of the best. */
typedef struct Node {
    double sum, second;
    uint32_t from, id;
} Node;

enum { NOT_REACHED = UINT32_MAX };

/* Strictly better, so of equal ways the one found first stays. */
static void reach(const Lattice *l, Node *node, size_t from, size_t to, double score, uint32_t id)
{
    Node *at = &node[to];
    double sum = score + node[from].sum, second = score + node[from].second;
    if (l->single) sum = (float)sum;
    if (at->from == NOT_REACHED || sum > at->sum) {
        if (at->from != NOT_REACHED) second = fmax(second, at->sum);
        *at = (Node){ sum, fmax(at->second, second), (uint32_t)from, id };
    } else {
        at->second = fmax(at->second, sum);
    }
}

/* Counts anew from here: subtracts this sum from all that tokens have reached. */
static void count_anew(const Lattice *l, Node *node, size_t at, size_t len)
{
    double base = node[at].sum;
    size_t reached = l->trie.longest < 4 ? 4 : l->trie.longest;
    for (size_t i = at; i <= len && i <= at + reached; i++) {
        if (node[i].from == NOT_REACHED) continue;
        node[i].sum = (float)(node[i].sum - base);
        node[i].second -= base;
    }
}

/* Follows all tokens that start at `at`; true when one is the whole character there. */
static bool follow(const Lattice *l, Node *node, Str text, size_t at, size_t char_len)
{
    bool found_char = false;
    uint32_t state = 0;
    for (size_t i = at; i < text.len; i++) {
        state = trie_step(&l->trie, state, (uint8_t)text.ptr[i]);
        if (state == NO_NODE) break;
        uint32_t id = trie_value(&l->trie, state);
        if (id == NO_VALUE) continue;
        reach(l, node, at, i + 1, l->score[id], id);
        found_char |= i + 1 - at == char_len;
    }
    return found_char;
}

/* Goes on by a character that is no token; false when nothing stands for it. */
static bool reach_unknown(const Lattice *l, Node *node, size_t from, size_t to)
{
    if (l->unk_id != NO_TOKEN)
        reach(l, node, from, to, l->unk_score, l->unk_id);
    else
        return node[to].from != NOT_REACHED && !(l->unk_score + node[from].sum > node[to].sum);
    return true;
}

static Way walk_back(const Node *node, size_t len, Step *end)
{
    Step *s = end;
    for (uint32_t to = (uint32_t)len; to; to = node[to].from)
        *--s = (Step){ node[to].id, node[to].from, to };
    return (Way){ s, end - s, node[len].sum, node[len].sum - node[len].second };
}

Way lattice_best(const Lattice *l, Buffer *scratch, Str text, double start)
{
    Node *node = buffer_grow(scratch, (text.len + 1) * (sizeof(Node) + sizeof(Step)));
    node[0] = (Node){ start, -INFINITY, 0, 0 };
    for (size_t i = 1; i <= text.len; i++) node[i] = (Node){ 0, -INFINITY, NOT_REACHED, 0 };
    for (size_t at = 0; at < text.len;) {
        size_t char_len = utf8_char_bytes((uint8_t)text.ptr[at]);
        if (char_len > text.len - at) char_len = text.len - at;
        if (l->single && node[at].sum < LATTICE_FLOOR) count_anew(l, node, at, text.len);
        if (!follow(l, node, text, at, char_len) && !reach_unknown(l, node, at, at + char_len))
            return (Way){ .n = -1 };
        at += char_len;
    }
    return walk_back(node, text.len, (Step *)(node + text.len + 1) + text.len);
}
