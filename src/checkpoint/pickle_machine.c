/* pickle_machine.c - the bytes, stack, marks and memo of a pickle. */
#include "checkpoint/pickle_machine.h"
#include <string.h>

Error *pickle_bad(const PickleMachine *m, const char *what)
{
    return error_new("byte %zu: %s", m->at, what);
}

Error *pickle_take(PickleMachine *m, size_t n, const unsigned char **out)
{
    if (m->in.len - m->at < n) return pickle_bad(m, "the pickle ends in the middle of a value");
    *out = (const unsigned char *)m->in.ptr + m->at;
    m->at += n;
    return NULL;
}

Error *pickle_take_number(PickleMachine *m, size_t n, uint64_t *out)
{
    const unsigned char *p = NULL;
    TRY(pickle_take(m, n, &p));
    *out = 0;
    for (size_t i = 0; i < n; i++) *out |= (uint64_t)p[i] << 8 * i;
    return NULL;
}

Error *pickle_take_text(PickleMachine *m, size_t bytes_of_length, Str *out)
{
    uint64_t len = 0;
    const unsigned char *p = NULL;
    TRY(pickle_take_number(m, bytes_of_length, &len));
    if (len > m->in.len - m->at) return pickle_bad(m, "a text is longer than the pickle");
    TRY(pickle_take(m, (size_t)len, &p));
    *out = (Str){ (const char *)p, (size_t)len };
    return NULL;
}

Error *pickle_take_line(PickleMachine *m, Str *out)
{
    const char *from = m->in.ptr + m->at, *end = memchr(from, '\n', m->in.len - m->at);
    if (!end) return pickle_bad(m, "a name without an end");
    *out = (Str){ from, (size_t)(end - from) };
    m->at += out->len + 1;
    return NULL;
}

Pickle *pickle_push(PickleMachine *m, PickleKind kind)
{
    Pickle *p = NEW(m->arena, Pickle);
    p->kind = kind;
    m->stack = arena_grow(m->arena, m->stack, m->n, &m->cap, sizeof(Pickle *));
    m->stack[m->n++] = p;
    return p;
}

Error *pickle_pop(PickleMachine *m, Pickle **out)
{
    if (m->n <= m->floor) return pickle_bad(m, "the stack is empty");
    *out = m->stack[--m->n];
    return NULL;
}

Error *pickle_top(const PickleMachine *m, Pickle **out)
{
    if (m->n <= m->floor) return pickle_bad(m, "the stack is empty");
    *out = m->stack[m->n - 1];
    return NULL;
}

Error *pickle_pop_mark(PickleMachine *m, int64_t *from)
{
    if (!m->n_marks) return pickle_bad(m, "there is no mark");
    *from = m->floor;
    m->floor = m->mark[--m->n_marks];
    return NULL;
}

Error *pickle_memoize(PickleMachine *m, uint64_t at)
{
    Pickle *x = NULL;
    TRY(pickle_top(m, &x));
    if (at > m->in.len) return pickle_bad(m, "a place in the memo beyond the pickle's length");
    while ((uint64_t)m->n_memo <= at) {
        m->memo = arena_grow(m->arena, m->memo, m->n_memo, &m->memo_cap, sizeof(Pickle *));
        m->memo[m->n_memo++] = NULL;
    }
    m->memo[at] = x;
    return NULL;
}

Error *pickle_recall(PickleMachine *m, uint64_t at)
{
    if (at >= (uint64_t)m->n_memo || !m->memo[at])
        return pickle_bad(m, "an empty place in the memo");
    pickle_push(m, PICKLE_NONE);
    m->stack[m->n - 1] = m->memo[at];
    return NULL;
}

Error *pickle_push_mark(PickleMachine *m)
{
    m->mark = arena_grow(m->arena, m->mark, m->n_marks, &m->mark_cap, sizeof *m->mark);
    m->mark[m->n_marks++] = m->floor;
    m->floor = m->n;
    return NULL;
}
