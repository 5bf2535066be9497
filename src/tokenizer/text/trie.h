/* trie.h - texts by their bytes, in a double array (Aoe 1989): the child of a node for a byte lies
 * at base + byte, if that place names the node as its parent. No two nodes with children have the
 * same base. */
#ifndef TOKENIZER_TEXT_TRIE_H
#define TOKENIZER_TEXT_TRIE_H
#include "base/arena.h"
#include "base/str.h"
#include <stdint.h>

#define NO_VALUE UINT32_MAX
#define NO_NODE UINT32_MAX

typedef struct TrieUnit {
    uint32_t base, parent, value;
    uint32_t children; /* bit byte % 32 is set when there may be a child for the byte */
} TrieUnit;

typedef struct Trie {
    const TrieUnit *unit; /* the root is 0; every base has 256 units after it */
    size_t longest;       /* bytes of the longest key */
    uint32_t n_units;
} Trie;

/* The keys may not be empty; of equal ones the later value counts. */
Trie trie_new(Arena *a, const Str *key, const uint32_t *value, int64_t n);

/* The node that follows for a byte, or NO_NODE: then mostly no other node is read. */
static inline uint32_t trie_step(const Trie *t, uint32_t node, uint8_t byte)
{
    const TrieUnit *unit = &t->unit[node];
    uint32_t at = unit->base + byte;
    return unit->children >> byte % 32 & 1 && t->unit[at].parent == node ? at : NO_NODE;
}

/* The value of the key that ends at a node, or NO_VALUE. */
static inline uint32_t trie_value(const Trie *t, uint32_t node)
{
    return t->unit[node].value;
}

/* The longest key at the start of the text: its bytes, 0 for none. */
size_t trie_longest(const Trie *t, Str text, uint32_t *value);
#endif
