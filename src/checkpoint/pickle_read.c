/* pickle_read.c - reads a pickle by a closed list of opcodes and names.
 *
 * https://docs.python.org/3/library/pickletools.html. The machine has a stack of values, marks on
 * it, and a memo of values that come again. */
#include "checkpoint/pickle.h"
#include <inttypes.h>
#include <string.h>

typedef struct Machine {
    Arena *arena;
    Str in;
    size_t at;
    const char *const *allowed;
    Pickle **stack;
    int64_t n, cap;
    int64_t floor; /* height of the stack at the last mark: below is an outer value's */
    int64_t *mark; /* the floors before */
    int64_t n_marks, mark_cap;
    Pickle **memo;
    int64_t n_memo, memo_cap;
    bool done;
} Machine;

static Error *bad(const Machine *m, const char *what)
{
    return error_new("byte %zu: %s", m->at, what);
}

static Error *take(Machine *m, size_t n, const unsigned char **out)
{
    if (m->in.len - m->at < n) return bad(m, "the pickle ends in the middle of a value");
    *out = (const unsigned char *)m->in.ptr + m->at;
    m->at += n;
    return NULL;
}

/* A little-endian number of up to 8 bytes. */
static Error *take_number(Machine *m, size_t n, uint64_t *out)
{
    const unsigned char *p = NULL;
    TRY(take(m, n, &p));
    *out = 0;
    for (size_t i = 0; i < n; i++) *out |= (uint64_t)p[i] << 8 * i;
    return NULL;
}

static Error *take_text(Machine *m, size_t bytes_of_length, Str *out)
{
    uint64_t len = 0;
    const unsigned char *p = NULL;
    TRY(take_number(m, bytes_of_length, &len));
    if (len > m->in.len - m->at) return bad(m, "a text is longer than the pickle");
    TRY(take(m, (size_t)len, &p));
    *out = (Str){ (const char *)p, (size_t)len };
    return NULL;
}

static Error *take_line(Machine *m, Str *out)
{
    const char *from = m->in.ptr + m->at, *end = memchr(from, '\n', m->in.len - m->at);
    if (!end) return bad(m, "a name without an end");
    *out = (Str){ from, (size_t)(end - from) };
    m->at += out->len + 1;
    return NULL;
}

/* ---- stack ---- */

static Pickle *push(Machine *m, PickleKind kind)
{
    Pickle *p = NEW(m->arena, Pickle);
    p->kind = kind;
    m->stack = arena_grow(m->arena, m->stack, m->n, &m->cap, sizeof(Pickle *));
    m->stack[m->n++] = p;
    return p;
}

static Error *pop(Machine *m, Pickle **out)
{
    if (m->n <= m->floor) return bad(m, "the stack is empty");
    *out = m->stack[--m->n];
    return NULL;
}

static Error *top(const Machine *m, Pickle **out)
{
    if (m->n <= m->floor) return bad(m, "the stack is empty");
    *out = m->stack[m->n - 1];
    return NULL;
}

/* Takes the last mark away: the items above it are stack[*from .. n). */
static Error *pop_mark(Machine *m, int64_t *from)
{
    if (!m->n_marks) return bad(m, "there is no mark");
    *from = m->floor;
    m->floor = m->mark[--m->n_marks];
    return NULL;
}

static void add_item(Machine *m, Pickle *to, Pickle *x)
{
    to->item = arena_grow(m->arena, to->item, to->n, &to->cap, sizeof(Pickle *));
    to->item[to->n++] = x;
}

static Error *put_tuple(Machine *m, int64_t n)
{
    if (m->n - m->floor < n) return bad(m, "the stack is empty");
    Pickle *t = NEW(m->arena, Pickle);
    t->kind = PICKLE_TUPLE;
    for (int64_t i = m->n - n; i < m->n; i++) add_item(m, t, m->stack[i]);
    m->n -= n;
    *push(m, PICKLE_TUPLE) = *t;
    return NULL;
}

static Error *put_marked_tuple(Machine *m)
{
    int64_t from = 0;
    TRY(pop_mark(m, &from));
    return put_tuple(m, m->n - from);
}

/* The items above stack[from] go into the container below them. */
static Error *add_items(Machine *m, int64_t from, PickleKind kind)
{
    if (from <= m->floor || m->stack[from - 1]->kind != kind)
        return bad(m,
                   kind == PICKLE_LIST ? "items for what is no list" : "items for what is no dict");
    if (kind == PICKLE_DICT && (m->n - from) % 2) return bad(m, "a key without a value");
    Pickle *to = m->stack[from - 1];
    for (int64_t i = from; i < m->n; i++) add_item(m, to, m->stack[i]);
    m->n = from;
    return NULL;
}

