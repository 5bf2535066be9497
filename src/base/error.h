/* error.h - errors that the user or the machine can cause are values; bugs stop the program. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H
#include <stdbool.h>
#include <stddef.h>

/* "Try again later" of sysexits.h. No other fate of a process has it: not done (0), not failed (1,
 * 2), not killed before it could save (128 and the signal, as shells report it). */
enum { EXIT_STOPPED = 75 };

/* NULL is success. An Error is owned by whoever holds it: return it, wrap it or free it. */
typedef struct Error Error;

/* A new error; the message says what was wrong, with value, place and what is allowed. */
Error *error_new(const char *fmt, ...) __attribute__((returns_nonnull, format(printf, 1, 2)));
/* An error of the command line or configuration: the program exits with 2 instead of 1. */
Error *error_usage(const char *fmt, ...) __attribute__((returns_nonnull, format(printf, 1, 2)));
/* The end of a work that a signal asked to stop: the program exits with EXIT_STOPPED. */
Error *error_stopped(const char *fmt, ...) __attribute__((returns_nonnull, format(printf, 1, 2)));
/* An end with this exit status about which nothing is left to say: context in front of it would be
 * lost, what is appended is said. */
Error *error_silent(int exit_status) __attribute__((returns_nonnull));
/* Puts context in front, as "context: message". NULL stays NULL. */
Error *error_wrap(Error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends `next` as a further line (all errors of a file at once). Either may be NULL. */
Error *error_join(Error *first, Error *next);
/* The message; valid until the error is freed or wrapped. */
const char *error_text(const Error *e);
/* EXIT_STOPPED if it was asked to stop, 2 if this is a usage error, else 1. */
int error_exit_status(const Error *e);
/* Marks an error as a usage error and returns it; NULL stays NULL. */
Error *error_as_usage(Error *e);
/* Marks an error as caused by a file or folder that is not there, and tells it. */
Error *error_as_absent(Error *e);
bool error_is_absent(const Error *e);
void error_free(Error *e);

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        Error *err_ = (expr);                                                                      \
        if (err_) return err_;                                                                     \
    } while (0)

/* For what only a bug can cause; prints the place and aborts. */
#define CHECK(cond) ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))
__attribute__((noreturn)) void check_failed(const char *file, int line, const char *what);

/* The analyzer passes over returns_nonnull, and would follow errors that are none. */
#ifdef __clang_analyzer__
static inline Error *error_not_null(Error *e)
{
    __builtin_assume(e != NULL);
    return e;
}
#define error_new(...) error_not_null(error_new(__VA_ARGS__))
#define error_usage(...) error_not_null(error_usage(__VA_ARGS__))
#define error_stopped(...) error_not_null(error_stopped(__VA_ARGS__))
#endif
#endif
