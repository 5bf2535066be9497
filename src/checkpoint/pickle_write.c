/* pickle_write.c - writes pickles as torch and its unpicklers expect them. */
#include "base/map.h"
#include "checkpoint/pickle.h"
#include <string.h>

struct PickleWriter {
    Arena *arena;
    int protocol;
    Text out;
    Map *memo; /* texts and names that were written: their place + 1 */
};

static void release(void *w)
{
    text_free(&((PickleWriter *)w)->out);
}

static void put_bytes(PickleWriter *w, uint64_t x, int n)
{
    for (int i = 0; i < n; i++) text_putc(&w->out, (char)(x >> 8 * i));
}

PickleWriter *pickle_writer(Arena *a, int protocol)
{
    PickleWriter *w = NEW(a, PickleWriter);
    *w = (PickleWriter){ .arena = a, .protocol = protocol, .memo = map_new(a) };
    arena_on_free(a, release, w);
    text_putc(&w->out, (char)0x80);
    text_putc(&w->out, (char)protocol);
    return w;
}

Str pickle_end(PickleWriter *w)
{
    text_putc(&w->out, '.');
    return (Str){ w->out.ptr, w->out.len };
}

/* Writes a reference when `key` was written before. */
static bool recall(PickleWriter *w, Str key)
{
    int64_t at = (intptr_t)map_get(w->memo, key) - 1;
    if (at < 0) return false;
    text_putc(&w->out, at < 256 ? 'h' : 'j');
    put_bytes(w, (uint64_t)at, at < 256 ? 1 : 4);
    return true;
}

static void remember(PickleWriter *w, Str key)
{
    int64_t at = w->memo->n;
    map_set(w->memo, key, (void *)(intptr_t)(at + 1));
    if (w->protocol >= 4) {
        text_putc(&w->out, (char)0x94);
        return;
    }
    text_putc(&w->out, at < 256 ? 'q' : 'r');
    put_bytes(w, (uint64_t)at, at < 256 ? 1 : 4);
}

void pickle_put_none(PickleWriter *w)
{
    text_putc(&w->out, 'N');
}

void pickle_put_bool(PickleWriter *w, bool x)
{
    text_putc(&w->out, (char)(x ? 0x88 : 0x89));
}

void pickle_put_int(PickleWriter *w, int64_t x)
{
    bool is_short = x >= INT32_MIN && x <= INT32_MAX;
    int bytes = x >= 0 && x < 256 ? 1 : x >= 0 && x < 65536 ? 2 : is_short ? 4 : 8;
    text_puts(&w->out, bytes == 1 ? "K" : bytes == 2 ? "M" : bytes == 4 ? "J" : "\x8a\x08");
    put_bytes(w, (uint64_t)x, bytes);
}

void pickle_put_float(PickleWriter *w, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    text_putc(&w->out, 'G');
    for (int i = 7; i >= 0; i--) text_putc(&w->out, (char)(bits >> 8 * i));
}

void pickle_put_text(PickleWriter *w, Str s)
{
    if (recall(w, s)) return;
    bool is_short = w->protocol >= 4 && s.len < 256;
    text_putc(&w->out, is_short ? (char)0x8c : 'X');
    put_bytes(w, s.len, is_short ? 1 : 4);
    text_add(&w->out, s.ptr, s.len);
    remember(w, s);
}

/* In the memo under a key that no text has. */
void pickle_put_global(PickleWriter *w, const char *name)
{
    Str key = str_of(arena_printf(w->arena, "\xff%s", name));
    if (recall(w, key)) return;
    const char *space = strchr(name, ' ');
    if (w->protocol >= 4) {
        pickle_put_text(w, (Str){ name, (size_t)(space - name) });
        pickle_put_text(w, str_of(space + 1));
        text_putc(&w->out, (char)0x93);
    } else {
        text_printf(&w->out, "c%.*s\n%s\n", (int)(space - name), name, space + 1);
    }
    remember(w, key);
}

void pickle_begin(PickleWriter *w, PickleKind kind)
{
    if (kind == PICKLE_LIST) text_putc(&w->out, ']');
    if (kind == PICKLE_DICT) text_putc(&w->out, '}');
    pickle_mark(w);
}

void pickle_mark(PickleWriter *w)
{
    text_putc(&w->out, '(');
}

void pickle_finish(PickleWriter *w, PickleKind kind)
{
    text_putc(&w->out, kind == PICKLE_LIST ? 'e' : kind == PICKLE_DICT ? 'u' : 't');
}

void pickle_call(PickleWriter *w)
{
    text_putc(&w->out, 'R');
}

void pickle_new(PickleWriter *w)
{
    text_putc(&w->out, (char)0x81);
}

void pickle_build(PickleWriter *w)
{
    text_putc(&w->out, 'b');
}

void pickle_persist(PickleWriter *w)
{
    text_putc(&w->out, 'Q');
}

void pickle_put(PickleWriter *w, const Pickle *p)
{
    switch (p->kind) {
    case PICKLE_NONE:
        pickle_put_none(w);
        return;
    case PICKLE_BOOL:
        pickle_put_bool(w, p->boolean);
        return;
    case PICKLE_INT:
        pickle_put_int(w, p->integer);
        return;
    case PICKLE_FLOAT:
        pickle_put_float(w, p->number);
        return;
    case PICKLE_TEXT:
        pickle_put_text(w, p->text);
        return;
    case PICKLE_TUPLE:
    case PICKLE_LIST:
    case PICKLE_DICT:
        pickle_begin(w, p->kind);
        for (int64_t i = 0; i < p->n; i++) pickle_put(w, p->item[i]);
        pickle_finish(w, p->kind);
        return;
    case PICKLE_GLOBAL:
    case PICKLE_OBJECT:
    case PICKLE_STORAGE:
        CHECK(!"a plain value");
    }
}
