/* log.h - notices and warnings on stderr; results go to stdout or files, never here. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

typedef enum { LOG_INFO, LOG_WARNING, LOG_SILENT } LogLevel;

/* Messages below this level are dropped; LOG_INFO at start. */
void log_set_level(LogLevel level);
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prefixed with "warning: ". */
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
