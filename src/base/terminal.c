/* terminal.c - questions to the terminal and the environment. */
#include "base/terminal.h"
#include "base/environment.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_terminal(int fd)
{
    const char *term = environment_get("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_has_colours(int fd)
{
    const char *none = environment_get("NO_COLOR");
    return is_terminal(fd) && !(none && *none);
}

int terminal_width(int fd)
{
    struct winsize w;
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
    const char *columns = environment_get("COLUMNS");
    int n = columns ? atoi(columns) : 0;
    return n > 0 ? n : 80;
}

int terminal_picture_width(void)
{
    enum { OF_FILES = 100 };
    return is_terminal(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : OF_FILES;
}

/* The first variable that is set decides, as in setlocale. */
bool terminal_is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (int i = 0; i < 3; i++) {
        const char *value = environment_get(names[i]);
        if (value && *value) return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

const char *terminal_erase(int fd)
{
    return is_terminal(fd) ? "\r\033[J" : "";
}

bool is_same_output(int fd, int other)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}
