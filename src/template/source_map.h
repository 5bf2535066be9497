/* source_map.h - a template's text as Jinja reads it, and where its bytes were written. */
#ifndef TEMPLATE_SOURCE_MAP_H
#define TEMPLATE_SOURCE_MAP_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>

/* From 1; columns count characters. */
typedef struct Place {
    int line, column;
} Place;

typedef struct SourceMap {
    Str text;       /* line ends are "\n"; the last one is gone */
    size_t *joined; /* where a newline was taken out */
    int64_t n_joined, next_joined;
    size_t offset; /* what was asked for last, and its place */
    Place place;
} SourceMap;

/* Reads valid UTF-8. With `joins_tags`, a newline between "}" and "{" goes. */
SourceMap source_map_new(Arena *a, Str source, bool joins_tags);
/* The place of a byte of the text; to be asked for in rising order. */
Place source_map_place(SourceMap *m, size_t offset);
#endif
