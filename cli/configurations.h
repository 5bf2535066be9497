/* configurations.h - the kinds of configuration files, by the command that takes them. */
#ifndef CLI_CONFIGURATIONS_H
#define CLI_CONFIGURATIONS_H
#include "config/field.h"

typedef struct Configuration {
    const char *name, *commands; /* "training", "run and warmstart" */
    const char *mark;            /* a top-level key that no other kind has */
    const Field *keys;           /* the top-level keys */
} Configuration;

/* Ends with an empty one. */
extern const Configuration configurations[];
/* By its name, or by the mark in a file; NULL: none. */
const Configuration *configuration_find(const char *name);
const Configuration *configuration_of(const Yaml *root);
/* A section of docs/components.md per kind. */
void configurations_document(Text *out);
/* The help of one kind. */
void configuration_help(const Configuration *c, Text *out);
#endif
