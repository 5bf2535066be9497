/* expression.h - the grammar inside "${...}", as OmegaConf defines it. */
#ifndef CONFIG_EXPRESSION_H
#define CONFIG_EXPRESSION_H
#include "config/yaml.h"

/* What an expression may ask for: the node at a key, the result of a resolver. */
typedef struct ExpressionHost {
    void *self;
    Arena *arena;
    Error *(*select)(void *self, const char *key, Yaml **out);
    /* A copy of a value with the interpolations inside it resolved. */
    Error *(*complete)(void *self, const Yaml *value, Yaml **out);
    Error *(*call)(void *self, const char *name, int64_t n, Yaml *const *arg, Yaml **out);
} ExpressionHost;

bool has_interpolation(const Yaml *node);
/* A text with interpolations in it. A single one gives its value as it is, others join to a string.
 */
Error *expression_text(const ExpressionHost *h, const char *text, Yaml **out);
/* One value: a number, text, [list] or {key: value} (the resolver oc.decode). */
Error *expression_value(const ExpressionHost *h, const char *text, Yaml **out);
#endif
