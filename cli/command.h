/* command.h - a command of the program: its options as a table and what it does. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H
#include "config/field.h"

typedef struct Command {
    const char *group, *name; /* "data", "create_raw_index"; group NULL: top level */
    const char *doc;          /* one sentence */
    const char *details;      /* further help, or NULL */
    const char *examples;     /* one command line per line */
    /* Rows of the options struct: --name value, a bool is a flag, FIELD_ARGUMENT is given by
     * position, FIELD_STRINGS may be repeated. */
    const Field *options;
    size_t options_size;
    /* Errors end the program with error_exit_status. */
    Error *(*run)(Arena *a, const void *options);
} Command;

/* A command file exports `const Command command_data_create_raw_index` and main.c lists it. */
extern const Command *const commands[];
#endif
