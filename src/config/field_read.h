/* field_read.h - reading settings with the problems collected; for the builder and the commands. */
#ifndef CONFIG_FIELD_READ_H
#define CONFIG_FIELD_READ_H
#include "config/field.h"
#include "config/problem.h"

typedef struct FieldReader {
    Arena *arena;
    Problems *problems;
    Problems *notes; /* keys that are skipped but look like misspelled ones; NULL: not looked for */
    bool has_gaps;   /* set when a component without an object was among the values */
    bool
        has_holes; /* set when a component that failed was among the values: its problem is known */
} FieldReader;

/* Reads a mapping into the struct at `to`. `ignores_others`: unknown keys are skipped. */
void fields_fill(FieldReader *r, const Field *fields, const Yaml *from, bool ignores_others,
                 void *to);
/* Reads one value into its member of the struct at `to`. */
void field_fill(FieldReader *r, const Field *f, const Yaml *value, void *to);
/* The value of a row in a mapping, by name or alias, or NULL. */
const Yaml *field_value(const Field *f, const Yaml *map);

/* The default as a value: its text for texts, else YAML; "${...}" is resolved. */
Yaml *field_default(Arena *a, const Field *f);
/* Bytes of the value itself, where the member is a pointer to it or not; 0 for texts and
 * components. */
size_t field_value_size(const Field *f);
/* What the row allows: "an integer, at least 1", "one of gelu, swiglu". */
void field_allowed(const Field *f, Text *out);
#endif
