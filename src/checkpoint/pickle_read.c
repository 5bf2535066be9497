/* pickle_read.c - reads a pickle by a closed list of opcodes and names.
 *
 * https://docs.python.org/3/library/pickletools.html. */
#include "checkpoint/pickle_machine.h"
#include <string.h>

static void add_item(PickleMachine *m, Pickle *to, Pickle *x)
{
    to->item = arena_grow(m->arena, to->item, to->n, &to->cap, sizeof(Pickle *));
    to->item[to->n++] = x;
}

static Error *make_tuple(PickleMachine *m, int64_t n)
{
    if (m->n - m->floor < n) return pickle_bad(m, "the stack is empty");
    Pickle *t = NEW(m->arena, Pickle);
    t->kind = PICKLE_TUPLE;
    for (int64_t i = m->n - n; i < m->n; i++) add_item(m, t, m->stack[i]);
    m->n -= n;
    *pickle_push(m, PICKLE_TUPLE) = *t;
    return NULL;
}

static Error *put_tuple(PickleMachine *m, int n)
{
    return make_tuple(m, n);
}

static Error *put_marked_tuple(PickleMachine *m)
{
    int64_t from = 0;
    TRY(pickle_pop_mark(m, &from));
    return make_tuple(m, m->n - from);
}

/* The items above stack[from] go into the container below them. */
static Error *add_items(PickleMachine *m, int64_t from, PickleKind kind)
{
    if (from <= m->floor || m->stack[from - 1]->kind != kind)
        return pickle_bad(m, kind == PICKLE_LIST ? "items for what is no list"
                                                 : "items for what is no dict");
    if (kind == PICKLE_DICT && (m->n - from) % 2) return pickle_bad(m, "a key without a value");
    Pickle *to = m->stack[from - 1];
    for (int64_t i = from; i < m->n; i++) add_item(m, to, m->stack[i]);
    m->n = from;
    return NULL;
}

static Error *add_marked_items(PickleMachine *m, int kind)
{
    int64_t from = 0;
    TRY(pickle_pop_mark(m, &from));
    return add_items(m, from, (PickleKind)kind);
}

static Error *append_item(PickleMachine *m)
{
    return add_items(m, m->n - 1, PICKLE_LIST);
}

static Error *set_item(PickleMachine *m)
{
    return add_items(m, m->n - 2, PICKLE_DICT);
}

/* ---- names and objects ---- */

static Error *put_global(PickleMachine *m, Str module, Str name)
{
    const char *full =
        arena_printf(m->arena, "%.*s %.*s", (int)module.len, module.ptr, (int)name.len, name.ptr);
    for (int i = 0; m->allowed[i]; i++) {
        if (strcmp(m->allowed[i], full) != 0) continue;
        pickle_push(m, PICKLE_GLOBAL)->text = str_of(m->allowed[i]);
        return NULL;
    }
    return error_new("byte %zu: the pickle asks for %.*s.%.*s; only tensors and plain values are "
                     "read, and no code is ever run: refused",
                     m->at, (int)module.len, module.ptr, (int)name.len, name.ptr);
}

static Error *put_stack_global(PickleMachine *m)
{
    Pickle *module = NULL, *name = NULL;
    TRY(pickle_pop(m, &name));
    TRY(pickle_pop(m, &module));
    if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return pickle_bad(m, "the name of an object is no text");
    return put_global(m, module->text, name->text);
}

static Error *put_object(PickleMachine *m)
{
    Pickle *args = NULL, *of = NULL;
    TRY(pickle_pop(m, &args));
    TRY(pickle_pop(m, &of));
    if (of->kind != PICKLE_GLOBAL || args->kind != PICKLE_TUPLE)
        return pickle_bad(m, "what is called is no name, or its arguments are no tuple");
    if (str_is(of->text, "collections OrderedDict") && args->n == 0) {
        pickle_push(m, PICKLE_DICT);
        return NULL;
    }
    Pickle *x = pickle_push(m, PICKLE_OBJECT);
    x->of = of;
    x->args = args;
    return NULL;
}

static Error *build_object(PickleMachine *m)
{
    Pickle *state = NULL, *x = NULL;
    TRY(pickle_pop(m, &state));
    TRY(pickle_top(m, &x));
    if (x->kind != PICKLE_OBJECT && x->kind != PICKLE_DICT)
        return pickle_bad(m, "a state for what is no object");
    x->state = state;
    return NULL;
}

static Error *put_storage(PickleMachine *m)
{
    Pickle *id = NULL;
    TRY(pickle_pop(m, &id));
    pickle_push(m, PICKLE_STORAGE)->args = id;
    return NULL;
}

/* ---- numbers ---- */

static Error *put_unsigned(PickleMachine *m, int bytes)
{
    uint64_t x = 0;
    TRY(pickle_take_number(m, (size_t)bytes, &x));
    pickle_push(m, PICKLE_INT)->integer = (int64_t)x;
    return NULL;
}

static Error *put_int32(PickleMachine *m)
{
    uint64_t x = 0;
    TRY(pickle_take_number(m, 4, &x));
    pickle_push(m, PICKLE_INT)->integer = (int32_t)(uint32_t)x;
    return NULL;
}

/* Two's complement, little-endian. */
static Error *put_long(PickleMachine *m)
{
    uint64_t n = 0, x = 0;
    TRY(pickle_take_number(m, 1, &n));
    if (n > 8) return pickle_bad(m, "a number of more than 64 bits");
    TRY(pickle_take_number(m, (size_t)n, &x));
    if (n && n < 8 && x >> (8 * n - 1)) x |= UINT64_MAX << 8 * n;
    pickle_push(m, PICKLE_INT)->integer = (int64_t)x;
    return NULL;
}