static Error *add_marked_items(Machine *m, PickleKind kind)
{
    int64_t from = 0;
    TRY(pop_mark(m, &from));
    return add_items(m, from, kind);
}

static Error *memoize(Machine *m, uint64_t at)
{
    Pickle *x = NULL;
    TRY(top(m, &x));
    if (at > m->in.len) return bad(m, "a place in the memo beyond the pickle's length");
    while ((uint64_t)m->n_memo <= at) {
        m->memo = arena_grow(m->arena, m->memo, m->n_memo, &m->memo_cap, sizeof(Pickle *));
        m->memo[m->n_memo++] = NULL;
    }
    m->memo[at] = x;
    return NULL;
}

static Error *recall(Machine *m, uint64_t at)
{
    if (at >= (uint64_t)m->n_memo || !m->memo[at]) return bad(m, "an empty place in the memo");
    push(m, PICKLE_NONE);
    m->stack[m->n - 1] = m->memo[at];
    return NULL;
}

/* ---- names and objects ---- */

static Error *put_global(Machine *m, Str module, Str name)
{
    const char *full =
        arena_printf(m->arena, "%.*s %.*s", (int)module.len, module.ptr, (int)name.len, name.ptr);
    for (int i = 0; m->allowed[i]; i++) {
        if (strcmp(m->allowed[i], full) != 0) continue;
        push(m, PICKLE_GLOBAL)->text = str_of(m->allowed[i]);
        return NULL;
    }
    return error_new("byte %zu: the pickle asks for %.*s.%.*s; only tensors and plain values are "
                     "read, and no code is ever run: refused",
                     m->at, (int)module.len, module.ptr, (int)name.len, name.ptr);
}

static Error *put_stack_global(Machine *m)
{
    Pickle *module = NULL, *name = NULL;
    TRY(pop(m, &name));
    TRY(pop(m, &module));
    if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return bad(m, "the name of an object is no text");
    return put_global(m, module->text, name->text);
}

static Error *put_object(Machine *m)
{
    Pickle *args = NULL, *of = NULL;
    TRY(pop(m, &args));
    TRY(pop(m, &of));
    if (of->kind != PICKLE_GLOBAL || args->kind != PICKLE_TUPLE)
        return bad(m, "what is called is no name, or its arguments are no tuple");
    if (str_is(of->text, "collections OrderedDict") && args->n == 0) {
        push(m, PICKLE_DICT);
        return NULL;
    }
    Pickle *x = push(m, PICKLE_OBJECT);
    x->of = of;
    x->args = args;
    return NULL;
}

static Error *build_object(Machine *m)
{
    Pickle *state = NULL, *x = NULL;
    TRY(pop(m, &state));
    TRY(top(m, &x));
    if (x->kind != PICKLE_OBJECT && x->kind != PICKLE_DICT)
        return bad(m, "a state for what is no object");
    x->state = state;
    return NULL;
}

static Error *put_storage(Machine *m)
{
    Pickle *id = NULL;
    TRY(pop(m, &id));
    push(m, PICKLE_STORAGE)->args = id;
    return NULL;
}

/* ---- numbers ---- */

static Error *put_int(Machine *m, size_t bytes, bool is_signed)
{
    uint64_t x = 0;
    TRY(take_number(m, bytes, &x));
    push(m, PICKLE_INT)->integer = is_signed ? (int64_t)(int32_t)(uint32_t)x : (int64_t)x;
    return NULL;
}

/* Two's complement, little-endian. */
static Error *put_long(Machine *m)
{
    uint64_t n = 0, x = 0;
    TRY(take_number(m, 1, &n));
    if (n > 8) return bad(m, "a number of more than 64 bits");
    TRY(take_number(m, (size_t)n, &x));
    if (n && n < 8 && x >> (8 * n - 1)) x |= UINT64_MAX << 8 * n;
    push(m, PICKLE_INT)->integer = (int64_t)x;
    return NULL;
}

static Error *put_float(Machine *m)
{
    const unsigned char *p = NULL;
    uint64_t bits = 0;
    TRY(take(m, 8, &p));
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    memcpy(&push(m, PICKLE_FLOAT)->number, &bits, sizeof bits);
    return NULL;
}

static Error *put_text(Machine *m, size_t bytes_of_length)
{
    Str s = { 0 };
    TRY(take_text(m, bytes_of_length, &s));
    push(m, PICKLE_TEXT)->text = s;
    return NULL;
}

