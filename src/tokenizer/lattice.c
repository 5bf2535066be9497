/* lattice.c - Viterbi's algorithm over the tokens of a text. */
#include "tokenizer/unigram.h"
#include <string.h>

/* The best way to a place in the text. */
typedef struct Node {
    double sum;
    uint32_t from, id;
} Node;

enum { NOT_REACHED = UINT32_MAX };

static size_t char_bytes(uint8_t first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* Strictly better, so of equal ways the one found first stays. */
static void reach(Node *to, double sum, bool single, uint32_t from, uint32_t id)
{
    if (to->from != NOT_REACHED && !(sum > to->sum)) return;
    *to = (Node){ single ? (double)(float)sum : sum, from, id };
}

/* Follows all tokens that start at `at`; true when one is the whole character there. */
static bool follow(const Lattice *l, Node *node, Str text, size_t at, size_t char_len)
{
    bool found_char = false;
    uint32_t state = 0;
    double sum = node[at].sum;
    for (size_t i = at; i < text.len; i++) {
        state = trie_step(&l->trie, state, (uint8_t)text.ptr[i]);
        if (state == NO_NODE) break;
        uint32_t id = trie_value(&l->trie, state);
        if (id == NO_VALUE) continue;
        size_t len = i + 1 - at;
        double score = l->score[id];
        if (l->bonus && l->bonus[id] > 0) score = (double)((float)len * (float)l->bonus[id]) - 0.1;
        reach(&node[i + 1], score + sum, l->single, (uint32_t)at, id);
        found_char |= len == char_len;
    }
    return found_char;
}

static int64_t walk_back(const Node *node, size_t len, Step *end, Step **first)
{
    Step *s = end;
    for (uint32_t to = (uint32_t)len; to;) {
        *--s = (Step){ node[to].id, node[to].from, to };
        to = node[to].from;
    }
    *first = s;
    return end - s;
}

int64_t lattice_best(const Lattice *l, Buffer *scratch, Str text, double start, Step **first,
                     double *end)
{
    Node *node = buffer_grow(scratch, (text.len + 1) * (sizeof(Node) + sizeof(Step)));
    memset(node, 0xFF, (text.len + 1) * sizeof *node);
    node[0].sum = start;
    for (size_t at = 0; at < text.len;) {
        size_t char_len = char_bytes((uint8_t)text.ptr[at]);
        if (char_len > text.len - at) char_len = text.len - at;
        if (!follow(l, node, text, at, char_len)) {
            double sum = node[at].sum + l->unk_score;
            if (l->single) sum = (float)sum;
            Node *to = &node[at + char_len];
            if (l->unk_id == NO_TOKEN && (to->from == NOT_REACHED || sum > to->sum)) return -1;
            reach(to, sum, l->single, (uint32_t)at, l->unk_id);
        }
        at += char_len;
    }
    *end = node[text.len].sum;
    Step *steps = (Step *)(node + text.len + 1);
    return walk_back(node, text.len, steps + text.len, first);
}
