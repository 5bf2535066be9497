/* golden.c - golden cases, and the lines of tests/golden_later.txt that hold some back. */
#include "golden.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GoldenLister *listers;

void golden_register(GoldenLister *l)
{
    l->next = listers;
    listers = l;
}

void golden_add(GoldenCases *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    c->name = arena_grow(c->arena, c->name, c->n, &c->cap, sizeof *c->name);
    c->name[c->n++] = arena_vprintf(c->arena, fmt, args);
    va_end(args);
}

void golden_add_files(GoldenCases *c, const char *prefix, const char *folder, const char *pattern,
                      const char *without_suffix)
{
    const char *path = shared_path(c->arena, arena_printf(c->arena, "data/goldens/%s", folder));
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort);
    if (n < 0) fail_msg("cannot list %s", path);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        if (*name != '.' && text_matches(pattern, name)) {
            size_t cut = without_suffix ? strlen(without_suffix) : 0;
            golden_add(c, "%s%.*s", prefix, (int)(strlen(name) - cut), name);
        }
        free(entry[i]);
    }
    free(entry);
}

/* The next line's pattern and feature; false at the end. */
static bool next_line(Arena *a, const char **at, const char **pattern, const char **feature)
{
    while (**at) {
        const char *line = *at, *end = line + strcspn(line, "\n");
        *at = *end ? end + 1 : end;
        if (*line == '#' || line == end) continue;
        const char *gap = strstr(line, "  ");
        if (!gap || gap > end)
            fail_msg("tests/golden_later.txt: no two blanks in: %.*s", (int)(end - line), line);
        const char *reason = gap + strspn(gap, " ");
        *pattern = arena_string_n(a, line, (size_t)(gap - line));
        *feature = arena_string_n(a, reason, (size_t)(end - reason));
        return true;
    }
    return false;
}

static const char *list_text(Arena *a)
{
    Str text = { "", 0 };
    if (file_exists("tests/golden_later.txt"))
        assert_no_error(file_read(a, "tests/golden_later.txt", &text));
    return text.ptr;
}

const char *golden_later(Arena *a, const char *name)
{
    const char *at = list_text(a), *pattern, *feature;
    while (next_line(a, &at, &pattern, &feature)) {
        if (text_matches(pattern, name)) return feature;
    }
    return NULL;
}

const char *golden_without_case(Arena *a)
{
    GoldenCases all = { .arena = a };
    for (GoldenLister *l = listers; l; l = l->next) l->list(&all);
    const char *at = list_text(a), *pattern, *feature;
    while (next_line(a, &at, &pattern, &feature)) {
        bool found = false;
        for (int64_t i = 0; i < all.n && !found; i++) found = text_matches(pattern, all.name[i]);
        if (!found) return pattern;
    }
    return NULL;
}
