/* map.h - a hash map from text to pointer that remembers the order of insertion. */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include "base/arena.h"
#include "base/str.h"
#include <stdint.h>

typedef struct MapEntry {
    Str key; /* owned by the map's arena */
    void *value;
} MapEntry;

/* Entries lie in `entry[0..n)` in the order of insertion; read them, change them by map_set only.
 */
typedef struct Map {
    Arena *arena;
    MapEntry *entry;
    int64_t n, cap;
    int64_t *slot, n_slots;
} Map;

/* An empty map whose memory comes from `a`. */
Map *map_new(Arena *a);
/* Inserts or replaces; the key is copied. */
void map_set(Map *m, Str key, void *value);
/* The value, or NULL. */
void *map_get(const Map *m, Str key);
bool map_has(const Map *m, Str key);
/* 64-bit FNV-1a, also used for names elsewhere. */
uint64_t hash_bytes(const void *bytes, size_t len);
#endif
