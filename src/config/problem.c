/* problem.c - the list of what is wrong in a configuration. */
#include "config/problem.h"
#include <string.h>

enum {
    MOST = 500,       /* nobody reads more */
    MAX_HINTED = 1000 /* keys of a mapping that are compared with a misspelled one */
};

Problem *problem_add(Problems *p, const Yaml *at, const char *path, const char *code,
                     const char *fmt, ...)
{
    va_list args;
    if (p->n == MOST) {
        p->n_more++;
        return &p->unlisted;
    }
    va_start(args, fmt);
    p->item = arena_grow(p->arena, p->item, p->n, &p->cap, sizeof *p->item);
    p->item[p->n++] = (Problem){ .code = code,
                                 .place = yaml_place(p->arena, at),
                                 .path = path ? path : yaml_path(p->arena, at),
                                 .text = arena_vprintf(p->arena, fmt, args) };
    va_end(args);
    return &p->item[p->n - 1];
}

Problem *problem_about(const Problems *p, const char *subject)
{
    for (int64_t i = 0; i < p->n; i++)
        if (p->item[i].subject && !strcmp(p->item[i].subject, subject)) return &p->item[i];
    return NULL;
}

const char *problem_hint(Arena *a, const Yaml *map, const char *key)
{
    if (map->type != YAML_MAP || map->n > MAX_HINTED) return "";
    const char **names = NEW_N(a, const char *, map->n + 1);
    for (int64_t i = 0; i < map->n; i++) names[i] = map->key[i]->text;
    const char *near = nearest_name(key, names);
    const Yaml *value = near ? yaml_get(map, near) : NULL;
    if (!value) return "";
    int line = map->key[value->index]->line;
    return line ? arena_printf(a, "; did you mean \"%s\" (line %d)?", near, line)
                : arena_printf(a, "; did you mean \"%s\"?", near);
}

const char *problem_typo_hint(Arena *a, const Yaml *map, const char *key)
{
    if (map->type != YAML_MAP || map->n > MAX_HINTED || yaml_get(map, key)) return "";
    for (int64_t i = 0; i < map->n; i++) {
        const char *there = map->key[i]->text;
        if (!nearest_name(there, (const char *const[]){ key, NULL })) continue;
        int line = map->key[i]->line;
        return line ? arena_printf(a, "; is it meant by \"%s\" (line %d)?", there, line)
                    : arena_printf(a, "; is it meant by \"%s\"?", there);
    }
    return "";
}

static bool is_same(const Problem *p, const Problem *q)
{
    return !strcmp(p->place, q->place) && !strcmp(p->path, q->path) && !strcmp(p->text, q->text);
}

void problems_append(Problems *p, const Problems *more)
{
    p->n_more += more->n_more;
    for (int64_t i = 0; i < more->n; i++) {
        int64_t k = 0;
        while (k < p->n && !is_same(&p->item[k], &more->item[i])) k++;
        if (k < p->n) continue;
        p->item = arena_grow(p->arena, p->item, p->n, &p->cap, sizeof *p->item);
        p->item[p->n++] = more->item[i];
    }
}

/* Which of the problems with one subject tells most: the misspelt key itself, the table that misses
 * it, then who refers to it. */
static int rank(const Problem *p)
{
    static const char *const code[] = { "unknown_key", "missing", "missing_reference" };
    int i = 0;
    while (i < 3 && strcmp(p->code, code[i])) i++;
    return i;
}

static bool is_told_by_another(const Problems *p, const Problem *q)
{
    if (!q->subject) return false;
    for (int64_t i = 0; i < p->n; i++) {
        const Problem *other = &p->item[i];
        bool is_same = other->subject && !strcmp(other->subject, q->subject);
        if (is_same && rank(other) < rank(q)) return true;
    }
    return false;
}

/* A value that several places take by ${...} is wrong once; so is a file that several components
 * cannot open. */
static bool repeats(const Problem *q, const Problem *first)
{
    if (q->subject && first->subject && !strcmp(q->subject, first->subject) &&
        rank(q) == rank(first))
        return true;
    if (strcmp(first->text, q->text)) return false;
    return (*q->place && !strcmp(first->place, q->place)) ||
           (!strcmp(q->code, "build_error") && !strcmp(first->code, q->code));
}

static bool is_repeated(const Problems *p, int64_t i)
{
    for (int64_t j = 0; j < i; j++)
        if (repeats(&p->item[i], &p->item[j])) return true;
    return false;
}

/* ", also at ..." for those after the first that have a place of their own. */
static const char *other_places(const Problems *p, int64_t i)
{
    const char *text = "", *last = p->item[i].place;
    for (int64_t j = i + 1; j < p->n; j++) {
        const Problem *q = &p->item[j];
        if (!repeats(q, &p->item[i]) || !strcmp(q->place, last)) continue;
        text = arena_printf(p->arena, "%s%s%s: %s", text, *text ? ", " : " (also at ", q->place,
                            q->path);
        last = q->place;
    }
    return *text ? arena_printf(p->arena, "%s)", text) : "";
}

/* A value of the command line that is not allowed; not a file that it names and that cannot be
 * used.
 */
static bool is_usage(const Problem *p)
{
    return !strncmp(p->place, "--set ", 6) && strcmp(p->code, "build_error") &&
           strcmp(p->code, "path_not_file") && strcmp(p->code, "path_not_exists");
}

Error *problems_error(const Problems *p)
{
    Error *e = NULL;
    bool has_usage = false;
    for (int64_t i = 0; i < p->n; i++) {
        const Problem *q = &p->item[i];
        if (is_repeated(p, i) || is_told_by_another(p, q)) continue;
        has_usage |= is_usage(q);
        e = error_join(e, error_new("%s%s%s%s%s%s", q->place, *q->place ? ": " : "", q->path,
                                    *q->path ? ": " : "", q->text, other_places(p, i)));
    }
    if (p->n_more) e = error_join(e, error_new("and %lld more", (long long)p->n_more));
    return has_usage ? error_as_usage(e) : e;
}
