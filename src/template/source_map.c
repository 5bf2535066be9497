/* source_map.c - line ends made one kind, and lines and columns of what is left. */
#include "template/source_map.h"

SourceMap source_map_new(Arena *a, Str source, bool joins_tags)
{
    SourceMap m = { .place = { 1, 1 } };
    char *to = arena_alloc(a, source.len + 1);
    size_t n = 0;
    int64_t cap = 0;
    for (size_t i = 0; i < source.len; i++) {
        char c = source.ptr[i];
        if (c == '\r') {
            if (i + 1 < source.len && source.ptr[i + 1] == '\n') i++;
            c = '\n';
        }
        if (joins_tags && c == '{' && n >= 2 && to[n - 1] == '\n' && to[n - 2] == '}') {
            m.joined = arena_grow(a, m.joined, m.n_joined, &cap, sizeof *m.joined);
            m.joined[m.n_joined++] = --n;
        }
        to[n++] = c;
    }
    if (n && to[n - 1] == '\n') n--;
    m.text = (Str){ to, n };
    return m;
}

static Place next_line(Place p)
{
    return (Place){ p.line + 1, 1 };
}

static bool is_joined(const SourceMap *m, size_t offset)
{
    return m->next_joined < m->n_joined && m->joined[m->next_joined] == offset;
}

Place source_map_place(SourceMap *m, size_t offset)
{
    for (; m->offset < offset; m->offset++) {
        if (is_joined(m, m->offset)) {
            m->next_joined++;
            m->place = next_line(m->place);
        }
        char c = m->text.ptr[m->offset];
        if (c == '\n')
            m->place = next_line(m->place);
        else if (((unsigned char)c & 0xC0) != 0x80)
            m->place.column++;
    }
    return is_joined(m, offset) ? next_line(m->place) : m->place;
}