static Error *put_bool(Machine *m, bool x)
{
    push(m, PICKLE_BOOL)->boolean = x;
    return NULL;
}

static Error *put_empty(Machine *m, PickleKind kind)
{
    push(m, kind);
    return NULL;
}

static Error *put_mark(Machine *m)
{
    m->mark = arena_grow(m->arena, m->mark, m->n_marks, &m->mark_cap, sizeof *m->mark);
    m->mark[m->n_marks++] = m->floor;
    m->floor = m->n;
    return NULL;
}

static Error *set_memo(Machine *m, size_t bytes)
{
    uint64_t at = 0;
    TRY(take_number(m, bytes, &at));
    return memoize(m, at);
}

static Error *get_memo(Machine *m, size_t bytes)
{
    uint64_t at = 0;
    TRY(take_number(m, bytes, &at));
    return recall(m, at);
}

static Error *read_protocol(Machine *m)
{
    uint64_t version = 0;
    TRY(take_number(m, 1, &version));
    return version <= 5 ? NULL : bad(m, "a later protocol than 5");
}

static Error *read_global(Machine *m)
{
    Str module = { 0 }, name = { 0 };
    TRY(take_line(m, &module));
    TRY(take_line(m, &name));
    return put_global(m, module, name);
}

static Error *skip(Machine *m, size_t n)
{
    const unsigned char *p = NULL;
    return take(m, n, &p);
}

static Error *stop(Machine *m)
{
    m->done = true;
    return NULL;
}

static Error *run_opcode(Machine *m, int op)
{
    switch (op) {
    case 0x80:
        return read_protocol(m);
    case 0x95:
        return skip(m, 8); /* FRAME: how the bytes are grouped */
    case '.':
        return stop(m);
    case '(':
        return put_mark(m);
    case 'N':
        return put_empty(m, PICKLE_NONE);
    case 0x88:
        return put_bool(m, true);
    case 0x89:
        return put_bool(m, false);
    case 'K':
        return put_int(m, 1, false);
    case 'M':
        return put_int(m, 2, false);
    case 'J':
        return put_int(m, 4, true);
    case 0x8a:
        return put_long(m);
    case 'G':
        return put_float(m);
    case 0x8c:
        return put_text(m, 1);
    case 'X':
        return put_text(m, 4);
    case 0x8d:
        return put_text(m, 8);
    case ')':
        return put_empty(m, PICKLE_TUPLE);
    case ']':
        return put_empty(m, PICKLE_LIST);
    case '}':
        return put_empty(m, PICKLE_DICT);
    case 0x85:
        return put_tuple(m, 1);
    case 0x86:
        return put_tuple(m, 2);
    case 0x87:
        return put_tuple(m, 3);
    case 't':
        return put_marked_tuple(m);
    case 'a':
        return add_items(m, m->n - 1, PICKLE_LIST);
    case 'e':
        return add_marked_items(m, PICKLE_LIST);
    case 's':
        return add_items(m, m->n - 2, PICKLE_DICT);
    case 'u':
        return add_marked_items(m, PICKLE_DICT);
    case 0x94:
        return memoize(m, (uint64_t)m->n_memo);
    case 'q':
        return set_memo(m, 1);
    case 'r':
        return set_memo(m, 4);
    case 'h':
        return get_memo(m, 1);
    case 'j':
        return get_memo(m, 4);
    case 'c':
        return read_global(m);
    case 0x93:
        return put_stack_global(m);
    case 'R':
    case 0x81:
        return put_object(m); /* REDUCE, NEWOBJ */
    case 'b':
        return build_object(m);
    case 'Q':
        return put_storage(m);
    default:
        return error_new("byte %zu: opcode 0x%02x, which plain values and tensors do not need: "
                         "refused",
                         m->at - 1, (unsigned)op);
    }
}

static Error *run(Machine *m, const Pickle **out)
{
    while (!m->done) {
        const unsigned char *op = NULL;
        TRY(take(m, 1, &op));
        TRY(run_opcode(m, *op));
    }
    Pickle *result = NULL;
    TRY(pop(m, &result));
    if (m->n || m->n_marks) return bad(m, "values are left over");
    *out = result;
    return NULL;
}

Error *pickle_read(Arena *a, const char *path, Str bytes, const char *const *allowed,
                   const Pickle **out)
{
    Machine m = { .arena = a, .in = bytes, .allowed = allowed };
    return error_wrap(run(&m, out), "%s", path);
}
