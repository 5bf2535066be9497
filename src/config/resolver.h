/* resolver.h - the resolvers that ${name:args} may call. */
#ifndef CONFIG_RESOLVER_H
#define CONFIG_RESOLVER_H
#include "config/expression.h"
#include "config/interpolate.h"

/* What a resolver sees: the expression's host and the node that holds the expression. */
typedef struct ResolverCall {
    const ExpressionHost *host;
    const ResolverContext *context;
    const Yaml *node;
    /* The node at a key, NULL when there is none. */
    Error *(*find)(void *self, const char *key, Yaml **out);
    const char *name;
    int64_t n;
    Yaml *const *arg;
} ResolverCall;

/* An unknown name is an error with the nearest one. */
Error *resolver_call(const ResolverCall *c, Yaml **out);
#endif
