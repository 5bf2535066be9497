/* field_rows.h - the tables of tests/config/fields/: for every setting another value of it.
 *
 *   : settings.x=1                                   holds for all blocks of the file
 *   [scheduler.step_lr at lr_scheduler.config]       whose settings, and where they lie in the YAML
 *   [tokenizer.x at tokenizer.config by pack]        seen by another program than `run`
 *   : lr_scheduler={component_key: scheduler, ...}   an override that both sides of the block have
 *   step_size = 3                                    a row: the same run, but with this value
 *   device = gpu ! no such device                    likewise, and the program refuses it so
 *
 * Names are as in docs/components.md; of alternatives with a member of the same name each is named:
 * config<layer_norm>.eps. */
#ifndef TESTS_CONFIG_FIELD_ROWS_H
#define TESTS_CONFIG_FIELD_ROWS_H
#include "config/field.h"

typedef struct FieldRow {
    const char *name, *value;
    const char *refusal; /* NULL: accepted */
    int line;
    bool is_known; /* the table has such a setting */
} FieldRow;

typedef struct FieldBlock {
    const char *file;
    int line;
    const char *table;   /* "scheduler.step_lr" */
    const char *at;      /* key path of its settings; "": the top */
    const char *program; /* "run" */
    StringList set;      /* overrides of both sides */
    FieldRow *row;
    int64_t n_rows;
} FieldBlock;

typedef struct FieldBlocks {
    FieldBlock *item;
    int64_t n;
} FieldBlocks;

/* Reads one file; the test fails when a line has none of the forms. */
FieldBlocks field_blocks_read(Arena *a, const char *path);
/* The override that gives the row its value: "lr_scheduler.config.step_size=3". */
const char *field_row_override(Arena *a, const FieldBlock *b, const FieldRow *r);

/* Calls `each` for every setting of a table that needs a row: all but those that only hold others.
 */
void field_names(Arena *a, const Field *fields,
                 void (*each)(void *context, const char *name, const Field *f), void *context);
#endif
