/* starts.c - makes the compact form of a trie. */
#include "tokenizer/bpe/starts.h"

enum { NO_LABEL = 256 };

typedef struct Maker {
    const Trie *trie;
    const ApartToken *token;
    BpeStart *unit, none;
} Maker;

/* The unit of a node's child, made when it is seen for the first time. */
static void go_on(const Maker *m, uint32_t *node, uint8_t byte)
{
    BpeStart *from = &m->unit[*node];
    from->base = m->trie->unit[*node].base;
    *node = trie_step(m->trie, *node, byte);
    BpeStart *to = &m->unit[*node];
    if (to->id_label != m->none.id_label) return;
    uint32_t id = trie_value(m->trie, *node);
    *to = *from;
    to->base = m->none.base;
    if (id == NO_VALUE) {
        id = from->id_label >> STARTS_LABEL_BITS;
    } else {
        to->len = m->token[id].len;
        to->last_until = m->token[id].last_until;
    }
    to->id_label = id << STARTS_LABEL_BITS | byte;
}

static void make_tables(Arena *a, const Maker *m, BpeStarts *out)
{
    BpeStart *one = NEW_N(a, BpeStart, 256), *two = NEW_N(a, BpeStart, 1 << 16);
    for (int first = 0; first < 256; first++) {
        uint32_t node = trie_step(m->trie, 0, (uint8_t)first);
        one[first] = node == NO_NODE ? m->none : m->unit[node];
        for (int second = 0; second < 256; second++) {
            uint32_t next = node == NO_NODE ? node : trie_step(m->trie, node, (uint8_t)second);
            BpeStart *to = &two[first << 8 | second];
            *to = next == NO_NODE ? one[first] : m->unit[next];
            if (next == NO_NODE) to->base = m->none.base;
        }
    }
    *out = (BpeStarts){ one, two, m->unit };
}

void bpe_starts_new(Arena *a, const Trie *t, const Str *key, int64_t n, const ApartToken *token,
                    BpeStarts *out)
{
    uint32_t n_units = t->n_units + 512; /* no node is in the last 256: the children of none */
    Maker m = { t, token, NEW_N(a, BpeStart, n_units), { .base = n_units - 256 } };
    m.none.id_label = (uint32_t)STARTS_NO_ID << STARTS_LABEL_BITS | NO_LABEL;
    for (uint32_t i = 0; i < n_units; i++) m.unit[i] = m.none;
    for (int64_t i = 0; i < n; i++) {
        uint32_t node = 0;
        for (size_t at = 0; at < key[i].len; at++) go_on(&m, &node, (uint8_t)key[i].ptr[at]);
    }
    make_tables(a, &m, out);
}
