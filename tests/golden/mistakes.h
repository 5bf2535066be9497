/* mistakes.h - what is wrong in a configuration, here and for the original. */
#ifndef TESTS_MISTAKES_H
#define TESTS_MISTAKES_H
#include "config/problem.h"
#include "golden/golden_configs.h"

typedef struct Mistake {
    const char *path, *code; /* path as the goldens spell it */
    bool is_matched;
} Mistake;

typedef struct Mistakes {
    Mistake *item;
    int64_t n, cap;
} Mistakes;

void mistakes_add(Arena *a, Mistakes *f, const char *path, const char *code);
/* Fails unless ours (whose texts are in `p`) are those of the original; the lists in mistakes.c
 * hold what is accepted here, and what is refused until it is built. */
void mistakes_compare(Arena *a, const GoldenConfig *c, const Yaml *root, const Problems *p,
                      Mistakes *f);
/* Fails unless each entry of what is accepted here alone is a mistake for the original. */
void mistakes_check_accepted(Arena *a, const GoldenConfigs *g);
/* A wrong reference ends the original's look at the component that holds it: is it that at `path`?
 */
bool mistakes_end_at(Arena *a, const GoldenConfig *c, const char *path);
#endif
