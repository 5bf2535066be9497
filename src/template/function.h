/* function.h - what templates can call: filters, tests, methods and functions, as rows of tables.
 */
#ifndef TEMPLATE_FUNCTION_H
#define TEMPLATE_FUNCTION_H
#include "template/evaluate.h"

typedef enum FunctionKind {
    FUNCTION_FILTER,      /* x | name(...) */
    FUNCTION_TEST,        /* x is name(...) */
    FUNCTION_GLOBAL,      /* name(...) */
    FUNCTION_TEXT_METHOD, /* text.name(...) */
    FUNCTION_MAP_METHOD,
    FUNCTION_LIST_METHOD,
    FUNCTION_LOOP_METHOD,
    N_FUNCTION_KINDS
} FunctionKind;

enum { MOST_BOUND = 4 };

/* The values of one call. */
typedef struct Call {
    TemplateValue self; /* what a filter, test or method is applied to */
    const TemplateValue *value;
    const char *const *name; /* NULL for arguments by position, which come first */
    int64_t n;
    TemplateValue arg[MOST_BOUND]; /* by the order of Function.parameters */
    bool is_given[MOST_BOUND];
} Call;

typedef struct Function {
    const char *name;
    Error *(*call)(Run *r, const Call *c, TemplateValue *out);
    const char *parameters[MOST_BOUND]; /* none when the function reads c->value itself */
    int n_required;
    bool is_variadic;
} Function;

/* The row of a name, or NULL. */
const Function *function_find(FunctionKind kind, Str name);
/* "there is no filter 'x'; did you mean ...; allowed are ...". */
Error *function_unknown(FunctionKind kind, Str name);
/* Calls with self, value, name and n filled in. */
Error *function_call(Run *r, const Function *f, Call *c, TemplateValue *out);
/* The methods that values of this kind have; N_FUNCTION_KINDS: none. */
FunctionKind methods_of(TemplateKind kind);

/* Tables; each ends with a row without name. */
extern const Function filter_functions[], list_filter_functions[], test_functions[],
    global_functions[], text_methods[], map_methods[], list_methods[], loop_methods[];

/* For functions: the argument as a text, an integer or a truth value; an absent one gives
 * `otherwise`. */
Error *argument_text(const Call *c, int i, Str otherwise, Str *out);
Error *argument_int(const Call *c, int i, int64_t otherwise, int64_t *out);
bool argument_is_true(const Call *c, int i, bool otherwise);
/* An error unless self is text. */
Error *self_text(const Call *c, Str *out);
#endif
