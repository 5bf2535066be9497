/* lost_pages.c - the handler of SIGBUS. It finds the name of the file in /proc/self/maps, so that
 * nobody has to keep a list of what is mapped; only functions that handlers may call are used. */
#include "base/lost_pages.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* One byte at a time of a file; 0 behind its end. */
typedef struct Reader {
    int fd;
    char buffer[4096];
    size_t at, n;
} Reader;

static char next_byte(Reader *r)
{
    if (r->at == r->n) {
        ssize_t n = read(r->fd, r->buffer, sizeof r->buffer);
        r->at = 0;
        r->n = n > 0 ? (size_t)n : 0;
        if (!r->n) return 0;
    }
    return r->buffer[r->at++];
}

static uintptr_t next_number(Reader *r)
{
    uintptr_t v = 0;
    for (char c; (c = next_byte(r)) && c != '-' && c != ' ';)
        v = v << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    return v;
}

/* The name at the end of a line, which begins with the first '/'. */
static void read_name(Reader *r, char name[PATH_MAX])
{
    size_t n = 0;
    for (char c; (c = next_byte(r)) && c != '\n';)
        if ((n || c == '/') && n + 1 < PATH_MAX) name[n++] = c;
    name[n] = 0;
}

/* Lines "FROM-TO RIGHTS OFFSET DEVICE INODE NAME", in hexadecimal. */
static void find_name(uintptr_t address, char name[PATH_MAX])
{
    Reader r = { .fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
    uintptr_t from, to;
    do {
        from = next_number(&r);
        to = next_number(&r);
        read_name(&r, name);
    } while (to && (address < from || address >= to));
    if (!to || !*name) strcpy(name, "a mapped file");
}

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* nobody to tell */
}

static void on_lost_page(int number, siginfo_t *info, void *context)
{
    char name[PATH_MAX];
    (void)number;
    (void)context;
    find_name((uintptr_t)info->si_addr, name);
    say("cannot read ");
    say(name);
    say(": the file became shorter while it was read, or its disk failed\n");
    _exit(1);
}

void lost_pages_catch(void)
{
    struct sigaction action = { .sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
