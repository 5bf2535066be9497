/* lost_pages.c - the handler of SIGBUS. It finds the name of the file in /proc/self/maps, so that
 * nobody has to keep a list of what is mapped; only functions that handlers may call are used. */
#include "base/lost_pages.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char WHY[] = ": the file became shorter while it was read, or its disk failed";

/* The first file of which pages were read as zeros. */
static struct {
    atomic_int state; /* rises before the zeros can be seen */
    char name[PATH_MAX];
} lost;
enum { NONE, NAMING, NAMED };

static _Thread_local volatile sig_atomic_t has_begun; /* lost_pages_begin, in this thread */

/* One byte at a time of a file; 0 after its end. */
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

/* Lines "FROM-TO RIGHTS OFFSET DEVICE INODE NAME", in hexadecimal; "" for memory without a file. */
static void find_name(uintptr_t address, char name[PATH_MAX])
{
    Reader r = { .fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
    uintptr_t from, to;
    do {
        from = next_number(&r);
        to = next_number(&r);
        read_name(&r, name);
    } while (to && (address < from || address >= to));
    close(r.fd);
    if (!to) *name = 0;
}

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* nobody to tell */
}

/* Puts zeros there, once the loss can be seen by lost_pages_end. Without a name they are there
 * already: another thread was quicker. */
static bool put_zeros(uintptr_t address, const char *name)
{
    int none = NONE;
    if (!*name) return atomic_load(&lost.state) != NONE;
    if (atomic_compare_exchange_strong(&lost.state, &none, NAMING)) {
        strcpy(lost.name, name);
        atomic_store(&lost.state, NAMED);
    }
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = address & ~(page - 1);
    /* by its number: to a tool that watches memory, the library's call is a write of ours, but
     * other threads may be reading there, and get the zeros */
    return syscall(SYS_mmap, from, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                   0L) == (long)from;
}

static void on_lost_page(int number, siginfo_t *info, void *context)
{
    char name[PATH_MAX];
    uintptr_t address = (uintptr_t)info->si_addr;
    int kept = errno;
    (void)number;
    (void)context;
    find_name(address, name);
    if (has_begun && info->si_code == BUS_ADRERR && put_zeros(address, name)) {
        errno = kept;
        return;
    }
    say("cannot read ");
    say(*name ? name : "a mapped file");
    say(WHY);
    say("\n");
    _exit(1);
}

void lost_pages_catch(void)
{
    struct sigaction action = { .sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void lost_pages_begin(void)
{
    has_begun = true;
}

Error *lost_pages_end(void)
{
    has_begun = false;
    if (atomic_load(&lost.state) == NONE) return NULL;
    while (atomic_load(&lost.state) == NAMING) sched_yield();
    return error_new("cannot read %s%s", lost.name, WHY);
}
