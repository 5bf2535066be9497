/* signal.h - Ctrl-C and its kin become a flag that long loops look at. */
#ifndef BASE_SIGNAL_H
#define BASE_SIGNAL_H
#include <stdbool.h>

/* From now on SIGINT, SIGTERM, SIGHUP and SIGUSR1 only set the flag. SIGINT or SIGTERM once more
 * ends the program, if a second has passed: a launcher passes on the Ctrl-C that the terminal sent
 * already. What was ignored when the program started (nohup) stays ignored, and so does a reader of
 * stdout or stderr that is gone: the files that are written matter more. */
void signal_catch(void);
/* The same for a training, whose steps may take long: the signal is answered with a line on stderr,
 * and one that is no SIGUSR1 with a further text, which must stay. */
void signal_catch_in_steps(const char *more);
/* The same for a program whose work is what it prints: it still ends when nobody reads. */
void signal_catch_while_printing(void);
/* A file that grows past the limit of its size (ulimit -f) is an error where it is written. */
void signal_ignore_file_size(void);
/* True once a stop was asked for. */
bool signal_stop_requested(void);
/* The number of that signal, or 0. */
int signal_number(void);
/* True if stdout is a pipe or terminal that nobody reads any more, and that is no error. */
bool signal_outlived_output(void);
#endif
