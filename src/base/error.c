/* error.c - an error is one heap string and an exit status. */
#include "base/error.h"
#include "base/memory.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Error {
    char *text;
    int exit_status;
    bool is_absent;
};

static char *format(const char *fmt, va_list args)
{
    char *text = NULL;
    CHECK(vasprintf(&text, fmt, args) >= 0);
    return text;
}

static Error *make(char *text, int exit_status)
{
    Error *e = memory_or_end(malloc(sizeof *e), sizeof *e);
    *e = (Error){ .text = text, .exit_status = exit_status };
    return e;
}

Error *(error_new)(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = make(format(fmt, args), 1);
    va_end(args);
    return e;
}

Error *(error_usage)(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = make(format(fmt, args), 2);
    va_end(args);
    return e;
}

Error *(error_stopped)(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    Error *e = make(format(fmt, args), EXIT_STOPPED);
    va_end(args);
    return e;
}

Error *error_silent(int exit_status)
{
    char *text = strdup("");
    CHECK(text != NULL);
    return make(text, exit_status);
}

static void put_between(Error *e, char *before, const char *separator, const char *after)
{
    char *joined = NULL;
    CHECK(asprintf(&joined, "%s%s%s", before, separator, after) >= 0);
    e->text = joined;
}

Error *error_wrap(Error *e, const char *fmt, ...)
{
    if (!e || !*e->text) return e;
    va_list args;
    va_start(args, fmt);
    char *context = format(fmt, args), *old = e->text;
    va_end(args);
    put_between(e, context, ": ", old);
    free(context);
    free(old);
    return e;
}

Error *error_join(Error *first, Error *next)
{
    if (!first) return next;
    if (!next) return first;
    char *old = first->text;
    put_between(first, old, *old && *next->text ? "\n" : "", next->text);
    free(old);
    first->is_absent = first->is_absent && next->is_absent;
    error_free(next);
    return first;
}

const char *error_text(const Error *e)
{
    return e->text;
}
int error_exit_status(const Error *e)
{
    return e->exit_status;
}

Error *error_as_usage(Error *e)
{
    if (e) e->exit_status = 2;
    return e;
}

Error *error_as_absent(Error *e)
{
    if (e) e->is_absent = true;
    return e;
}

bool error_is_absent(const Error *e)
{
    return e->is_absent;
}

void error_free(Error *e)
{
    if (!e) return;
    free(e->text);
    free(e);
}

void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: internal error: %s\n", file, line, what);
    abort();
}
