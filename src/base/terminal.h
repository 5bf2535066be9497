/* terminal.h - what is known of the terminal, and how lines and a live display share it.
 *
 * A live display leaves the cursor at its own first column, so that whoever prints next starts with
 * terminal_erase and never mixes with it; the display redraws itself below. */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H
#include <stdbool.h>

/* A terminal that understands escape sequences (TERM is not "dumb"). */
bool is_terminal(int fd);
/* Such a terminal, and NO_COLOR does not ask for none. */
bool terminal_has_colours(int fd);
/* Columns of the terminal; else of the variable COLUMNS; else 80. */
int terminal_width(int fd);
/* Columns of a picture on standard output: the terminal's, 100 in files and pipes. */
int terminal_picture_width(void);
/* The locale's variables ask for UTF-8. */
bool terminal_is_utf8(void);
/* What a line starts with: removes a live display below; "" when fd is no terminal. */
const char *terminal_erase(int fd);
/* Both go to the same file, pipe or terminal. */
bool is_same_output(int fd, int other);
#endif
