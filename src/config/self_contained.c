/* self_contained.c - puts what came from outside into a configuration, and leaves the rest. */
#include "config/self_contained.h"
#include <string.h>

/* Whether an interpolation in the text calls this resolver: "${ NAME :". */
static bool calls(const char *text, const char *name)
{
    for (const char *at = text; (at = strstr(at, "${"));) {
        at += strspn(at + 2, " ") + 2;
        size_t n = strlen(name);
        if (strncmp(at, name, n)) continue;
        if (at[n + strspn(at + n, " ")] == ':') return true;
    }
    return false;
}

static bool is_from_outside(const Yaml *y)
{
    return y->type == YAML_STRING && (calls(y->text, "oc.env") || calls(y->text, "warmstart_env"));
}

/* What interpolate built has the shape of what it was given, but where a text became something. */
static void fill_in(Arena *a, Yaml *y, const Yaml *resolved)
{
    bool has_children = y->type == YAML_MAP || y->type == YAML_LIST;
    if (!has_children || resolved->type != y->type) return;
    for (int64_t i = 0; i < y->n && i < resolved->n; i++) {
        if (is_from_outside(y->item[i])) {
            y->item[i] = yaml_copy(a, resolved->item[i], y);
            y->item[i]->index = i;
        } else {
            fill_in(a, y->item[i], resolved->item[i]);
        }
    }
}

Yaml *config_self_contained(Arena *a, const Yaml *root, const Yaml *resolved)
{
    Yaml *copy = yaml_copy(a, root, NULL);
    fill_in(a, copy, resolved);
    return copy;
}
