/* environment.h - the environment variables that the program reads, in one table.
 *
 * A configuration can read any other by ${oc.env:NAME}. */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H
#include "base/error.h"

typedef struct EnvironmentVariable {
    const char *name, *doc;
} EnvironmentVariable;

/* Ends with { NULL }. */
extern const EnvironmentVariable environment_variables[];

/* A usage error when the value of one that is a number is none, or out of range. */
Error *environment_check(void);
/* The value, or NULL where it is not set. The name must be in the table. */
const char *environment_get(const char *name);
#endif
