/* environment.h - the environment variables that the program reads, in one table.
 *
 * A configuration can read any other by ${oc.env:NAME}. */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H

typedef struct EnvironmentVariable {
    const char *name, *doc;
} EnvironmentVariable;

/* Ends with { NULL }. */
extern const EnvironmentVariable environment_variables[];

/* The value, or NULL where it is not set. The name must be in the table. */
const char *environment_get(const char *name);
#endif
