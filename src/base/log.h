/* log.h - notices and warnings on stderr; results go to stdout or files, never here. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

typedef enum { LOG_INFO, LOG_WARNING, LOG_SILENT } LogLevel;

/* Messages below this level are dropped; LOG_INFO at start. */
void log_set_level(LogLevel level);
/* From now on what this thread logs is dropped: it does what another thread or process does as
 * well, and that one tells it. */
void log_leave_to_another(void);
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prefixed with "warning: ". */
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
