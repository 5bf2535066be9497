/* jq_program.h - an expression of jq, compiled by libjq, and its first result for a value. */
#ifndef DATA_JQ_PROGRAM_H
#define DATA_JQ_PROGRAM_H
#include "base/error.h"
#include "base/str.h"
#include <jq.h>

/* Used by one thread at a time. */
typedef struct JqProgram JqProgram;

/* Errors, here and later, begin with `name` ("jq_pattern", "--jq") and the expression, and carry
 * libjq's message. Modules, further inputs and the environment are refused. */
Error *jq_program_new(const char *name, const char *expression, JqProgram **out);
void jq_program_free(JqProgram *p);

/* What the expression is asked about: make(arg) calls libjq and nothing else. */
typedef struct JqInput {
    jv (*make)(const void *arg);
    const void *arg;
    Str shown; /* stands for it when libjq fails */
} JqInput;

/* The first result, until the next call; text belongs to a string alone. JV_KIND_INVALID: there is
 * none. */
typedef struct JqResult {
    jv_kind kind;
    Str text;
} JqResult;

/* A value that is invalid itself is an error, and so is one that needs more memory than there is.
 */
Error *jq_program_run(JqProgram *p, const JqInput *input, JqResult *out);
/* "NAME 'EXPRESSION' finds a number where a string is needed", or "finds nothing". */
Error *jq_program_unwanted(const JqProgram *p, jv_kind found, const char *needed);
/* The same for an expression that needs no program. */
Error *jq_unwanted(const char *name, const char *expression, jv_kind found, const char *needed);
#endif
