/* golden.h - golden cases and the list of those that wait for a feature, tests/golden_later.txt.
 *
 * A case has a name that starts with its folder: "samplers/world_4",
 * "tokenizers/corpora.tsv/gpt2/books_6m". Who tests a folder registers a function that lists all
 * its cases, runs every case that golden_later does not hold back, and so cases run + cases held
 * back = all cases. A line of the list is
 *
 *   tokenizers/pairs/t5_*   Unigram models
 *
 * (shell-like pattern, two blanks or more, the missing feature). A pattern without a case fails. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H
#include "test.h"

/* The missing feature if the case is in the list, else NULL. */
const char *golden_later(Arena *a, const char *name);
/* The first pattern of the list that no case of all listers has; NULL: each has one. */
const char *golden_without_case(Arena *a);

typedef struct GoldenCases {
    Arena *arena;
    const char **name;
    int64_t n, cap;
} GoldenCases;

void golden_add(GoldenCases *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds `prefix` + the name of each file in a folder below ../shared/data/goldens that matches the
 * pattern, sorted; `without_suffix` (or NULL) is cut off. */
void golden_add_files(GoldenCases *c, const char *prefix, const char *folder, const char *pattern,
                      const char *without_suffix);

typedef struct GoldenLister {
    struct GoldenLister *next;
    void (*list)(GoldenCases *to);
} GoldenLister;

void golden_register(GoldenLister *l);

/* Registers a lister: GOLDEN_CASES(sampler_cases) { golden_add(to, "samplers/%s", ...); } */
#define GOLDEN_CASES(lister)                                                                       \
    static void lister(GoldenCases *to);                                                           \
    __attribute__((constructor)) static void register_##lister(void)                               \
    {                                                                                              \
        static GoldenLister l = { .list = lister };                                                \
        golden_register(&l);                                                                       \
    }                                                                                              \
    static void lister(GoldenCases *to)
#endif
