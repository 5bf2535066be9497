/* problem.c - the list of what is wrong in a configuration. */
#include "config/problem.h"
#include <string.h>

void problem_add(Problems *p, const Yaml *at, const char *path, const char *code, const char *fmt,
                 ...)
{
    va_list args;
    va_start(args, fmt);
    p->item = arena_grow(p->arena, p->item, p->n, &p->cap, sizeof *p->item);
    p->item[p->n++] = (Problem){ .code = code,
                                 .place = yaml_place(p->arena, at),
                                 .path = path ? path : yaml_path(p->arena, at),
                                 .text = arena_vprintf(p->arena, fmt, args) };
    va_end(args);
}

/* A value that several places take by ${...} is wrong once. */
static bool is_repeated(const Problems *p, int64_t i)
{
    const Problem *q = &p->item[i];
    for (int64_t j = 0; j < i && *q->place; j++)
        if (!strcmp(p->item[j].place, q->place) && !strcmp(p->item[j].text, q->text)) return true;
    return false;
}

Error *problems_error(const Problems *p)
{
    Error *e = NULL;
    for (int64_t i = 0; i < p->n; i++) {
        const Problem *q = &p->item[i];
        if (is_repeated(p, i)) continue;
        e = error_join(e, error_new("%s%s%s%s%s", q->place, *q->place ? ": " : "", q->path,
                                    *q->path ? ": " : "", q->text));
    }
    return e;
}
