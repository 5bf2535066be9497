/* evaluate.h - a rendering under way: scopes of names, loops, macros; shared by the files that
 * evaluate. */
#ifndef TEMPLATE_EVALUATE_H
#define TEMPLATE_EVALUATE_H
#include "template/node.h"
#include "template/template.h"

enum { MOST_PARAMETERS = 32 };

struct Template {
    Body body;
    Map *names; /* each name once: name -> its unique pointer */
};

typedef struct Binding {
    const char *name; /* unique pointer */
    TemplateValue value;
} Binding;

/* Names and their values; what is not here is looked for in the scope around it. */
typedef struct Scope {
    struct Scope *around;
    Binding *item;
    int64_t n, cap;
} Scope;

/* The variable `loop`. */
typedef struct Loop {
    const ValueList *items;
    int64_t index0;
} Loop;

typedef struct Macro {
    const Node *node;
    Scope *scope; /* where it was defined */
} Macro;

/* How a body ended. */
typedef enum Outcome { OUTCOME_END, OUTCOME_BREAK, OUTCOME_CONTINUE } Outcome;

typedef struct Run {
    Arena *arena;
    Meter meter;
    Scope *scope;
    Text *out;
    TemplateValue body_text; /* of the set block at its end */
    const char *loop;        /* the unique name "loop", or NULL when the template does not use it */
    bool has_place;          /* the error on its way up names line and column */
} Run;

Error *evaluate_node(Run *r, const Node *n, TemplateValue *out);
/* Renders a body to r->out, in the current scope. */
Error *render_body(Run *r, const Body *b, Outcome *outcome);
/* Calls a macro with arguments; the result is its text. */
struct Call;
Error *call_macro(Run *r, const Macro *macro, const struct Call *call, TemplateValue *out);
/* Sets a name in the innermost scope. */
void scope_set(Run *r, const char *name, TemplateValue value);
/* Gives `value` to the targets of a `for` or `set`. */
Error *assign_targets(Run *r, const Targets *targets, TemplateValue value);

/* Makes a list whose items are to be filled, paid for. */
Error *new_list(Run *r, TemplateKind kind, int64_t n, TemplateValue **item, TemplateValue *out);
/* Makes a value of the text unless `e` is an error, which it returns; frees the text. */
Error *finish_text(Run *r, Text *t, Error *e, TemplateValue *out);
/* The items to go through: of lists, keys of mappings, characters of texts, nothing for undefined.
 */
Error *list_of(Run *r, TemplateValue v, TemplateValue *out);
/* A mapping's (key, value) tuples. */
Error *map_items(Run *r, TemplateValue map, TemplateValue *out);
/* v.name, or v[key]; undefined when there is none. */
Error *value_attribute(TemplateValue v, Str name, TemplateValue *out);
Error *value_item(Run *r, TemplateValue v, TemplateValue key, TemplateValue *out);
/* v[from:to:step] of a text or list; a step of 0 is refused. */
typedef struct Slice {
    bool has_from, has_to;
    int64_t from, to, step;
} Slice;
Error *value_slice(Run *r, TemplateValue v, const Slice *s, TemplateValue *out);
/* left sign right. */
Error *compute_values(Run *r, Sign sign, TemplateValue left, TemplateValue right,
                      TemplateValue *out);
Error *compare_values(Run *r, Sign sign, TemplateValue left, TemplateValue right, bool *out);
/* x is in y */
Error *value_contains(Run *r, TemplateValue container, TemplateValue v, bool *out);
#endif