static Error *put_float(PickleMachine *m)
{
    const unsigned char *p = NULL;
    uint64_t bits = 0;
    TRY(pickle_take(m, 8, &p));
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    memcpy(&pickle_push(m, PICKLE_FLOAT)->number, &bits, sizeof bits);
    return NULL;
}

static Error *put_text(PickleMachine *m, int bytes_of_length)
{
    Str s = { 0 };
    TRY(pickle_take_text(m, (size_t)bytes_of_length, &s));
    pickle_push(m, PICKLE_TEXT)->text = s;
    return NULL;
}

static Error *put_bool(PickleMachine *m, int x)
{
    pickle_push(m, PICKLE_BOOL)->boolean = x != 0;
    return NULL;
}

static Error *put_empty(PickleMachine *m, int kind)
{
    pickle_push(m, (PickleKind)kind);
    return NULL;
}

static Error *set_memo(PickleMachine *m, int bytes)
{
    uint64_t at = 0;
    TRY(pickle_take_number(m, (size_t)bytes, &at));
    return pickle_memoize(m, at);
}

static Error *get_memo(PickleMachine *m, int bytes)
{
    uint64_t at = 0;
    TRY(pickle_take_number(m, (size_t)bytes, &at));
    return pickle_recall(m, at);
}

static Error *read_protocol(PickleMachine *m)
{
    uint64_t version = 0;
    TRY(pickle_take_number(m, 1, &version));
    return version <= 5 ? NULL : pickle_bad(m, "a later protocol than 5");
}

static Error *read_global(PickleMachine *m)
{
    Str module = { 0 }, name = { 0 };
    TRY(pickle_take_line(m, &module));
    TRY(pickle_take_line(m, &name));
    return put_global(m, module, name);
}

static Error *skip(PickleMachine *m, int n)
{
    const unsigned char *p = NULL;
    return pickle_take(m, (size_t)n, &p);
}

static Error *stop(PickleMachine *m)
{
    m->done = true;
    return NULL;
}

static Error *memoize_next(PickleMachine *m)
{
    return pickle_memoize(m, (uint64_t)m->n_memo);
}

/* What an opcode does: one function, with or without a number. */
typedef struct Opcode {
    Error *(*run)(PickleMachine *m);
    Error *(*run_with)(PickleMachine *m, int number);
    int number;
} Opcode;

/* clang-format off */
static const Opcode opcodes[256] = {
    [0x80] = { .run = read_protocol },
    [0x95] = { .run_with = skip, .number = 8 }, /* FRAME: how the bytes are grouped */
    ['.']  = { .run = stop },
    ['(']  = { .run = pickle_push_mark },
    ['N']  = { .run_with = put_empty, .number = PICKLE_NONE },
    [0x88] = { .run_with = put_bool, .number = true },
    [0x89] = { .run_with = put_bool, .number = false },
    ['K']  = { .run_with = put_unsigned, .number = 1 },
    ['M']  = { .run_with = put_unsigned, .number = 2 },
    ['J']  = { .run = put_int32 },
    [0x8a] = { .run = put_long },
    ['G']  = { .run = put_float },
    [0x8c] = { .run_with = put_text, .number = 1 },
    ['X']  = { .run_with = put_text, .number = 4 },
    [0x8d] = { .run_with = put_text, .number = 8 },
    [')']  = { .run_with = put_empty, .number = PICKLE_TUPLE },
    [']']  = { .run_with = put_empty, .number = PICKLE_LIST },
    ['}']  = { .run_with = put_empty, .number = PICKLE_DICT },
    [0x85] = { .run_with = put_tuple, .number = 1 },
    [0x86] = { .run_with = put_tuple, .number = 2 },
    [0x87] = { .run_with = put_tuple, .number = 3 },
    ['t']  = { .run = put_marked_tuple },
    ['a']  = { .run = append_item },
    ['e']  = { .run_with = add_marked_items, .number = PICKLE_LIST },
    ['s']  = { .run = set_item },
    ['u']  = { .run_with = add_marked_items, .number = PICKLE_DICT },
    [0x94] = { .run = memoize_next },
    ['q']  = { .run_with = set_memo, .number = 1 },
    ['r']  = { .run_with = set_memo, .number = 4 },
    ['h']  = { .run_with = get_memo, .number = 1 },
    ['j']  = { .run_with = get_memo, .number = 4 },
    ['c']  = { .run = read_global },
    [0x93] = { .run = put_stack_global },
    ['R']  = { .run = put_object }, /* REDUCE */
    [0x81] = { .run = put_object }, /* NEWOBJ */
    ['b']  = { .run = build_object },
    ['Q']  = { .run = put_storage },
};
/* clang-format on */

static Error *run_opcode(PickleMachine *m, unsigned char code)
{
    const Opcode *op = &opcodes[code];
    if (op->run) return op->run(m);
    if (op->run_with) return op->run_with(m, op->number);
    return error_new("byte %zu: opcode 0x%02x, which plain values and tensors do not need: refused",
                     m->at - 1, (unsigned)code);
}

static Error *run(PickleMachine *m, const Pickle **out)
{
    while (!m->done) {
        const unsigned char *op = NULL;
        TRY(pickle_take(m, 1, &op));
        TRY(run_opcode(m, *op));
    }
    Pickle *result = NULL;
    TRY(pickle_pop(m, &result));
    if (m->n || m->n_marks) return pickle_bad(m, "values are left over");
    *out = result;
    return NULL;
}

Error *pickle_read(Arena *a, const char *path, Str bytes, const char *const *allowed,
                   const Pickle **out)
{
    PickleMachine m = { .arena = a, .in = bytes, .allowed = allowed };
    return error_wrap(run(&m, out), "%s", path);
}
