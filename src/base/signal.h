/* signal.h - Ctrl-C and SIGTERM become a flag that long loops look at. */
#ifndef BASE_SIGNAL_H
#define BASE_SIGNAL_H
#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM only sets the flag; a second one ends the program. */
void signal_catch(void);
/* The same for a training, whose steps may take long: the signal is answered with a line on stderr.
 */
void signal_catch_in_steps(void);
/* True once a stop was asked for. */
bool signal_stop_requested(void);
/* The number of that signal, or 0. */
int signal_number(void);
#endif
