/* log.c - one line per message, written with one call so that lines of threads do not mix. */
#include "base/log.h"
#include "base/terminal.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static LogLevel least = LOG_INFO;
static _Thread_local bool is_left_to_another;

void log_set_level(LogLevel level)
{
    least = level;
}

void log_leave_to_another(void)
{
    is_left_to_another = true;
}

static void write_line(LogLevel level, const char *prefix, const char *fmt, va_list args)
{
    if (level < least || is_left_to_another) return;
    char line[4096];
    int n = snprintf(line, sizeof line, "%s", prefix);
    int m = vsnprintf(line + n, sizeof line - (size_t)n, fmt, args);
    if (m < 0) return;
    fprintf(stderr, "%s%s\n", terminal_erase(2), line);
}

void log_info(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_line(LOG_INFO, "", fmt, args);
    va_end(args);
}

void log_warning(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_line(LOG_WARNING, "warning: ", fmt, args);
    va_end(args);
}
