/* map.c - open addressing over an insertion-ordered array. */
#include "base/map.h"
#include "base/error.h"

uint64_t hash_bytes(const void *bytes, size_t len)
{
    uint64_t h = 0xCBF29CE484222325u;
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++) h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

Map *map_new(Arena *a)
{
    Map *m = NEW(a, Map);
    m->arena = a;
    return m;
}

/* The slot of the key, or the free slot where it would go. */
static int64_t find(const Map *m, Str key)
{
    int64_t at = (int64_t)(hash_bytes(key.ptr, key.len) & (uint64_t)(m->n_slots - 1));
    while (m->slot[at] && !str_equal(m->entry[m->slot[at] - 1].key, key))
        at = (at + 1) & (m->n_slots - 1);
    return at;
}

static void rehash(Map *m, int64_t n_slots)
{
    m->slot = NEW_N(m->arena, int64_t, n_slots);
    m->n_slots = n_slots;
    for (int64_t i = 0; i < m->n; i++) m->slot[find(m, m->entry[i].key)] = i + 1;
}

void map_set(Map *m, Str key, void *value)
{
    if (2 * (m->n + 1) > m->n_slots) rehash(m, m->n_slots ? 2 * m->n_slots : 32);
    int64_t at = find(m, key);
    if (m->slot[at]) {
        m->entry[m->slot[at] - 1].value = value;
        return;
    }
    m->entry = arena_grow(m->arena, m->entry, m->n, &m->cap, sizeof *m->entry);
    Str own = { arena_string_n(m->arena, key.ptr, key.len), key.len };
    m->entry[m->n++] = (MapEntry){ own, value };
    m->slot[at] = m->n;
}

static const MapEntry *lookup(const Map *m, Str key)
{
    if (!m->n_slots) return NULL;
    int64_t index = m->slot[find(m, key)];
    return index ? &m->entry[index - 1] : NULL;
}

void *map_get(const Map *m, Str key)
{
    const MapEntry *e = lookup(m, key);
    return e ? e->value : NULL;
}

bool map_has(const Map *m, Str key)
{
    return lookup(m, key) != NULL;
}
