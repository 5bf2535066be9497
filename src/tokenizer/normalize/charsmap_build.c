/* charsmap_build.c - a double array in the layout of the library Darts-clone (charsmap.c explains
 * it), small because equal subtrees are stored once.
 *
 * The rules form a trie whose states are numbered so that equal ones, with the same value and the
 * same children, are one: a minimal automaton. Each state then gets a base at which its value and
 * children fit into free units. Bases are all different, so a unit's label alone tells whose child
 * it is. */
#include "tokenizer/normalize/charsmap_build.h"
#include "base/map.h"
#include <string.h>

/* Free units farther back are not looked for any more. */
enum { N_BYTES = 256, NO_RULE = -1, MAX_UNITS = 1 << 21, LOOK_BACK = 8 * N_BYTES };
#define FREE_UNIT UINT32_MAX /* while it is laid out: no replacement has this place */

typedef struct Edge {
    int32_t byte, state;
} Edge;

/* A state's value and edges, as they are compared: the key of a map to its number. */
typedef struct State {
    int32_t value, n;
    Edge edge[];
} State;

typedef struct Building {
    Arena *arena;
    const CharRules *rules;
    Map *replacements; /* to their place + 1 */
    Text text;         /* of all replacements */
    Map *states;       /* to number + 1; the keys are States */
    uint32_t *unit, *base;
    bool *is_base;
    int64_t n_units, first_free;
} Building;

static int32_t place_of(Building *b, Str replacement)
{
    uintptr_t known = (uintptr_t)map_get(b->replacements, replacement);
    if (known) return (int32_t)(known - 1);
    size_t at = b->text.len;
    map_set(b->replacements, replacement, (void *)(at + 1));
    text_add(&b->text, replacement.ptr, replacement.len);
    text_putc(&b->text, 0);
    return (int32_t)at;
}

/* The number of the state below which rules [from, to) go on from their byte `depth`. */
static int32_t add_state(Building *b, int64_t from, int64_t to, size_t depth)
{
    char room[sizeof(State) + N_BYTES * sizeof(Edge)] __attribute__((aligned(8)));
    State *s = (State *)room;
    *s = (State){ .value = NO_RULE };
    const CharRule *rule = b->rules->item;
    if (rule[from].from.len == depth) s->value = place_of(b, rule[from++].to);
    while (from < to) {
        char byte = rule[from].from.ptr[depth];
        int64_t end = from + 1;
        while (end < to && rule[end].from.ptr[depth] == byte) end++;
        s->edge[s->n++] = (Edge){ (uint8_t)byte, add_state(b, from, end, depth + 1) };
        from = end;
    }
    Str key = { room, sizeof *s + (size_t)s->n * sizeof(Edge) };
    uintptr_t known = (uintptr_t)map_get(b->states, key);
    if (known) return (int32_t)(known - 1);
    map_set(b->states, key, (void *)(uintptr_t)(b->states->n + 1));
    return (int32_t)(b->states->n - 1);
}

static const State *state_at(const Building *b, int32_t i)
{
    return (const State *)b->states->entry[i].key.ptr;
}

static void add_block(Building *b)
{
    CHECK(b->n_units + N_BYTES <= MAX_UNITS); /* farther offsets would need multiples of 256 */
    for (int i = 0; i < N_BYTES; i++) b->unit[b->n_units++] = FREE_UNIT;
}

static bool fits(const Building *b, const State *s, uint32_t base)
{
    if (b->is_base[base] || (s->value != NO_RULE && b->unit[base] != FREE_UNIT)) return false;
    for (int i = 0; i < s->n; i++) {
        if (b->unit[base ^ (uint32_t)s->edge[i].byte] != FREE_UNIT) return false;
    }
    return true;
}

static uint32_t find_base(Building *b, const State *s)
{
    uint32_t first = s->value != NO_RULE ? 0 : (uint32_t)s->edge[0].byte;
    if (b->first_free < b->n_units - LOOK_BACK) b->first_free = b->n_units - LOOK_BACK;
    while (b->first_free < b->n_units && b->unit[b->first_free] != FREE_UNIT) b->first_free++;
    for (int64_t at = b->first_free;; at++) {
        if (at == b->n_units) add_block(b);
        if (b->unit[at] == FREE_UNIT && fits(b, s, (uint32_t)at ^ first))
            return (uint32_t)at ^ first;
    }
}

/* Lays out a state and all below it that have no place yet. */
static void place(Building *b, int32_t i)
{
    const State *s = state_at(b, i);
    uint32_t base = find_base(b, s);
    b->base[i] = base;
    b->is_base[base] = true;
    if (s->value != NO_RULE) b->unit[base] = 1u << 31 | (uint32_t)s->value;
    /* Taken before the children look for places; a value unit is none of a label either. */
    for (int k = 0; k < s->n; k++) b->unit[base ^ (uint32_t)s->edge[k].byte] = 0;
    for (int k = 0; k < s->n; k++) {
        uint32_t at = base ^ (uint32_t)s->edge[k].byte;
        int32_t child = s->edge[k].state;
        if (b->base[child] == UINT32_MAX) place(b, child);
        bool has_rule = state_at(b, child)->value != NO_RULE;
        b->unit[at] =
            (at ^ b->base[child]) << 10 | (uint32_t)has_rule << 8 | (uint32_t)s->edge[k].byte;
    }
}

static Str join(Building *b)
{
    /* A value unit matches no byte, and the library wants its value to be a place. */
    for (int64_t i = 0; i < b->n_units; i++) {
        if (b->unit[i] == FREE_UNIT) b->unit[i] = 1u << 31;
    }
    uint32_t trie_bytes = (uint32_t)(b->n_units * (int64_t)sizeof *b->unit);
    size_t len = sizeof trie_bytes + trie_bytes + b->text.len;
    char *to = arena_alloc(b->arena, len);
    memcpy(to, &trie_bytes, sizeof trie_bytes);
    memcpy(to + sizeof trie_bytes, b->unit, trie_bytes);
    memcpy(to + sizeof trie_bytes + trie_bytes, b->text.ptr, b->text.len);
    return (Str){ to, len };
}

Str charsmap_build(Arena *a, const CharRules *rules)
{
    if (!rules->n) return (Str){ "", 0 };
    Arena *work = arena_new();
    Building b = { .arena = a, .rules = rules };
    b.replacements = map_new(work);
    b.states = map_new(work);
    int32_t root = add_state(&b, 0, rules->n, 0);
    b.unit = NEW_N(work, uint32_t, MAX_UNITS);
    b.is_base = NEW_N(work, bool, MAX_UNITS);
    b.base = NEW_N(work, uint32_t, b.states->n);
    for (int64_t i = 0; i < b.states->n; i++) b.base[i] = UINT32_MAX;
    add_block(&b);
    b.unit[0] = 0; /* the root's own: no child of itself */
    b.is_base[0] = true;
    place(&b, root);
    b.unit[0] = b.base[root] << 10;
    Str bytes = join(&b);
    text_free(&b.text);
    arena_free(work);
    return bytes;
}
