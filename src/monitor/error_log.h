/* error_log.h - the JSON file that a failing rank leaves in --error_log_folder. */
#ifndef MONITOR_ERROR_LOG_H
#define MONITOR_ERROR_LOG_H
#include "base/arena.h"
#include "base/error.h"
#include "base/rank.h"
#include <stdint.h>

typedef struct ErrorLog {
    int64_t rank, local_rank, world_size; /* -1: no launcher */
    const char *hostname;
    const char *error, *type; /* message; "ValueError", "RuntimeError", ... */
    const char *const *stacktrace;
    int n_stacktrace;
} ErrorLog;

/* This process and the host's name. */
ErrorLog error_log_here(Arena *a, const Rank *rank);
/* "error_logs_node7_1.log" */
char *error_log_name(Arena *a, const ErrorLog *log);
/* Writes it into the folder, which is made; an earlier log of this rank is replaced. */
Error *error_log_write(const char *folder, const ErrorLog *log);
/* The log of an error that ends a run on this rank; its context, outermost first, is the stack
 * trace. */
Error *error_log_save(const char *folder, const Rank *rank, const Error *e);
#endif
