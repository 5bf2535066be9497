/* jq_guard.h - what libjq may do wrong, kept from the program: no memory, a crash, a pattern that
 * never returns. */
#ifndef DATA_JQ_GUARD_H
#define DATA_JQ_GUARD_H
#include "base/str.h"
#include <setjmp.h>
#include <stdbool.h>

/* Of one program, which one thread at a time calls. */
typedef struct JqGuard {
    const char *name, *expression; /* "jq_pattern", ".text" */
    Str input;                     /* the line or its like; empty while it compiles */
    _Atomic double start;          /* clock_seconds of the call; 0: there is none */
    sigjmp_buf no_memory;
    struct JqGuard *next, *previous;
} JqGuard;

/* While a guard with its name and expression is open, a call that lasts when a stop is asked for
 * ends the program within 5 seconds. */
void jq_guard_open(JqGuard *g);
void jq_guard_close(JqGuard *g);
/* Calls work(arg), which calls libjq and nothing else. False when memory ran out: the call was
 * left where it was, so what it had made is lost. A crash inside ends the program with an error
 * that shows `input`. */
bool jq_guarded(JqGuard *g, Str input, void (*work)(void *arg), void *arg);
/* For jq_set_nomem_handler. */
void jq_guard_no_memory(void *unused);
#endif
