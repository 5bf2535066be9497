/* error_log.c - one JSON file per failing rank. */
#include "monitor/error_log.h"
#include "base/file.h"
#include "base/json.h"
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

ErrorLog error_log_here(Arena *a, const Rank *rank)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    bool is_set = rank->launcher != LAUNCHER_NONE;
    return (ErrorLog){ .rank = is_set ? rank->rank : -1,
                       .local_rank = is_set ? rank->local_rank : -1,
                       .world_size = is_set ? rank->world_size : -1,
                       .hostname = arena_string(a, host) };
}

char *error_log_name(Arena *a, const ErrorLog *log)
{
    return arena_printf(a, "error_logs_%s_%" PRId64 ".log", log->hostname, log->local_rank);
}

static void put_string(Text *t, const char *indent, const char *name, const char *value,
                       const char *end)
{
    text_printf(t, "%s\"%s\": ", indent, name);
    text_json_string(t, str_of(value));
    text_puts(t, end);
}

/* json.dump with indent 2. */
static void put_log(const ErrorLog *log, Text *t)
{
    text_printf(t,
                "{\n  \"environment\": {\n    \"rank\": %" PRId64 ",\n    \"local_rank\": %" PRId64
                ",\n    \"world_size\": %" PRId64 ",\n",
                log->rank, log->local_rank, log->world_size);
    put_string(t, "    ", "hostname", log->hostname, "\n  },\n  \"error\": {\n");
    put_string(t, "    ", "error", log->error, ",\n");
    put_string(t, "    ", "type", log->type, ",\n");
    text_puts(t, "    \"stacktrace\": [");
    for (int i = 0; i < log->n_stacktrace; i++) {
        text_puts(t, i ? ",\n      " : "\n      ");
        text_json_string(t, str_of(log->stacktrace[i]));
    }
    text_puts(t, log->n_stacktrace ? "\n    ]\n  }\n}" : "]\n  }\n}");
}

Error *error_log_write(const char *folder, const ErrorLog *log)
{
    TRY(make_directories(folder));
    Arena *a = arena_new();
    Text t = { 0 };
    put_log(log, &t);
    Error *e = file_write(path_join(a, folder, error_log_name(a, log)), t.ptr, t.len);
    text_free(&t);
    arena_free(a);
    return e;
}

/* The pieces of "context: context: message" and of further lines; each ends with a newline, as the
 * original's lines of a traceback do. */
static int split_context(Arena *a, const char *text, const char *piece[], int max)
{
    int n = 0;
    while (*text && n < max) {
        const char *end = strpbrk(text, ":\n");
        while (end && *end == ':' && end[1] != ' ') end = strpbrk(end + 1, ":\n");
        size_t len = end && n + 1 < max ? (size_t)(end - text) : strlen(text);
        piece[n++] = arena_printf(a, "%.*s\n", (int)len, text);
        text += len;
        if (*text) text += *text == ':' ? 2 : 1;
    }
    return n;
}

Error *error_log_save(const char *folder, const Rank *rank, const Error *e)
{
    enum { MAX_PIECES = 64 };
    const char *piece[MAX_PIECES];
    Arena *a = arena_new();
    ErrorLog log = error_log_here(a, rank);
    log.error = error_text(e);
    log.type = error_exit_status(e) == 2 ? "ValueError" : "RuntimeError";
    log.stacktrace = piece;
    log.n_stacktrace = split_context(a, log.error, piece, MAX_PIECES);
    Error *failed = error_log_write(folder, &log);
    arena_free(a);
    return failed;
}
