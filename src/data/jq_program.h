/* jq_program.h - an expression of jq, compiled by libjq, and its first result for a value. */
#ifndef DATA_JQ_PROGRAM_H
#define DATA_JQ_PROGRAM_H
#include "base/error.h"
#include <jq.h>

/* Used by one thread at a time. */
typedef struct JqProgram JqProgram;

/* Errors, here and later, begin with `name` ("jq_pattern", "--jq") and the expression, and carry
 * libjq's message. */
Error *jq_program_new(const char *name, const char *expression, JqProgram **out);
void jq_program_free(JqProgram *p);
/* The first result, which the caller frees: an invalid value when there is none. Consumes `value`;
 * one that is invalid itself is an error. */
Error *jq_program_run(JqProgram *p, jv value, jv *out);
/* "NAME 'EXPRESSION' finds a number where a string is needed", or "finds nothing". */
Error *jq_program_unwanted(const JqProgram *p, jv_kind found, const char *needed);
/* The same for an expression that needs no program. */
Error *jq_unwanted(const char *name, const char *expression, jv_kind found, const char *needed);
#endif
