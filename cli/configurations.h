/* configurations.h - the kinds of configuration files, by the command that takes them. */
#ifndef CLI_CONFIGURATIONS_H
#define CLI_CONFIGURATIONS_H
#include "config/field.h"

typedef struct Configuration {
    const char *name;     /* "training" */
    const char *commands; /* "run and warmstart"; NULL: no command takes it yet */
    const char *marks[12];
    int n_marks;                         /* a file with so many of the marks is of this kind */
    const Field *keys;                   /* the top-level keys */
    size_t size;                         /* of the struct that they fill */
    Error *(*check)(const void *config); /* rules over the settings; NULL: none, or with the keys */
} Configuration;

/* Ends with an empty one. */
extern const Configuration configurations[];
/* By its name, or by the marks in a file; NULL: none. */
const Configuration *configuration_find(const char *name);
const Configuration *configuration_of(const Yaml *root);
/* "training, generation, ...": those that a command takes. */
const char *configuration_names(Arena *a);
/* A section of docs/components.md per kind. */
void configurations_document(Text *out);
/* The help of one kind. */
void configuration_help(const Configuration *c, Text *out);
#endif
