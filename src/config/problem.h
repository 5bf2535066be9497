/* problem.h - what is wrong in a configuration, collected so that all of it is reported at once. */
#ifndef CONFIG_PROBLEM_H
#define CONFIG_PROBLEM_H
#include "config/yaml.h"

typedef struct Problem {
    const char *
        code; /* "missing", "int_type", "greater_than", "unknown_key", ... as pydantic names them */
    const char *place;   /* "train.yaml:12:5" */
    const char *path;    /* key path "model.config.n_layer" */
    const char *text;    /* what was wrong, with value and what is allowed */
    const char *subject; /* the key path that is missed, or NULL: of the problems with the same
                            subject one is told, since one slip of the pen causes them all */
    bool is_absent;      /* an input that is not there */
} Problem;

typedef struct Problems {
    Arena *arena;
    Problem *item;
    int64_t n, cap;
    int64_t n_more;   /* beyond those that are kept */
    Problem unlisted; /* stands for them where one is returned */
} Problems;

/* Records a problem at `path` (NULL: the node's own path). `at` is the node, or the mapping that
 * lacks it. The result is valid until the next one. */
Problem *problem_add(Problems *p, const Yaml *at, const char *path, const char *code,
                     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The first one with this subject, or NULL. */
Problem *problem_about(const Problems *p, const char *subject);
/* "; did you mean "near" (line 7)?" for a key of this mapping; "" when none is near. */
const char *problem_hint(Arena *a, const Yaml *map, const char *key);
/* "; is it meant by "compnent_key" (line 7)?" where the mapping lacks a key and has one that is
 * near it; else "". */
const char *problem_typo_hint(Arena *a, const Yaml *map, const char *key);
/* Adds those of `more` that are not there yet: same place, path and text. */
void problems_append(Problems *p, const Problems *more);
/* A usage error if any of them is a value of --set, and not a file that it names. One line per
 * problem, "place: path: text"; NULL when there is none. What several components failed at with the
 * same words is one line. */
Error *problems_error(const Problems *p);
#endif
