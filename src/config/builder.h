/* builder.h - builds the components of a resolved configuration, each once, in the order of need.
 */
#ifndef CONFIG_BUILDER_H
#define CONFIG_BUILDER_H
#include "base/rank.h"
#include "config/problem.h"
#include "config/registry.h"

/* One built (or, during validation, checked) component. */
typedef struct Component {
    const ComponentDef *def; /* NULL when (kind, variant) is unknown */
    const char *kind, *variant, *path;
    const char *gives;  /* the kind of `object` */
    const Yaml *at;     /* its mapping */
    const Yaml *config; /* its settings with defaults not filled in, components replaced */
    void *object;       /* NULL during validation unless the component is light */
    bool failed;
} Component;

/* `root` is a resolved tree (config.h) and stays unchanged; objects come from `run`. `rank` NULL:
 * the only one of its job. */
Builder *builder_new(Arena *run, const Registry *r, const Yaml *root, const Rank *rank);

/* Adds what is known to be wrong with the tree already (config_load_with_holes) to the errors of
 * all validations. `known` must stay. */
void builder_know(Builder *b, const Problems *known);
/* Whether a part of the tree that begins with this key has holes. */
bool builder_has_holes(const Builder *b, const char *key);
/* Checks all settings that the table's keys need, without building what is not light. Every problem
 * of the file is in the error, each with file:line:column and key path. A table describes top-level
 * keys: required ones come first in the order of the table, then the optional ones that are
 * present; other keys only when referenced. `to` receives the struct (components NULL). */
Error *builder_validate(Builder *b, const Field *keys, void *to);
/* Validates, then builds for real. */
Error *builder_build(Builder *b, const Field *keys, void *to);
/* The same, but leaves no file behind: components whose definition says that they do, and those
 * that need them, stay NULL. */
Error *builder_try(Builder *b, const Field *keys, void *to);
/* From now on inputs that are not there are no errors but warnings, each told once; what needs them
 * is not checked further. */
void builder_allow_absent(Builder *b);
/* An error of what was built: told as such a warning, and NULL, where it is one of an input that is
 * not there and may lack. */
Error *builder_judge(Builder *b, Error *e);
/* How many of them there were. */
int64_t builder_count_absent(const Builder *b);
/* Checks every top-level key in the order of the file. */
Error *builder_validate_all(Builder *b);
/* Builds one top-level key (a component or reference) of this kind. */
Error *builder_get(Builder *b, const char *key, const char *kind, void **out);

/* For build functions. */
Arena *builder_arena(Builder *b);
const Rank *builder_rank(const Builder *b);
const Yaml *builder_root(const Builder *b);
/* The component being built: its path names it in later errors. */
const Component *builder_self(const Builder *b);
/* Sets the kind of the component being built, where its definition says GIVES_ANY. */
void builder_gives(Builder *b, const char *kind);
/* The result of a component that gives an integer. */
Error *give_int(Builder *b, int64_t value, void **out);

/* Components in the order they were finished; valid until the next build. */
int64_t builder_count(const Builder *b);
const Component *builder_at(const Builder *b, int64_t i);
/* The component that made this object, or NULL. */
const Component *builder_find(const Builder *b, const void *object);
/* What validation found; empty after success. */
const Problems *builder_problems(const Builder *b);
#endif
