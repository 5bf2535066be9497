/* command.h - a command of the program: its options as a table and what it does. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H
#include "config/field.h"
#include "data/existing_file.h"

/* What an option that takes a tokenizer accepts; a macro, so that a row can add its own words. */
#define TOKENIZER_FILES "tokenizer.json, its folder, a SentencePiece .model or a .tiktoken file"

/* What a command does whose output is already there: the row of an option of type int. */
#define FIELD_EXISTENCE(T)                                                                         \
    FIELD_CHOICE(T, file_existence_policy, "error", existing_policies,                             \
                 "when the output is already there")

typedef struct Command {
    const char *group, *name; /* "data", "create_raw_index"; group NULL: top level */
    const char *doc;          /* one sentence */
    const char *details;      /* further help, or NULL */
    const char *examples;     /* one command line per line */
    /* Rows of the options struct: --name value, a bool is a flag that "true" or "false" may follow,
     * FIELD_ARGUMENT is given by position, FIELD_STRINGS may be repeated (as argument: takes all
     * that are left). */
    const Field *options;
    size_t options_size;
    /* Adds files that the table cannot know: default outputs, those that a list names. NULL: there
     * are none, or `run` judges them when it has read its configuration. */
    Error *(*paths)(Arena *a, const void *options, PathRoles *to);
    /* Errors end the program with error_exit_status. */
    Error *(*run)(Arena *a, const void *options);
} Command;

/* All commands by group and name; ends with NULL. A command file exports `const Command
 * command_...` and commands.c has a line for it. */
extern const Command *const commands[];
/* The command with this group (NULL: top level) and name, or NULL. */
const Command *command_find(const char *group, const char *name);
/* What a group is for, or NULL when there is no such group. */
const char *command_group_doc(const char *group);

/* Reads what follows the command's name into the options struct; `paths` gets the paths among them.
 * All faults are reported at once, as a usage error. Sets *wants_help, and reads no further, at
 * --help or -h. */
Error *command_parse(Arena *a, const Command *c, int n, char **word, void *options,
                     PathRoles *paths, bool *wants_help);
/* Refuses outputs that are inputs or other outputs (base/path_roles.h). */
Error *command_check_paths(Arena *a, const Command *c, const void *options, PathRoles *paths);
/* Runs what the words ask for, as main's arguments without the program's name. */
Error *command_run(Arena *a, int n, char **word);

/* Whether a word where an option may stand is --help or -h. */
bool command_asks_for_help(const char *word);
/* What to say of a command that there is not in this group (NULL: top level). */
Error *command_unknown(Arena *a, const char *group, const char *name);

/* The help of one command, of a group, and of the program (group NULL). */
void command_help(const Command *c, int width, Text *out);
void command_group_help(const char *group, int width, Text *out);
/* The environment variables that the program reads, one row each. */
void environment_help(int width, Text *out);
/* Columns of a help text on the terminal: 40 to 96. */
int usage_width(void);
#endif
